"""chonkie's CodeChunker, for the workers' server."""

from repoeval_bench.core.alone import alone

with alone("chonkie.chunker.code"):
    pass
