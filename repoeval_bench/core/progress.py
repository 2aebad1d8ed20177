"""Progress on standard error: a bar for each step that can pass a second, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterable
from multiprocessing import parent_process
from threading import RLock
from typing import Any

from tqdm import tqdm

from repoeval_bench.core.visible import visible

# No thread that watches slow bars: with `miniters=1` every step looks at the clock.
tqdm.monitor_interval = 0
# A killed worker would leave a lock that processes share, and the command would report it at its end.
tqdm.set_lock(RLock())


def progress(
    items: Iterable[Any] | None = None, *, desc: str, unit: str, total: int | None = None, **options: Any
) -> tqdm[Any]:
    """A tqdm bar over `items` (or to `.update()` by hand), silent unless standard error is a terminal.

    It is silent in a child process too, where it would overwrite another bar.
    """
    disabled = True if parent_process() else None
    return tqdm(
        items, desc=visible(desc), unit=f" {unit}", total=total, disable=disabled, leave=False, miniters=1, **options
    )
