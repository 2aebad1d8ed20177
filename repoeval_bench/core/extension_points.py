"""Entry points of installed packages, by group and name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import SpecError, others_errors_as

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, in the order of their names; one of this package comes first."""
    return _points(group, tuple(sys.path))


@lru_cache(maxsize=32)
def _points(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - packages come with the path
    from importlib.metadata import entry_points as installed  # reads every package: only when a name is not ours

    named = {point.name: point for point in sorted(installed(group=group), key=is_shipped)}
    return dict(sorted(named.items()))


def is_shipped(point: EntryPoint) -> bool:
    """Return whether an entry point is one of this package."""
    return point.dist is not None and point.dist.name == "repoeval-bench"


def extension(group: str, name: str) -> Any:
    """Import what an entry point names; None if no package has one of this name, SpecError if the import fails."""
    point = entry_points(group).get(name)
    return None if point is None else load_point(point)


def load_point(point: EntryPoint) -> Any:
    """Import what an entry point names; SpecError if the import fails."""
    named = f"plug-in {point.name!r} of {package_of(point)}"
    way_out = "repair or remove the package"
    with others_errors_as(lambda reason: SpecError(f"{named} cannot be imported ({reason}); {way_out}")):
        return point.load()


def package_of(point: EntryPoint) -> str:
    """Return the name and version of the package that has an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "another package"
