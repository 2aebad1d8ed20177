"""Three experiments with an index over code with its tests: python scripts/index_experiments.py --source SOURCE.

With and without the tests; the first 15 lines of a chunk alone; chunks that overlap. BM25 ranks, and the queries are
docstrings of the code.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from repoeval_bench import Chunk, evaluate, load_benchmark, make_chunker
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.cli import fail
from repoeval_bench.core.errors import BenchError, DatasetError
from repoeval_bench.core.notices import show_notices
from repoeval_bench.dataset.assembly import with_fingerprint
from repoeval_bench.dataset.reading.code import is_test
from repoeval_bench.own.questions.documented import documented

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.runs.view import RunView

MEASURES = ("line_recall_auc", "ndcg@10")
LINES = 15
TOP = 10


class FirstLines:
    """A chunker's chunks, of which only the first lines are indexed; the whole chunk is retrieved."""

    def __init__(self, spec: str) -> None:
        self._chunker = make_chunker(spec)
        self.spec = "first-lines-" + re.sub(r"\W+", "-", spec)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks, in the chunker's order."""
        return [
            Chunk.cut(file, chunk.chars, "", "".join(chunk.text.splitlines(keepends=True)[:LINES]))
            for chunk in self._chunker.chunk(file)
        ]


def asked_of_code(benchmark: Benchmark, *, tests: bool) -> Benchmark:
    """Return a benchmark whose queries are docstrings outside of tests, over all files or over those without tests."""
    questions = documented(benchmark)
    tasks = tuple(task for task in questions.tasks if not is_test(task.path))
    repos = {task.repo for task in tasks}
    files = {
        repo: tuple(file for file in of_repo if tests or not is_test(file.path))
        for repo, of_repo in questions.files.items()
        if repo in repos
    }
    if not any(is_test(file.path) for of_repo in questions.files.values() for file in of_repo):
        raise DatasetError("the code has no tests; name code with its tests, such as a pack of sdist:NAME==VERSION")
    return with_fingerprint(replace(questions, tasks=tasks, files=files))


def read_twice(run: RunView) -> float:
    """Return the mean share of the lines in the first ten chunks that a chunk of a higher rank has already."""
    shares = []
    for row in run.log_rows():
        lines = [(chunk.file, line) for chunk in row.ranked[:TOP] for line in chunk.lines or ()]
        shares.append(1 - len(set(lines)) / len(lines) if lines else 0.0)
    return sum(shares) / len(shares)


def row(name: str, run: RunView, other: RunView | None = None) -> str:
    """Return a table's row: the means, and the change from the other run with 95 % intervals."""
    cells = [f"{run.metrics.micro[measure]:.3f}" for measure in MEASURES]
    if other is not None:
        changes = run.scores.table(MEASURES) - other.scores.table(MEASURES)
        means, ends = mean_intervals(changes, run.scores.clusters, run.scores.repos, "micro")
        for i, (mean, pair) in enumerate(zip(means, ends, strict=True)):
            cells[i] += f", {mean:+.3f}" + (f" [{pair[0]:+.3f}, {pair[1]:+.3f}]" if pair else "")
    return f"| {' | '.join([name, *cells, f'{read_twice(run):.0%}'])} |"


def experiments(benchmark: Benchmark, folder: str) -> None:
    """Print the tables."""
    code = asked_of_code(benchmark, tests=False)
    ask = partial(evaluate, protocol="docstring", retriever="bm25", measures=MEASURES, out=folder)
    print(f"{code.label}\n")
    print("| index | lines found | nDCG@10 | read twice in the first ten |\n|---|---|---|---|")
    plain = {}
    for spec in ("fixed:max_nws=1000", "ast:max_nws=1000"):
        plain[spec] = ask(code, spec)
        print(row(f"`{spec}`, no tests", plain[spec]))
        print(row("the same and the tests", ask(asked_of_code(benchmark, tests=True), spec), plain[spec]))
        print(row(f"the first {LINES} lines of its chunks", ask(code, FirstLines(spec)), plain[spec]))
    first = ask(code, "window:lines=40,step=40")
    print(row("`window:lines=40,step=40`, no overlap", first))
    for step in (30, 20, 10):
        print(row(f"`window:lines=40,step={step}`", ask(code, f"window:lines=40,step={step}"), first))


if __name__ == "__main__":
    show_notices(lambda line: print(line, file=sys.stderr))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            experiments(load_benchmark(parser.parse_args().source), folder)
    except BenchError as error:
        fail(str(error), error.exit_code)
