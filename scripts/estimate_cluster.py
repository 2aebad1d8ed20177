"""The time of a large experiment on 1, 10 and 100 nodes, from unit costs that are measured on this machine first.

python scripts/estimate_cluster.py --source FOLDER [--repositories 10000 --chunkers 20 --models 3 --cores N]

Costs are processor time, so that other programs do not count. The experiment is of packs of as many repositories as
RepoEval's and like them, and of models like the bundled one on CPUs; a job is one chunker, one model, one pack. What is
not in the estimate: network, GPUs, and texts that chunkers share (each of them is embedded once only).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bench_cluster import JOBS, ray_on, timed

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding.encoder import find_model
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.run_store import FOLDER, put_run
from repoeval_bench.retrieval.corpus import build_corpus
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import JobLog, peak_bytes
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark

CHUNKERS = ("fixed", "ast", "recursive")
"""Whose costs are measured; the others are taken to be like their mean."""

SAMPLE = 256
"""Chunks that the model embeds to be timed."""

NODES = (1, 10, 100)


@dataclass(frozen=True, kw_only=True)
class Units:
    """Measured costs: processor seconds unless said otherwise, bytes, counts. A pack is RepoEval's repositories."""

    repositories: int
    tokens_of_pack: float
    texts_of_pack: float
    embed_token: float
    read_pack: float
    make_run: float
    hand_out_job: float
    run_bytes: float
    vector_bytes: int
    model_memory: int


def measure(source: str) -> Units:
    """All unit costs."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        load_benchmark(source, home=home)  # once, so that archives are unpacked
        started = time.process_time()
        benchmark = load_benchmark(source, home=home)
        read = time.process_time() - started
        texts, tokens, embed, width = _embedding(benchmark)
        make, stored = _runs(source, Path(name), home)
    executor = ray_on(2) if find_spec("ray") else ProcessPool(2)
    with executor as two:
        timed(two, 4)
        hand_out = min(timed(two, JOBS)[0] for _ in range(3)) / JOBS
    return Units(
        repositories=len(benchmark.files),
        tokens_of_pack=tokens,
        texts_of_pack=texts,
        embed_token=embed,
        read_pack=read,
        make_run=make,
        hand_out_job=hand_out,
        run_bytes=stored,
        vector_bytes=4 * width,
        model_memory=peak_bytes(),
    )


def _embedding(benchmark: Benchmark) -> tuple[float, float, float, int]:
    """(texts and tokens of a chunker, seconds of a token, width of a vector) with the bundled model."""
    encoder = find_model("minilm")
    assert encoder.limit is not None
    texts, tokens, sample = [], [], []
    for spec in CHUNKERS:
        distinct = list(dict.fromkeys(chunk.embed_text for chunk in build_corpus(benchmark.files, make_chunker(spec))))
        counts = [min(count, encoder.limit.max_tokens) for count in encoder.count_tokens(distinct, "document")]
        texts.append(len(distinct))
        tokens.append(sum(counts))
        step = max(1, len(distinct) * len(CHUNKERS) // SAMPLE)
        sample += list(zip(distinct, counts, strict=True))[::step]
    list(encoder.encode_batches(["warm up"], "document", [4]))  # the model is loaded
    started = time.process_time()
    result = list(encoder.encode_batches([text for text, _ in sample], "document", [count for _, count in sample]))
    seconds = time.process_time() - started
    width = result[0][1].shape[1]
    return statistics.mean(texts), statistics.mean(tokens), seconds / sum(count for _, count in sample), width


def _runs(source: str, folder: Path, home: Path) -> tuple[float, float]:
    """(seconds of a run whose vectors are there, bytes of it in a store); the vectors are hashed ones."""
    asked = [RunRequest(chunker=spec, source=source, embedder="hash") for spec in CHUNKERS]
    seconds = 0.0
    for _ in range(2):  # the second time vectors are cached and the data is read
        shutil.rmtree(folder / "out", ignore_errors=True)
        jobs = Runner(asked, log=JobLog(IN_PROCESS), out=folder / "out", home=home)
        started = time.process_time()
        runs = [run for setting in jobs.settings for run in jobs.run(setting)]
        seconds = time.process_time() - started
        jobs.check()
    store = ObjectStore(f"file://{folder}/store")
    for run in runs:
        assert run is not None
        put_run(run.folder, store)
    size = sum(path.stat().st_size for path in (folder / "store" / FOLDER).iterdir())
    return seconds / len(asked), size / len(asked)


def table(units: Units, *, repositories: int, chunkers: int, models: int, cores: int) -> list[str]:
    """The lines that are printed."""
    packs = repositories / units.repositories
    jobs = packs * chunkers * models
    work = {
        "embedding": jobs * units.tokens_of_pack * units.embed_token,
        "chunking, ranking, scoring": jobs * (units.read_pack + units.make_run),
    }
    serial = jobs * units.hand_out_job
    terabytes = jobs * (units.run_bytes + units.texts_of_pack * units.vector_bytes) / 1e12
    lines = [
        f"{repositories:,} repositories x {chunkers} chunkers x {models} models: {jobs:,.0f} jobs, "
        f"{jobs * units.tokens_of_pack / 1e9:,.0f} billion tokens, {terabytes:,.1f} TB of runs and vectors",
        "",
        f"| nodes of {cores} cores | embedding | chunking, ranking, scoring | handing out jobs | together "
        "| to the store, each node | bottleneck |",
        "|---:|---:|---:|---:|---:|---:|---|",
    ]
    for nodes in NODES:
        shared = {what: seconds / nodes / cores for what, seconds in work.items()}
        together = max(sum(shared.values()), serial)
        steps = shared | {"handing out jobs": serial}
        slowest = max(steps, key=lambda what: steps[what])
        cells = [_hours(seconds) for seconds in (*steps.values(), together)]
        rate = terabytes * 1e6 / together / nodes
        lines.append(f"| {nodes} | {' | '.join(cells)} | {rate:.2f} MB/s | {slowest} |")
    return lines


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 1:
        return f"{seconds / 60:.1f} min"
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:,.0f} days"


def main() -> None:
    """Measure, and print the units and the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", required=True, help="where the RepoEval data is: auto, a folder, a URL")
    for name, default in (("repositories", 10_000), ("chunkers", 20), ("models", 3), ("cores", os.cpu_count() or 1)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default:,}")
    asked = parser.parse_args()
    units = measure(asked.source)
    pack = f"{units.repositories} repositories"
    for what, figure in (
        (f"one chunker's texts and tokens in {pack}", f"{units.texts_of_pack:,.0f} and {units.tokens_of_pack:,.0f}"),
        ("embedding a token, one core", f"{1e6 * units.embed_token:.0f} µs"),
        (f"reading {pack}", f"{units.read_pack:.2f} s"),
        ("a run of them whose vectors are there", f"{units.make_run:.2f} s"),
        ("handing out a job", f"{1e3 * units.hand_out_job:.1f} ms"),
        ("a run in a store", f"{units.run_bytes / 1e6:.1f} MB"),
        ("memory of a process with data and model, at most", f"{units.model_memory / 2**20:.0f} MiB"),
    ):
        print(f"{what:52} {figure}")
    print()
    sizes = {name: getattr(asked, name) for name in ("repositories", "chunkers", "models", "cores")}
    print("\n".join(table(units, **sizes)))


if __name__ == "__main__":
    main()
