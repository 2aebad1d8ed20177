"""Forward passes on batches of prescribed shapes, so that a result depends on its own text alone.

The same text in a batch of another shape differs by about 1e-7, enough to make a result depend on what happened to be
cached. So texts go into buckets by their own length, and a bucket is padded to one width. A batch always has the same
number of rows: repeats fill up the last one. One thread computes a batch, because the matrices of a small batch are too
small to share. So the bits are the same with any number of cores.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from repoeval_bench.embedding.precision import Precision

T = TypeVar("T")
R = TypeVar("R")

BUCKET_TOKENS = 32
"""Widths are multiples of this: at most 31 tokens of padding a row."""


class Batch(NamedTuple):
    """Positions in the list of texts, and the batch's shape: tokens in a row, and rows."""

    positions: list[int]
    width: int
    rows: int


def batches(lengths: Iterable[int], *, limit: int | None, tokens: int) -> Iterator[Batch]:
    """Texts of these lengths in batches of about `tokens` tokens, the longest first; `limit` is the longest row."""
    buckets: dict[int, list[int]] = defaultdict(list)
    for position, length in enumerate(lengths):
        width = -(-length // BUCKET_TOKENS) * BUCKET_TOKENS
        buckets[width if limit is None else min(width, limit)].append(position)
    for width, positions in sorted(buckets.items(), reverse=True):
        rows = max(1, tokens // width)
        for start in range(0, len(positions), rows):
            yield Batch(positions[start : start + rows], width, rows)


def features(model: Any, inputs: list[Any], batch: Batch, *, truncation: bool | str, **options: Any) -> Any:
    """Return the model's input for a batch, on its device: padded to the width, and filled with repeated rows."""
    import torch

    text = {"padding": "max_length", "max_length": batch.width, "truncation": truncation}
    filled = [*inputs, *inputs[-1:] * (batch.rows - len(inputs))]
    inputs_of_model = model.preprocess(filled, processing_kwargs={"text": text}, **options)
    return {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in inputs_of_model.items()
    }


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
            # Entered until the thread ends, as leaving the outermost autocast drops all cast weights.
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
