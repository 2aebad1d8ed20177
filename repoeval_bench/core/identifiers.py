"""Identifiers of code: keywords are none in any grammar.

Each grammar's table of built-in names is fixed, so that no score depends on the version of an interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.syntax import Parsed


def identifiers_in(parsed: Parsed, lines: LineSpan) -> frozenset[str]:
    """The identifiers on these lines of a file, without keywords, built-in names, string literals and comments.

    Code that is interpolated into a string counts. Prefixes of a name (`#x`, `@x`, `r#x`) are removed.
    """
    grammar = GRAMMARS[parsed.language.name]
    query = "[" + " ".join(f"({kind})" for kind in grammar.identifiers) + "] @name"
    names = {
        parsed.text(node).removeprefix("r#").lstrip("#@")
        for captured in parsed.matches(query, lines)
        for node in captured["name"]
    }
    return frozenset(names - grammar.builtins - {"", "_"})
