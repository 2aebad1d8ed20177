"""Chunkers of other people, and rules of editors' indexers, built by what their public sources say.

Each is a row, as in the table of the tool's own chunkers, and an entry point in `repoeval_bench.chunkers` names it.
"""

from __future__ import annotations

from repoeval_bench.core.registry import Row


def _row(name: str, where: str, meaning: str, *requires: str, parallel: bool = False) -> Row:
    where = f"repoeval_bench.plugins.peers.{where}"
    return Row(name=name, where=where, meaning=meaning, options=None, requires=requires, parallel=parallel)


blocks = _row(
    "blocks",
    "blocks:BlocksChunker",
    "Definitions from min_nws up to max_nws, nested ones too; larger ones give their syntax node's children.",
    parallel=True,
)
least_nested = _row(
    "least-nested",
    "least_nested:LeastNestedChunker",
    "Whole lines up to max_nws, cut at the last border that the fewest definitions cross.",
    parallel=True,
)
early_split = _row(
    "early-split",
    "early_split:EarlySplitChunker",
    "Whole lines until max_nws is passed; from 7/8 of it on up to a blank line, comment or declaration.",
    parallel=True,
)
half_overlap = _row(
    "half-overlap",
    "half_overlap:HalfOverlapChunker",
    "Whole lines up to max_nws, each chunk from the middle of the one before.",
    parallel=True,
)
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
