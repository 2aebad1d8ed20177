"""A chunker without its size, and its size: what makes two runs those of one chunker."""

from __future__ import annotations

from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.registry import rows
from repoeval_bench.core.spec import Spec


def chunker_name(spec: str, *, sized: bool = False) -> str:
    """A spec without options at their defaults and, unless `sized`, without what sets its size.

    As it is where it is no spec.
    """
    try:
        parsed = Spec.parse(spec)
    except SpecError:
        return spec
    row = next((row for row in rows("chunker") if row.name == parsed.name and not row.target), None)
    usual = {name: str(option.default) for name, option in (row.parameters() if row else {}).items()}
    size = {size_option(parsed), "step" if parsed.name == "window" else ""}
    kept = {key: value for key, value in parsed.params.items() if (sized if key in size else usual.get(key) != value)}
    return str(Spec(parsed.name, parsed.target, kept))


def chunker_size(spec: str) -> int | None:
    """What a spec sets its size to, in the option's own unit; None where it sets none."""
    try:
        parsed = Spec.parse(spec)
        option = size_option(parsed)
        return int(parsed.params[option]) if option else None
    except (SpecError, ValueError):  # or no whole number
        return None
