"""Import LlamaIndex's CodeSplitter alone, so that the server of worker processes has it loaded."""

from repoeval_bench.core.alone import alone

with alone("llama_index.core.node_parser.text.code"):
    pass
