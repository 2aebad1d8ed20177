"""The speed of the measures, as ratios to pytrec_eval in the same process: medians of paired repetitions."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytrec_eval
from _bench import Row

from repoeval_bench.metrics import score_run

if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH = 100
SMALL, LARGE = 455, 20_000
THEIRS = {"ndcg_cut.5,10", "recall.5,10", "P.5,10", "success.5,10", "recip_rank"}
IMPORT_MS = 150


class Data(NamedTuple):
    """One run in the form that both libraries read."""

    run: dict[str, dict[str, float]]
    qrels: dict[str, dict[str, int]]


def make(n_queries: int) -> Data:
    """Make random scores in steps of 1e-5 for chunks of the query's repository; 1 to 8 are relevant, most retrieved."""
    rng = np.random.default_rng(0)
    names = [[f"repo-{repo}/package/module.py@{1500 * i}-{1500 * i + 1500}" for i in range(400)] for repo in range(8)]
    run, qrels = {}, {}
    for q in range(n_queries):
        pool = names[q % 8]
        picked = rng.choice(400, DEPTH, replace=False)
        scores = rng.random(DEPTH).round(5)
        run[f"repo-{q % 8}/{q}"] = {pool[i]: s for i, s in zip(picked.tolist(), scores.tolist(), strict=True)}
        relevant = {int(i) for i in rng.choice(picked, rng.integers(1, 8), replace=False)} | {int(rng.integers(400))}
        qrels[f"repo-{q % 8}/{q}"] = {pool[i]: 1 for i in relevant}
    return Data(run, qrels)


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def ratio(ours: Callable[[], object], theirs: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Return the median of ours / theirs over pairs of calls in alternating order, and the median seconds of ours."""
    pairs = []
    for i in range(repetitions):
        if i % 2:
            b, a = seconds(theirs), seconds(ours)
        else:
            a, b = seconds(ours), seconds(theirs)
        pairs.append((a / b, a))
    return statistics.median(r for r, _ in pairs), statistics.median(a for _, a in pairs)


def peak(call: Callable[[], object]) -> float:
    """Return the peak of a call's allocations, in MiB."""
    tracemalloc.start()
    call()
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest / 2**20


def import_ms() -> float:
    """Return the milliseconds that importing the metrics takes in a new process, numpy included.

    It is the least of nine, because other programs can only slow it.
    """
    code = "import time; t = time.perf_counter(); import repoeval_bench.metrics; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return 1000 * min(float(done.stdout) for done in runs)


class Calls:
    """The same work in each form, on one run."""

    def __init__(self, n_queries: int) -> None:
        self.data = make(n_queries)
        self.pairs = {
            query: sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
            for query, scores in self.data.run.items()
        }

    def theirs(self) -> object:
        """Score dicts with pytrec_eval."""
        return pytrec_eval.RelevanceEvaluator(self.data.qrels, THEIRS).evaluate(self.data.run)

    def dicts(self) -> object:
        """Score the same dicts with this project."""
        return score_run(self.data.run, self.data.qrels)

    def ranked(self) -> object:
        """Score pairs in rank order with this project, as a run does."""
        return score_run(self.pairs, self.data.qrels)


def rows(*, large: int = LARGE) -> list[Row]:
    """Every figure with its bar."""
    cost = import_ms()
    table = [Row("import of the metrics, numpy included", f"{cost:.0f} ms", f"< {IMPORT_MS} ms", cost < IMPORT_MS)]
    bars = {"dicts": 1.0, "ranked": 1.0}
    for n in (SMALL, large):
        calls = Calls(n)
        for form, bar in bars.items():
            value, own = ratio(getattr(calls, form), calls.theirs, 50 if n == SMALL else 3)
            what = f"{n:,} queries x {DEPTH}, {form}: time / pytrec_eval's"
            table.append(Row(what, f"{value:.2f} ({1000 * own:.0f} ms)", f"<= {bar:g}", value <= bar))
    half = Calls(large // 2)
    most = peak(calls.dicts)
    growth = most / peak(half.dicts)
    what = f"{large:,} queries x {DEPTH}, dicts: peak memory / half the queries'"
    table.append(Row(what, f"{growth:.2f} ({most:.0f} MiB)", "<= 2.2", growth <= 2.2))
    return table
