"""chonkie's CodeChunker, for the workers' server."""

from repoeval_bench.chunkers._alone import alone

with alone("chonkie.chunker.code"):
    pass
