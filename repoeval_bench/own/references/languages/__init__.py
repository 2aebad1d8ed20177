"""The languages, one file each, by the family that `core.languages` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from repoeval_bench.own.references.languages.c import C
from repoeval_bench.own.references.languages.csharp import CSharp
from repoeval_bench.own.references.languages.go import Go
from repoeval_bench.own.references.languages.java import Java
from repoeval_bench.own.references.languages.javascript import JavaScript
from repoeval_bench.own.references.languages.rust import Rust

if TYPE_CHECKING:
    from repoeval_bench.own.references.language_rules import LanguageRules, NodeKinds

RULES: Mapping[str, LanguageRules] = {
    "javascript": JavaScript(),
    "java": Java(),
    "csharp": CSharp(),
    "go": Go(),
    "rust": Rust(),
    "c": C(),
}
"""Family of languages -> its rules; Python has a reader of its own, `python_names`."""


def nodes_of(role: Callable[[NodeKinds], Iterable[str]]) -> frozenset[str]:
    """Return the syntax nodes that have a role in any language: no kind means something else in another grammar."""
    return frozenset(kind for rules in RULES.values() for kind in role(rules.nodes))
