"""Forward passes side by side: every core has a batch of its own, in place of all cores on one batch.

The matrices of a small batch are too small to share: two threads on one batch wait for each other, and on a busy
machine they wait long. A batch that one thread computes also has the same bits however many cores there are.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from repoeval_bench.embedding.precision import Precision

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    work: Callable[[T], R], items: Iterable[T], *, device: str, precision: Precision
) -> Iterator[tuple[T, R]]:
    """Yield (item, work(item)) in the items' order, as many at once as torch has threads; on CUDA one at a time.

    `work` runs under autocast unless `precision` is fp32. Items are taken as they are needed, so making them
    overlaps with the work. An error of `work` is raised here.
    """
    import torch

    kind = torch.device(device).type
    n_threads = torch.get_num_threads()
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16}

    def enter() -> None:
        if kind == "cpu":
            torch.set_num_threads(1)
        if precision != "fp32":
            # Not left before the thread ends: at the end of the outermost autocast every cast weight is forgotten.
            autocast: Any = torch.autocast(kind, dtypes[precision])
            autocast.__enter__()

    n_workers = n_threads if kind == "cpu" else 1
    pool = ThreadPoolExecutor(n_workers, "embed", initializer=enter)
    waiting: deque[tuple[T, Future[R]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            # One more than is worked on, so that no worker waits while results are stored.
            if len(waiting) > n_workers:
                done, future = waiting.popleft()
                yield done, future.result()
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(n_threads)
        torch.clear_autocast_cache()
