"""Entry points of installed packages, by group and name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import SpecError, others_errors_as

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PACKAGE = "repoeval-bench"


def entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, in the order of their names."""
    return _points(group, tuple(sys.path))


def shipped_entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of this package alone, by name: a look at every package takes 0.1 s."""
    return _shipped(group, tuple(sys.path))


def is_shipped(point: EntryPoint) -> bool:
    """Return whether an entry point is one of this package."""
    ours = shipped_entry_points(point.group).get(point.name)
    return ours is not None and ours == point


def extension(group: str, name: str) -> Any:
    """Import what an entry point names; None if no package has one of this name, SpecError if the import fails."""
    point = shipped_entry_points(group).get(name) or entry_points(group).get(name)
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


@lru_cache(maxsize=32)
def _points(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - packages come with the path
    from importlib.metadata import entry_points as installed  # reads every package: only when a name is not ours

    return {point.name: point for point in sorted(installed(group=group))}


@lru_cache(maxsize=32)
def _shipped(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - packages come with the path
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return {point.name: point for point in sorted(distribution(_PACKAGE).entry_points.select(group=group))}
    except PackageNotFoundError:
        return {}
