"""Python: `python_names` resolves its names; here is what the resolver needs of every language."""

from __future__ import annotations

from repoeval_bench.own.references.language_rules import LanguageRules


class Python(LanguageRules):
    """Python, and its stubs."""

    by_python_names = True
