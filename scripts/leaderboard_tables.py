"""Make the tables of data/leaderboard from stored runs: `python scripts/leaderboard_tables.py RESULTS -o FOLDER`.

`leaderboard.csv` ranks the runs, one board for each retriever and embedder. Chunkers are compared at equal size: a run
has the size of a `fixed` run if their mean chunks are within 10 %. `against.csv` has each chunker minus `fixed` of its
size, `sizes.csv` the largest size minus the smallest, `frontier.csv` the highest recall within each budget,
`protocols.csv` how far two protocols agree, and with `--updates FILE` (what `churn.py` prints) `updates.csv` the cost
of an update.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from repoeval_bench.analysis.comparable import shared_measures
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.records import Comparison, Outcome
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size
from repoeval_bench.core.languages import language_of
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.plugins.lab.leaderboard import (
    Leaderboard,
    Leaderboards,
    leaderboard_csv,
    leaderboards,
    leaderboards_of,
)
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import record_table
from repoeval_bench.report.text import full_outcome_name, heading
from repoeval_bench.runs.inspection import stored_tokens_per_nws
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.request import NO_EMBEDDER
from repoeval_bench.runs.view import RunView

BASELINE = "fixed"

CLAIMED = "recall@5"
"""A measure by which papers compare chunkers. Larger chunks alone raise it, so sizes have to be equal."""

NEAR, SAME_SIZE = log(1.1), log(1.05)
"""Largest distance of two mean sizes, and of two size options, that count as equal: the logarithm of their ratio."""

Row = dict[str, Any]
Pair = tuple[str, str]


class Sized:
    """A leaderboard of chunkers whose runs have the size of a `fixed` run."""

    def __init__(self, board: Leaderboard) -> None:
        self.board = board
        self.runs = {run.run_id: run for run in board.runs}
        self.baselines = self._baselines()
        self.sizes = {run_id: self._size(run) for run_id, run in self.runs.items()}
        labels = {run_id: _label(run.metrics.chunker, self.sizes[run_id]) for run_id, run in self.runs.items()}
        counts = Counter(labels.values())
        self.labels = {i: label if counts[label] == 1 else self.runs[i].metrics.chunker for i, label in labels.items()}

    @property
    def about(self) -> Row:
        """The first columns of every table."""
        first = self.board.runs[0].metrics
        names = {"dataset": self.board.dataset, "protocol": self.board.protocol}
        return names | {"retriever": first.retriever, "embedder": first.embedder}

    @property
    def ranker(self) -> str:
        """The retriever in one word, with the embedder if there is one."""
        first = self.board.runs[0].metrics
        name, _, options = first.retriever.partition(":")
        name += f" · {options}" if name == "grep" and options != "around=none" else ""
        return name if first.embedder == NO_EMBEDDER else f"{name}, {first.embedder}"

    def named(self, run_id: str) -> Row:
        """The columns that name a run."""
        return {"run_id": run_id, "chunker": self.labels[run_id]}

    def _baselines(self) -> dict[int, RunView]:
        """Return size option of `fixed` -> its run, ascending; of runs of equal mean chunk, the roundest size."""
        fixed = [run for run in self.board.runs if chunker_name(run.metrics.chunker) == BASELINE]
        sizes = [(size, run) for run in fixed if (size := chunker_size(run.metrics.chunker))]
        results: dict[int, RunView] = {}
        for size, run in sorted(sizes, key=lambda sized: (len(str(sized[0]).rstrip("0")), sized[0], sized[1].run_id)):
            if size not in results and _nearest(run, results) is None:
                results[size] = run
        return dict(sorted(results.items()))

    def _size(self, run: RunView) -> int | None:
        """Return the size of the baseline that a run is compared with; a second `fixed` of a size has none."""
        size = _nearest(run, self.baselines)
        is_fixed = chunker_name(run.metrics.chunker) == BASELINE
        return None if size is not None and is_fixed and self.baselines[size] is not run else size

    @cached_property
    def against(self) -> dict[str, list[Comparison]]:
        """Run id -> its comparisons with `fixed` of its size, Holm over the runs of that size."""
        known = shared_measures(self.board.runs)
        measures = [self.board.measure, *({CLAIMED} & {*known} - {self.board.measure})]
        results: dict[str, list[Comparison]] = {}
        for size, baseline in self.baselines.items():
            others = [run for run in self.board.runs if self.sizes[run.run_id] == size and run is not baseline]
            if others:
                compared, n = list(compare(others, baseline, measures=measures)), len(measures)
                results |= {run.run_id: compared[index * n : (index + 1) * n] for index, run in enumerate(others)}
        return results


def _label(spec: str, size: int | None) -> str:
    if size is None or chunker_size(spec) is None:
        return chunker_name(spec, sized=True)
    return f"{chunker_name(spec)} at {size:,}"


def _nearest(run: RunView, baselines: Mapping[int, RunView]) -> int | None:
    """Return the size of the baseline whose mean chunk is nearest; None if none is within 10 %."""
    means = {size: other.metrics.chunk_nws for size, other in baselines.items()}
    own = run.metrics.chunk_nws
    distances = {size: abs(log(own.mean / mean.mean)) for size, mean in means.items() if own and mean}
    nearest = min(distances, key=lambda size: distances[size], default=None)
    return nearest if nearest is not None and distances[nearest] <= NEAR else None


def against_rows(sized: Sized) -> Iterator[Row]:
    """Yield each chunker minus `fixed` of its size."""
    for run_id, compared in sized.against.items():
        for comparison in compared:
            numbers = {name: getattr(comparison, name) for name in ("difference", "ci", "p_adjusted")}
            verdict = full_outcome_name(comparison.verdict)
            yield sized.named(run_id) | {"measure": heading(comparison.measure)} | _ends(numbers) | {"verdict": verdict}


def size_rows(sized: Sized) -> Iterator[Row]:
    """Yield each chunker's mean at each of its sizes, and the largest size minus the smallest."""
    board = sized.board
    by_name: dict[str, dict[int, RunView]] = {}
    for run_id, size in sized.sizes.items():
        if size is not None:
            by_name.setdefault(chunker_name(sized.runs[run_id].metrics.chunker), {})[size] = sized.runs[run_id]
    for name, runs in by_name.items():
        order = sorted(runs)
        if len(order) < 2:
            continue
        scores, larger = together([runs[order[0]].scores, runs[order[-1]].scores])
        differences = larger.values[board.measure] - scores.values[board.measure]
        (difference,), (ci,) = mean_intervals(differences, scores.clusters, scores.repos, board.over)
        row: Row = {"measure": heading(board.measure), "chunker": name}
        row |= {"run_ids": {str(size): runs[size].run_id for size in order}}
        row |= {"means": {str(size): runs[size].metrics.over(board.over)[board.measure] for size in order}}
        yield row | _ends({"difference": difference, "ci": ci})


