"""One table for a paper: chosen measures, short names, the best in bold, and letters for what the test shows."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from repoeval_bench.analysis.comparable import run_names, scores_nothing, shared_measures
from repoeval_bench.analysis.records import Comparison
from repoeval_bench.analysis.sign_flips import ALPHA
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.report.comparison import families
from repoeval_bench.report.scores import chunk_sizes
from repoeval_bench.report.table import Column, ScoreCell, Table, figures, make_table
from repoeval_bench.report.text import CHARACTERS_NOTE, cluster_count, completed_by, heading, short_names
from repoeval_bench.runs.view import RunView

_NUMBER = ".3f"


def paper_table(runs: Sequence[RunView], comparisons: Sequence[Comparison], measures: Sequence[str]) -> Table:
    """A row for each run and a column for each measure, the protocol's mean; the sizes of its chunks come last.

    The best of a column (the lowest mean where less is better) is bold, and so are means printed as the same number.
    Letters name the runs that a mean is better than, by the verdicts of `comparisons`. A UsageError where a measure is
    not shared, or letters run out.
    """
    if len(runs) > len(ascii_lowercase):
        raise UsageError(f"a table marks up to {len(ascii_lowercase)} runs by letters, not {len(runs)}; name fewer")
    columns = list(dict.fromkeys(name for requested in measures for name in shared_measures(runs, requested)))
    full, over, first = run_names(runs), runs[0].metrics.headline, runs[0].metrics
    letters = dict(zip(full, ascii_lowercase, strict=False))
    beaten: dict[tuple[str, str], list[str]] = {}
    for comparison in comparisons:
        if comparison.is_significant:
            won = comparison if comparison.favours_treatment else comparison.reversed()
            beaten.setdefault((won.measure, won.treatment), []).append(letters[won.baseline])
    best = {
        name: (min if lower_is_better(name) else max)(_printed(run.metrics.over(over)[name]) for run in runs)
        for name in columns
    }
    nothing = {name for name in columns if scores_nothing(name, [run.metrics.over(over)[name] for run in runs])}
    sizes = [*figures(*dict.fromkeys(name for run in runs for name in chunk_sizes(run)), number=",.0f", missing="")]
    rows = []
    for run, name, short in zip(runs, full, short_names(full), strict=True):
        means = run.metrics.over(over)
        cells = [
            ScoreCell(
                means[measure],
                best=len(runs) > 1 and measure not in nothing and _printed(means[measure]) == best[measure],
                beats="".join(sorted(beaten.get((measure, name), ()))),
            )
            for measure in columns
        ]
        rows.append((letters[name], short, *cells, *(chunk_sizes(run).get(column.name) for column in sizes)))
    same = [f"{part} {getattr(first, part)}" for part in ("embedder", "retriever")]
    title = f"{over.capitalize()} means on {first.dataset.label}, protocol {first.protocol}"
    if len({(run.metrics.embedder, run.metrics.retriever) for run in runs}) == 1:
        title = f"{title}, {', '.join(same)}"
    completions = [
        completed_by(comparison.manifest.completion) if comparison.manifest.completion else "" for comparison in runs
    ]
    if completions[0] and len(set(completions)) == 1:
        title = f"{title}, completed by {completions[0]}"
        completions = []
    notes = _notes(comparisons, [heading(name) for name in columns if lower_is_better(name)])
    notes += [CHARACTERS_NOTE] if sizes else []
    notes += [f"{letters[name]} is completed by {by}" for name, by in zip(full, completions, strict=False) if by]
    return make_table(
        [Column(name="#"), Column(name="run"), *figures(*map(heading, columns), number=_NUMBER), *sizes],
        rows,
        title=title,
        notes=notes,
    )


def _printed(mean: float) -> float:
    """The mean rounded as it is printed: means with the same text are equal."""
    return float(f"{mean:{_NUMBER}}")


def _notes(comparisons: Sequence[Comparison], lower: Sequence[str]) -> list[str]:
    if not comparisons:
        return []
    first = comparisons[0]
    files = cluster_count(first.n_clusters, first.clustered_by)
    primary = next((heading(comparison.measure) for comparison in comparisons if comparison.by_file), "")
    robust = f"; by {primary}, also without any one {first.clustered_by} or repository" if primary else ""
    carried = [
        f"no letter for {heading(comparison.measure)} of {ahead.treatment} over {ahead.baseline}: it comes from one "
        f"{comparison.verdict.carrier.kind}, {comparison.verdict.carrier.name}, without which it is not significant"
        for comparison in comparisons
        if comparison.verdict.carrier is not None
        for ahead in [comparison if comparison.favours_treatment else comparison.reversed()]
    ]
    of_lower = f" (lower is better: {', '.join(lower)})" if lower else ""
    return [
        f"bold: the best of a column{of_lower}. A letter: better than the run of that letter (p < {ALPHA}{robust}).",
        *carried,
        f"two-sided sign-flip test of the {first.headline} mean over {files}{families(comparisons)}",
    ]
