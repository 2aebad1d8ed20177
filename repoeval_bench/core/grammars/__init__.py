"""The grammars, one file for each family of languages: what the nodes of a syntax tree mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars import c, csharp, go, java, javascript, python, rust

if TYPE_CHECKING:
    from repoeval_bench.core.grammars.grammar import Grammar

GRAMMARS: Mapping[str, Grammar] = {
    **python.GRAMMARS,
    **javascript.GRAMMARS,
    **java.GRAMMARS,
    **go.GRAMMARS,
    **rust.GRAMMARS,
    **c.GRAMMARS,
    **csharp.GRAMMARS,
}
"""Name of a language -> its grammar."""
