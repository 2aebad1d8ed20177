"""Complete names in a shell: stored runs, and parts. Nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from repoeval_bench.core.visible import visible
from repoeval_bench.runs.parts import RESULTS, kinds

_KINDS = {
    "chunker": "chunker",
    "chunkers": "chunker",
    "match_size": "chunker",
    "protocol": "protocol",
    "protocols": "protocol",
    "retriever": "retriever",
    "retrievers": "retriever",
    "embedder": "embedder",
    "measures": "measure",
}
"""Option -> the kind of part that it names."""


def run_argument(name: str = "run", **options: Any) -> Callable[..., Any]:
    """Add an argument that names a stored run."""
    return click.argument(name, shell_complete=_runs, **options)


def names_for(option: str) -> Callable[..., list[str]] | None:
    """Return the function that completes an option's value, or None."""
    if option == "baseline":
        return _runs
    return _part if option in _KINDS else None


def _runs(context: click.Context, _: click.Parameter, prefix: str) -> list[str]:
    from repoeval_bench.runs.naming import NEWEST
    from repoeval_bench.runs.records import MANIFEST

    results = context.params.get("out") or RESULTS
    stored = sorted(path.parent.name for path in results.glob(f"*/{MANIFEST}"))
    return [name for name in (NEWEST, *stored) if name.startswith(prefix) and visible(name) == name]


def _part(_: click.Context, parameter: click.Parameter, prefix: str) -> list[str]:
    assert parameter.name is not None
    return [row.name for row in kinds()[_KINDS[parameter.name]] if row.name.startswith(prefix)]