def frontier_rows(sized: Sized) -> Iterator[Row]:
    """Yield the highest recall of the runs within each budget, with its run, and the highest of `fixed`."""
    board = sized.board
    recall = "definition_recall" if board.measure.startswith("definition_") else "line_recall"
    ratio = stored_tokens_per_nws(board.runs[0].folder)
    for budget in BUDGETS:
        name = f"{recall}@{budget}"
        means = {run.run_id: run.metrics.over(board.over).get(name) for run in board.runs}
        if None in means.values():
            continue
        best = max(board.runs, key=lambda run: means[run.run_id] or 0.0)
        scores = best.scores
        (mean,), (ci,) = mean_intervals(scores.table([name]), scores.clusters, scores.repos, board.over)
        fixed = [means[i] or 0.0 for i, run in sized.runs.items() if chunker_name(run.metrics.chunker) == BASELINE]
        row = {"measure": heading(name)} | sized.named(best.run_id)
        row |= {"budget": budget, "tokens": None if ratio is None else budget * ratio, "recall": mean}
        yield row | _ends({"ci": ci}) | {"fixed": max(fixed, default=None)}


def update_rows(sized: Sized, updates: Sequence[Row]) -> Iterator[Row]:
    """Yield the mean share of characters that a new version embeds again, and its difference to `fixed`."""
    gold = {file for run in sized.board.runs for files in run.scores.gold_files for file in files[:1]}
    languages = {known.name for file in gold if (known := language_of(file))}
    rows = [row for row in updates if row["new"]["language"] in languages]
    for run_id, run in sized.runs.items():
        shares = _shares(run.metrics.chunker, rows)
        if not shares:
            continue
        share, ci = _mean([*shares.values()])
        baseline = sized.baselines.get(sized.sizes[run_id] or 0)
        fixed = {} if baseline is None or baseline is run else _shares(baseline.metrics.chunker, rows)
        paired = shares.keys() == fixed.keys()
        difference, its_ci = _mean([shares[pair] - fixed[pair] for pair in shares]) if paired else (None, None)
        row = sized.named(run_id) | _ends({"share": share, "ci": ci}) | {"pairs": len(shares)}
        yield row | _ends({"difference": difference, "difference_ci": its_ci})


def _shares(spec: str, rows: Sequence[Row]) -> dict[Pair, float]:
    """Return pair of versions -> share of characters to embed again, by the row of the nearest size within 5 %."""
    size, name = chunker_size(spec), chunker_name(spec)
    nearest: dict[Pair, tuple[float, float]] = {}
    for row in rows:
        theirs = chunker_size(row["spec"])
        distance = 0.0 if size == theirs else abs(log(size / theirs)) if size and theirs else inf
        if row["nws"] and chunker_name(row["spec"]) == name and distance <= SAME_SIZE:
            pair = (row["old"]["fingerprint"], row["new"]["fingerprint"])
            candidate = (distance, row["new_nws"] / row["nws"])
            nearest[pair] = min(candidate, nearest.get(pair, candidate))
    return {pair: share for pair, (_, share) in nearest.items()}


