"""Embedders by name. A new one is a file in this folder, which registers it."""

from __future__ import annotations

from typing import Annotated, Any

from repoeval_bench.core.fields import Doc
from repoeval_bench.core.registry import Kind, ResolvedSpec, Row
from repoeval_bench.embedding.long_text import LongText


def _checked(inner: Any, resolved: ResolvedSpec) -> object:
    from repoeval_bench.embedding.text_encoder import PlugInEncoder  # imports numpy

    return PlugInEncoder(inner, resolved)


EMBEDDERS = Kind(
    "embedder",
    "repoeval_bench.embedding",
    Row,
    gives=("spec", "folder"),
    offers=("encode", "identity"),
    shown="encode(self, texts, role), which gives an array (n, dim), and a mapping `identity`",
    wrapper=_checked,
)

LongQueries = Annotated[LongText, Doc("what is read of queries longer than the model reads: head, tail or mean")]
LongChunks = Annotated[LongText, Doc("what is read of chunks longer than the model reads: head, tail or mean")]
