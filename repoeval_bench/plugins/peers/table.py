"""Chunkers of other people, and rules of indexers, built by what their public sources say.

Each is a row, as in the table of the tool's own chunkers, and an entry point in `repoeval_bench.chunkers` names it.
"""

from __future__ import annotations

from typing import Any

from repoeval_bench.core.registry import Row


def _row(name: str, where: str, meaning: str, *requires: str, **facts: Any) -> Row:
    where = f"repoeval_bench.plugins.peers.{where}"
    return Row(name=name, where=where, meaning=meaning, options=None, requires=requires, **facts)


astchunk = _row("astchunk", "astchunk:AstchunkChunker", "The cAST authors' own package (extra `astchunk`).", "astchunk")
cocoindex = _row(
    "cocoindex", "cocoindex:CocoindexChunker", "CocoIndex's RecursiveSplitter (extra `cocoindex`).", "cocoindex"
)
semantic_text_splitter = _row(
    "semantic-text-splitter",
    "semantic_text_splitter:SemanticTextSplitterChunker",
    "text-splitter's CodeSplitter or TextSplitter (extra `semantic-text-splitter`).",
    "semantic_text_splitter",
)
semchunk = _row(
    "semchunk", "semchunk:SemchunkChunker", "semchunk, for text of any kind (extra `semchunk`).", "semchunk"
)

semble = _row("semble", "semble:SembleChunker", "Semble's chunker, without its model (extra `semble`).", "semble")
haystack = _row(
    "haystack",
    "haystack:HaystackChunker",
    "Haystack's PythonCodeSplitter (extra `haystack`).",
    "haystack",
    sizes=("max_effective_lines",),
    scaled={"max_effective_lines": ("min_effective_lines",)},
)
chunkhound = _row(
    "chunkhound", "chunkhound:ChunkhoundChunker", "ChunkHound's parser (extra `chunkhound`).", "chunkhound"
)
ck = _row(
    "ck",
    "ck:CkChunker",
    "Definitions, nested ones too, the lines between, and windows of what is larger than chunk_size: ck's rule.",
    parallel=True,
)
grepai = _row(
    "grepai",
    "grepai:GrepaiChunker",
    "Bytes up to a line end, each chunk from before the end of the last: grepai's rule.",
    scaled={"chunk_size": ("chunk_overlap",)},
    parallel=True,
)
continue_rule = _row(
    "continue",
    "continue_rule:ContinueChunker",
    "Definitions below max_nws, larger ones collapsed and opened: Continue's rule.",
    parallel=True,
)
