"""Python: `python_names` resolves its names; here is what the resolver needs of every language."""

from __future__ import annotations

from typing import ClassVar

from repoeval_bench.references.language_rules import LanguageRules

_COMMON = """
as_integer_ratio bit_count bit_length difference_update format_map from_bytes intersection_update is_integer
symmetric_difference symmetric_difference_update to_bytes
"""


class Python(LanguageRules):
    """Python, and its stubs."""

    common: ClassVar = frozenset(_COMMON.split())
    by_python_names = True
