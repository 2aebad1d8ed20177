r"""Measure how well a choice by a repository's own commits holds on its later commits.

python scripts/validate_history.py measure CLONE... --out FOLDER
python scripts/validate_history.py report FOLDER

`measure` reads each clone, asks the questions of its windows under protocol `commits`, and stores the score of every
candidate on every question, for each gold, by BM25: the sizes that `recommend` tries, whole functions, and settings that
people paste. `docstring` is asked of the newest tree that is older than the newest window. A clone that was measured is
not measured again, so the same line goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.evidence import SIZES, SizedChunker
from repoeval_bench.api.recommendation import Facts, sized
from repoeval_bench.core.errors import BenchError
from repoeval_bench.own.history import CommitOptions, benchmark_of, commit_questions, history_of
from repoeval_bench.runs.request import RecommendRequest, RunRequest
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.core.benchmark import Benchmark

GOLDS = ("lines", "exact", "definitions")
SINCE = "2012-01-01"
"""The date from which commits ask: longer than `recommend` looks back, so that more windows can be compared."""

PASTED = (
    "functions",
    "langchain:chunk_size=1000,chunk_overlap=200",
    "langchain:chunk_size=1000",
    "langchain:chunk_size=4000,chunk_overlap=200",
    "llama-index:max_chars=1500",
    "chonkie:chunk_size=2048",
)
"""Whole functions, and settings of other frameworks as they are pasted from their documents."""


def measure(clone: Path, out: Path) -> None:
    """Store the scores of all candidates on the questions of one clone's history."""
    started = monotonic()
    name = clone.parent.name if clone.name in ("repo", ".git") else clone.name
    target = out / f"{name}.npz"
    if target.exists():
        return
    with history_of(clone) as history:
        questions = commit_questions(history, CommitOptions(since=SINCE))
        benchmark = benchmark_of(history, questions, name)
    read = monotonic() - started
    candidates = _candidates(benchmark)
    facts: dict[str, Any] = {
        "name": name,
        "language": Facts.of(benchmark, {}).language,
        "windows": [[window.name, window.base.id, window.base.day, len(window.tasks)] for window in questions.windows],
        "seen": questions.seen,
        "left_out": questions.left_out,
        "read_seconds": round(read, 1),
    }
    arrays: dict[str, Any] = {}
    with TemporaryDirectory() as runs:
        golds = [RunRequest(protocol="commits", retriever="bm25", gold=gold if gold != GOLDS[0] else None) for gold in GOLDS]
        labels, tables, columns = _scores(benchmark, golds, candidates, Path(runs))
        arrays |= dict(zip(GOLDS, tables, strict=True)) | {name: np.array(values) for name, values in columns.items()}
        facts["labels"] = labels
        older = questions.windows[min(1, len(questions.windows) - 1)].name
        tasks = tuple(task for task in benchmark.tasks if task.repo == older)
        tree = replace(benchmark, files={older: benchmark.files[older]}, tasks=tasks)
        try:
            request = RunRequest(protocol="docstring", retriever="bm25")
            labels, (arrays["docstring"],), _ = _scores(tree, [request], candidates[:-len(PASTED)], Path(runs), sample=300)
            facts["docstring_labels"] = labels
        except BenchError as error:
            facts["docstring_error"] = str(error)
    facts["seconds"] = round(monotonic() - started, 1)
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez_compressed(target.with_suffix(".part.npz"), **arrays)
    target.with_suffix(".part.npz").rename(target)
    print(f"{name}: {len(arrays['id'])} questions, {len(facts['labels'])} candidates, {facts['seconds']} s", flush=True)


def _candidates(benchmark: Benchmark) -> list[SizedChunker]:
    """The candidates of `recommend` at its sizes, and `PASTED` as they are."""
    chunkers = RecommendRequest.model_fields["chunkers"].default
    by_size, skipped, _ = sized(benchmark, chunkers, SIZES)
    for line in skipped:
        print(f"  {line}", file=sys.stderr)
    return [one for of_size in by_size for one in of_size] + [
        SizedChunker(name=spec, size=None, spec=spec) for spec in PASTED
    ]


def _scores(
    benchmark: Benchmark,
    settings: Sequence[RunRequest],
    candidates: Sequence[SizedChunker],
    runs: Path,
    sample: int | None = None,
) -> tuple[list[str], list[Any], dict[str, list[str]]]:
    """Return the labels of the candidates that ran, float64 (n_questions, n_candidates) of each setting, and columns."""
    requests = [setting.model_copy(update={"chunker": one.spec}) for setting in settings for one in candidates]
    runner = Runner(requests, out=runs, benchmark=benchmark, sample=sample)
    of_settings = [list(runner.runs_of(setting, reuse=True)) for setting in runner.settings]
    ran = [one for one in range(len(candidates)) if all(of_setting[one] for of_setting in of_settings)]
    for one in set(range(len(candidates))).difference(ran):
        why = runner.failed_of(runner.settings[0]).get(candidates[one].spec) or runner.skipped
        print(f"  {candidates[one].label}: {why}", file=sys.stderr)
    scores = of_settings[0][ran[0]].scores
    columns = {
        "id": list(scores.query_ids),
        "window": list(scores.repos),
        "cluster": [str(cluster) for cluster in scores.clusters],
    }
    tables = [
        np.column_stack([of_setting[one].scores.values[headline_measure([of_setting[one]])] for one in ran])
        for of_setting in of_settings
    ]
    return [candidates[one].label for one in ran], tables, columns


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("clones", nargs="+", type=Path)
    measuring.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for clone in arguments.clones:
        try:
            measure(clone, arguments.out)
        except BenchError as error:
            print(f"{clone}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
