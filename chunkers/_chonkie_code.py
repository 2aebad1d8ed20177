"""Import chonkie's CodeChunker alone, so that the server of worker processes has it loaded."""

from repoeval_bench.core.alone import alone

with alone("chonkie.chunker.code"):
    pass
