"""Models of sentence-transformers, loaded and run on batches of prescribed shapes: a result depends on its text alone.

Texts go into buckets by their own length, and a bucket is padded to one width. A batch always has the same number of
rows: repeats fill up the last one.
"""

import gc
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeVar

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.embedding.models import ModelFiles, Precision

T = TypeVar("T")
R = TypeVar("R")

# The same text in a batch of another shape differs by about 1e-7, enough to make a result depend on what happened to be
# cached.
# Widths are multiples of this: at most 31 tokens of padding a row.
BUCKET_TOKENS = 32


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

    `work` runs under autocast unless `precision` is fp32. An error of `work` is raised here.
    """
    import torch

    kind = torch.device(device).type
    n_threads = torch.get_num_threads()
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16}

    def enter() -> None:
        if kind == "cpu":
            # The matrices of a small batch are too small to share, and with one thread a batch the bits are the same on
            # any number of cores.
            torch.set_num_threads(1)
        if precision != "fp32":
            # Entered until the thread ends, as leaving the outermost autocast drops all cast weights.
            autocast: Any = torch.autocast(kind, dtypes[precision])
            autocast.__enter__()

    n_workers = n_threads if kind == "cpu" else 1
    pool = ThreadPoolExecutor(n_workers, "embed", initializer=enter)
    waiting: deque[tuple[T, Future[R]]] = deque()
    try:
        for item in items:  # taken as they are needed, so that making them overlaps with the work
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


def load_model(kind: Literal["SentenceTransformer", "CrossEncoder"], files: ModelFiles) -> Any:
    """The model in `files`, ready for use; one that cannot be loaded on its device is an EmbeddingError."""
    # A model in a folder needs no hub; without this the library asks it for updates.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    with _nothing_collected():
        import sentence_transformers
        from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        # Of two files with weights the library takes the one that is not a pickle.
        load = getattr(sentence_transformers, kind)
        model = load(str(files.folder), device=files.device, model_kwargs={"use_safetensors": True})
        _check_weights(kind, model, files)
    except EmbeddingError:
        raise
    except Exception as error:  # an absent device, a broken file of weights, a wrong configuration: all differ
        raise EmbeddingError(
            f"the model in {files.folder} cannot be loaded on device {files.device!r} "
            f"({str(error).partition(chr(10))[0]}); choose device=cpu or restore the model's folder"
        ) from error
    # Weights that are stored in half precision are computed with in fp32, or under autocast: as the spec says.
    return model.float().eval()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    # The search for garbage is a sixth of the time of an import, and what is imported stays.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check_weights(kind: str, model: Any, files: ModelFiles) -> None:
    # Where the weights lack some of the model's, transformers gives random numbers. It says so in a warning only, or in
    # the result of a second loading, which takes a tenth of a second.
    transformer = getattr(model[0], "auto_model", None)
    if transformer is None:
        return
    _, loaded = type(transformer).from_pretrained(
        str(files.transformer), config=transformer.config, output_loading_info=True, use_safetensors=True
    )
    # What a text's vector is pooled from comes before the pooler, which many models are saved without.
    unused = "pooler." if kind == "SentenceTransformer" else None
    missing = sorted(key for key in loaded["missing_keys"] if unused is None or not key.startswith(unused))
    if missing:
        raise EmbeddingError(
            f"the weights in {files.folder} lack {len(missing)} of the model's tensors, {missing[0]} first, which "
            "would be random numbers; restore the model's folder"
        )
