"""Progress on standard error: one bar for every step that can pass a second, none where nobody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    from collections.abc import Iterable


def progress(
    items: Iterable[Any] | None = None, *, desc: str, unit: str, total: int | None = None, **options: Any
) -> tqdm[Any]:
    """A tqdm bar over `items` (or to `.update()` by hand), silent unless standard error is a terminal."""
    return tqdm(items, desc=desc, unit=f" {unit}", total=total, disable=None, leave=False, **options)
