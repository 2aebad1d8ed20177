"""The time and memory of `compare`, and of the choice that the page shows: each figure from a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _bench import Row, command

from repoeval_bench.metrics import EVAL_MEASURES
from repoeval_bench.runs.records import (
    SCHEMA,
    CodeState,
    Counts,
    DatasetRecord,
    Manifest,
    Means,
    Metrics,
    QueryRow,
    Sizes,
)
from repoeval_bench.runs.store import RunFiles, write_folder

RUNS = 5
SMALL, LARGE = 455, 100_000
PAGE_RUNS, PAGE_QUERIES, PAGE_FILES = 21, 1_500, 400
CHOOSE = """
import sys, time
sys.path.insert(0, {scripts!r})
from _bench import memory
from repoeval_bench import choose, find_run
runs = [find_run(folder) for folder in sys.argv[1:]]
for run in runs:
    run.scores
before, started = memory("VmHWM"), time.perf_counter()
choose(runs)
print(time.perf_counter() - started, memory("VmHWM") - before)
"""
"""Prints the seconds of a choice among stored runs, and the bytes above those of the runs."""
REPOS = 8


def write_runs(results: Path, n_queries: int, *, n_files: int | None, n_runs: int = RUNS) -> list[str]:
    """Write runs with every measure that `eval` scores; `n_files` hold the queries, or None: no file is known.

    A score is the sum of the ease of its query and file, an advantage of its run, and noise, clipped to 0..1.
    """
    rng = np.random.default_rng(0)
    n_clusters = n_files or n_queries
    file = np.arange(n_queries) * n_clusters // n_queries
    ease = rng.normal(0.5, 0.2, (n_queries, 1)) + rng.normal(0, 0.1, (n_clusters, 1))[file]
    repos = [f"repo{REPOS * i // n_queries}" for i in range(n_queries)]
    folders = []
    for run in range(n_runs):
        table = np.clip(ease + 0.01 * run + rng.normal(0, 0.15, (n_queries, len(EVAL_MEASURES))), 0, 1)
        values = {name: table[:, i].tolist() for i, name in enumerate(EVAL_MEASURES)}
        name = f"run{run}"
        dataset = DatasetRecord(name="made", fingerprint="made", label=f"made, {n_queries} queries", tasks=n_queries)
        counts, means = Counts(queries=n_queries), Means.of(values, repos)
        metrics = Metrics(
            run_id=name,
            dataset=dataset,
            protocol="context",
            headline="micro",
            chunker=name,
            embedder="none",
            retriever="made",
            k=100,
            counts=counts,
            chunk_nws=Sizes(mean=1.0, median=1, p95=1, max=1),
            micro=means.micro,
            macro=means.macro,
            per_repo=means.per_repo,
        )
        rows = (
            QueryRow(
                query_id=f"q{i}",
                repo=repos[i],
                path=None if n_files is None else f"f{file[i]}.py",
                n_relevant=1,
                facts={},
                measures={measure: column[i] for measure, column in values.items()},
            )
            for i in range(n_queries)
        )
        manifest = Manifest(
            schema=SCHEMA,
            run_id=name,
            created="2026-01-01T00:00:00+00:00",
            dataset=dataset,
            counts=counts,
            qrels_gain_factor=1,
            index_version="made",
            code=CodeState(commit=None, dirty=None),
            versions={},
        )
        files = RunFiles(manifest=manifest, metrics=metrics, queries=rows, timings=(), qrels="", log="")
        write_folder(results / name, files)
        folders.append(str(results / name))
    return folders


def rows(*, large: int = LARGE) -> list[Row]:
    """Every figure with its bar."""
    table = []
    for n_queries, n_files, seconds in ((SMALL, SMALL // 4, 3.0), (large, None, 30.0)):
        with tempfile.TemporaryDirectory() as name:
            took = command("compare", *write_runs(Path(name), n_queries, n_files=n_files), "--json")
        gib = took.peak / 2**30
        kind = "each alone" if n_files is None else f"{n_files:,} files"
        what = f"{RUNS} runs, {n_queries:,} queries ({kind}), {len(EVAL_MEASURES)} measures"
        table.append(Row(f"{what}: time", took.time, f"< {seconds:g} s", took.wall < seconds))
        table.append(Row(f"{what}: memory", f"{gib:.2f} GiB", "< 1 GiB", gib < 1))
    return [*table, *page_rows()]


def page_rows() -> list[Row]:
    """Return the time and memory of the page's tests: the best of many runs against each other one."""
    with tempfile.TemporaryDirectory() as name:
        folders = write_runs(Path(name), PAGE_QUERIES, n_files=PAGE_FILES, n_runs=PAGE_RUNS)
        program = CHOOSE.format(scripts=str(Path(__file__).parent))
        done = subprocess.run([sys.executable, "-c", program, *folders], capture_output=True, text=True, check=True)
    seconds, peak = map(float, done.stdout.split())
    what = f"choice of {PAGE_RUNS} runs, {PAGE_QUERIES:,} queries in {PAGE_FILES} files"
    return [
        Row(f"{what}: time", f"{seconds:.1f} s", "< 5 s", seconds < 5),
        Row(f"{what}: memory above the runs", f"{peak / 1e6:.0f} MB", "< 300 MB", peak < 300e6),
    ]