def _mean(values: Sequence[float]) -> tuple[float, Any]:
    (mean,), (ci,) = mean_intervals(np.array(values)[:, None], range(len(values)), ["all"] * len(values), "micro")
    return mean, ci


def protocol_rows(boards: Sequence[Sized]) -> Iterator[Row]:
    """Yield for two protocols on the same data by the same retriever how similarly they rank, and judge, chunkers."""
    groups: dict[tuple[object, ...], list[Sized]] = {}
    for sized in boards:
        first = sized.board.runs[0].metrics
        groups.setdefault((first.dataset.name, first.dataset.part, first.retriever, sized.ranker), []).append(sized)
    for one, other in (pair for group in groups.values() for pair in combinations(group, 2)):
        if one.board.protocol == other.board.protocol:
            continue
        pairs = _same(one, other)
        scores = [{entry.run_id: entry.score for entry in sized.board.entries} for sized in (one, other)]
        columns = [[by_id[pair[index]] for pair in pairs] for index, by_id in enumerate(scores)]
        both = [(one.against[a][0], other.against[b][0]) for a, b in pairs if a in one.against and b in other.against]
        verdicts = [tuple(map(_outcome, compared)) for compared in both]
        yield {
            "dataset": one.board.runs[0].metrics.dataset.name,
            "retriever": one.ranker,
            "first": one.board.protocol,
            "second": other.board.protocol,
            "kendall_tau": float(kendalltau(*columns).statistic) if len(pairs) > 1 else None,
            "runs": len(pairs),
            "verdicts": len(verdicts),
            "changed": sum(a != b for a, b in verdicts),
            "turned_round": sum({a, b} == {Outcome.BETTER, Outcome.WORSE} for a, b in verdicts),
        }


def _same(one: Sized, other: Sized) -> list[Pair]:
    """Return the ids of the runs that both have: of one spec, else of one label with a size."""
    theirs = {run.metrics.chunker: run_id for run_id, run in other.runs.items()}
    specs = {run_id: run.metrics.chunker for run_id, run in one.runs.items()}
    pairs = {run_id: theirs.pop(spec) for run_id, spec in specs.items() if spec in theirs}
    rest = {other.labels[run_id]: run_id for run_id in theirs.values() if other.sizes[run_id] is not None}
    for run_id, label in one.labels.items():
        if run_id not in pairs and one.sizes[run_id] is not None and label in rest:
            pairs[run_id] = rest[label]
    return [*pairs.items()]


def _outcome(comparison: Comparison) -> Outcome:
    """Return better, worse, or not significant (for any reason)."""
    return comparison.verdict.outcome if comparison.is_significant else Outcome.NOT_SIGNIFICANT


def _ends(row: Row) -> Row:
    """Return the row with two empty ends for a missing interval."""
    return {name: (None, None) if value is None and name.endswith("ci") else value for name, value in row.items()}


def tables(runs: Sequence[RunView], updates: Sequence[Row]) -> dict[str, str]:
    """Return file name -> CSV of every table that has a row."""
    by_ranker: dict[tuple[str, str], list[RunView]] = {}
    for run in runs:
        by_ranker.setdefault((run.metrics.retriever, run.metrics.embedder), []).append(run)
    ranked = [board for group in by_ranker.values() for board in leaderboards(group).ranked]
    ranked.sort(key=lambda one: (one.dataset, one.protocol, one.precision, one.k, one.measure, one.entries[0].run_id))
    boards = [Sized(board) for board in ranked if len(board.runs) > 1]
    rows: dict[str, list[Row]] = {
        "against": [sized.about | row for sized in boards for row in against_rows(sized)],
        "sizes": [sized.about | row for sized in boards for row in size_rows(sized)],
        "frontier": [sized.about | row for sized in boards for row in frontier_rows(sized)],
        "updates": [sized.about | row for sized in boards for row in update_rows(sized, updates)],
        "protocols": list(protocol_rows(boards)),
    }
    files = {f"{name}.csv": as_csv(record_table(table)) for name, table in rows.items() if table}
    return {"leaderboard.csv": leaderboard_csv(Leaderboards(tuple(ranked), {}))} | files


def main() -> None:
    """Write the tables, and name the folders that are not ranked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("data/leaderboard"))
    parser.add_argument("--updates", type=Path)
    arguments = parser.parse_args()
    checked = leaderboards_of(arguments.results)
    for name, reason in checked.not_ranked.items():
        print(f"not ranked: {name}: {reason}")
    runs = list({run.run_id: run for board in checked.ranked for run in board.runs}.values())
    lines = arguments.updates.read_text(encoding="utf-8").splitlines() if arguments.updates else []
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, content in tables(runs, [json.loads(line) for line in lines]).items():
        (arguments.output / name).write_text(content, encoding="utf-8")
        print(arguments.output / name)


if __name__ == "__main__":
    main()
