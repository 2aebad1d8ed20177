"""Comparisons, choices, gates, plots and verification of stored runs: objects, or named by folder, id or chunker.

`out` is the results folder in which a name is looked up.
"""

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from repoeval_bench.analysis import comparison, gates, segments, verdicts
from repoeval_bench.analysis import diff as changes
from repoeval_bench.analysis.gates import GateConfig
from repoeval_bench.analysis.records import Comparison, Comparisons
from repoeval_bench.analysis.verdicts import Choice
from repoeval_bench.analysis.verification import Verification, compare_runs
from repoeval_bench.core.errors import UsageError, nearest
from repoeval_bench.core.strict_yaml import read_yaml
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NamedRun = RunView | str | Path
"""A run, or its folder, id or chunker in a results folder."""


def compare(
    runs: Sequence[NamedRun],
    baseline: NamedRun | None = None,
    *,
    measures: str | Sequence[str] = (),
    equivalence: float | None = None,
    out: Path = RESULTS,
) -> Comparisons:
    """Compare every pair of `runs`, or each with `baseline`, for each measure that all have (or for `measures`).

    Differences are treatment - baseline over the same queries: of a pair, the later run minus the earlier. Pairs come
    in the order of the runs: (1, 2), (1, 3), …, (2, 3), … The test flips signs by file. The protocol's headline measure
    comes first and is tested alone: its p is adjusted by Holm over the pairs. All other measures are secondary: theirs
    is adjusted over all of these tests. `equivalence` is the margin within which two means count as equal, above 0 and
    below 1; without one, equality is never claimed. A run is an object, or a folder, id
    or chunker that names one in `out`. Runs of different protocols, data or queries, fewer than two runs and measures
    that they do not share are a UsageError. `result["ndcg@10"]` gives the comparisons by that measure, one for each
    pair.
    """
    if isinstance(runs, NamedRun):
        raise UsageError(f"{runs} is one run; give a list of two or more")
    return comparison.compare(
        [opened(run, out) for run in runs],
        None if baseline is None else opened(baseline, out),
        measures=measures,
        equivalence=equivalence,
    )


def choose(runs: Sequence[NamedRun], comparisons: Sequence[Comparison] = (), *, out: Path = RESULTS) -> Choice:
    """Choose among two or more stored runs of one question.

    A run is an object, or a folder, id or chunker that names one in `out`. `comparisons` are those of all pairs by the
    protocol's headline, if they are already computed. A UsageError for fewer than two different runs, and
    for runs that `compare` refuses.
    """
    return verdicts.choose([opened(run, out) for run in runs], comparisons)


def diff(baseline: NamedRun, treatment: NamedRun, measure: str | None = None, *, out: Path = RESULTS) -> changes.Diff:
    """Return the queries whose score differs between two runs, and why.

    Changes are treatment - baseline, of the protocol's headline where no measure is named. Runs that answer different
    questions and a measure that one of them lacks are a UsageError.
    """
    return changes.diff(opened(baseline, out), opened(treatment, out), measure)


def segment(
    run: NamedRun, *, by: Sequence[str] = (), measure: str | None = None, out: Path = RESULTS
) -> segments.Segmentation:
    """Score each segment of a run's queries by the protocol's own mean: macro is over the segment's repositories.

    `by` are facts, `repo` or the cluster of the queries; by default every fact that varies. `measure` is the protocol's
    headline unless named. An unknown fact and a measure that the run lacks are a UsageError.
    """
    return segments.segment(opened(run, out), by=by, measure=measure)


def compare_segments(
    baseline: NamedRun,
    treatment: NamedRun,
    *,
    by: Sequence[str] = (),
    measure: str | None = None,
    out: Path = RESULTS,
) -> segments.SegmentComparison:
    """Compare two runs, query by query, in each segment of the baseline's queries; options as in `segment`.

    Runs that answer different questions are a UsageError.
    """
    return segments.compare_segments(opened(baseline, out), opened(treatment, out), by=by, measure=measure)


def gate(
    run: NamedRun, config: GateConfig | str | Path, baseline: NamedRun | None = None, *, out: Path = RESULTS
) -> list[gates.GateResult]:
    """Evaluate every gate of a file, or of what `read_gates` returned, in the order of the file.

    `baseline` is the run that drops are measured from; a UsageError if it cannot be compared. One UsageError lists all
    gates that cannot be checked: they lack a measure, a segment, a baseline, a step's times, or enough clusters for an
    interval.
    """
    checked = config if isinstance(config, GateConfig) else read_gates(config)
    return gates.gate(opened(run, out), checked, None if baseline is None else opened(baseline, out))


def read_gates(path: Path | str) -> GateConfig:
    """Read a YAML gate file (docs/ci.md); all mistakes in it are one UsageError, each with its line."""
    return read_yaml(Path(path), "give a gate file with --config").read(GateConfig)


def plot(runs: Sequence[NamedRun], name: str = "line-recall-over-budget", *, out: Path = RESULTS) -> "Drawing":
    """Draw one figure of a report, by its name, with matplotlib; runs are objects, or named as in `compare`.

    `line-recall-over-budget` and `recall-over-k` are two. A notebook shows it as SVG. An unknown name is a UsageError
    that lists those that the runs have.
    """
    from repoeval_bench.report.figure import figures, svg

    known = {figure.name: figure for figure in figures([opened(run, out) for run in runs])}
    if name not in known:
        raise UsageError(nearest("figure", name, known))
    figure = known[name]
    figure.drawn.__dict__["_repr_svg_"] = partial(svg, figure)  # a figure that pyplot did not make has none
    return figure.drawn


def verify(
    run: NamedRun,
    source: str = "auto",
    *,
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
) -> Verification:
    """Run a stored request again on the data of a source, and compare it with the stored run.

    `run` is a run, its id or its folder; `questions` the file of your own questions that it used. `allowed` are specs
    of code, models and servers of others that may run, as the folder names them. UsageError: the folder names others,
    the run was imported or completed by a model, or the data is not the run's. ResultError: a file is missing or
    broken.
    """
    from repoeval_bench.runs import replay  # it imports the runner, which limits of a run do not need

    run = opened(run)
    if done := run.manifest.completion:
        raise UsageError(f"{run.run_id} holds completions of a model, which are not made again; verify {done.base}")
    replay.check_allowed(run, allowed)
    benchmark = replay.same_data(run, replay.data_of(run, source, questions=questions, home=home))
    with TemporaryDirectory() as folder:
        again = replay.run_again(run, benchmark, Path(folder), home=home)
        return compare_runs(run, again, benchmark.label, replay.tolerance_of(replay.stored_config(run)))
