"""LlamaIndex's CodeSplitter, for the workers' server."""

from repoeval_bench.core.alone import alone

with alone("llama_index.core.node_parser.text.code"):
    pass
