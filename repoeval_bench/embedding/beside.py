"""Options of an embedder that are chosen beside its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_options(embedder: str, said: str, options: Mapping[str, str]) -> str:
    """The embedder's spec with these options; a UsageError, in which they are `said`, where it names another value."""
    spec = Spec.parse(embedder)
    if any(spec.params.get(name, value) != value for name, value in options.items()):
        raise UsageError(f"{said} contradicts embedder {embedder!r}; leave one of them out")
    return str(Spec(spec.name, spec.target, {**spec.params, **options}))
