"""The languages by the family that `core.languages` names: each has a file of rules and a table beside it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from repoeval_bench.own.references.binding_forms import binding_forms
from repoeval_bench.own.references.languages.c import C
from repoeval_bench.own.references.languages.csharp import CSharp
from repoeval_bench.own.references.languages.go import Go
from repoeval_bench.own.references.languages.java import Java
from repoeval_bench.own.references.languages.javascript import JavaScript
from repoeval_bench.own.references.languages.rust import Rust

if TYPE_CHECKING:
    from repoeval_bench.own.references.language_rules import LanguageRules

_FAMILIES = {"javascript": JavaScript, "java": Java, "csharp": CSharp, "go": Go, "rust": Rust, "c": C}


def _read(family: str) -> LanguageRules:
    table: dict[str, Any] = yaml.safe_load((files(__package__) / f"{family}.yaml").read_text("utf-8"))
    forms = binding_forms(**table.pop("forms"))
    nodes = {role: frozenset(kinds.split()) for role, kinds in table.pop("nodes", {}).items()}
    facts: dict[str, Any] = {
        key: frozenset(value.split()) if isinstance(value, str) else value for key, value in table.items()
    }
    return _FAMILIES[family](forms=forms, nodes=nodes, **facts)


RULES: Mapping[str, LanguageRules] = {family: _read(family) for family in _FAMILIES}
"""Family of languages -> its rules; Python has a reader of its own, `python_names`."""

NODES: Mapping[str, frozenset[str]] = {
    role: frozenset(kind for rules in RULES.values() for kind in rules.nodes.get(role, ()))
    for role in {role for rules in RULES.values() for role in rules.nodes}
}
"""Role -> the syntax nodes that have it in any language: no kind means something else in another grammar."""
