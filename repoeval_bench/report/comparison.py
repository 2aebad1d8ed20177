"""Differences between runs: the answer of a command, tables with notes, a table for a paper, records and CSV.

The answer is the verdict, and one table that fits 80 columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from textwrap import wrap

from pydantic import Field, TypeAdapter

from repoeval_bench.analysis.comparable import PARTS, run_names, scores_nothing, shared_measures
from repoeval_bench.analysis.records import Comparison, Influence, Outcome
from repoeval_bench.analysis.sign_flips import BORDERLINE
from repoeval_bench.analysis.verdicts import Choice
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.metrics import CEILING, SHARE, lower_is_better
from repoeval_bench.report.formats import as_csv, markdown, markdown_text
from repoeval_bench.report.scores import ceiling_notes, chunk_sizes, losses, score_table, title_of_scores
from repoeval_bench.report.table import (
    P_VALUE,
    Column,
    Emphasis,
    Estimate,
    ScoreCell,
    Table,
    figures,
    make_table,
    number,
    record_table,
    table_of,
    with_notes,
)
from repoeval_bench.report.terminal import folded
from repoeval_bench.report.text import (
    BORDERLINE_NOTE,
    CHARACTERS_NOTE,
    EQUAL,
    adjusted_notes,
    cluster_count,
    flipped_units,
    full_outcome_name,
    heading,
    outcome_name,
    short_names,
)
from repoeval_bench.report.verdict import UNCORRECTED, WordedVerdict
from repoeval_bench.runs.query_scores import repository_kind
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.view import RunView

# The measure shown beside the deciding one: the usual one in the field, which may disagree.
BESIDE = "ndcg@10"

# Up to this many measures all are shown, as with `--measure`.
_FEW = 4

MOST_NOTES = 3
"""Notes below a table; --details prints the others too."""

# Most characters of a run's name in a row, of its name in a heading, and of a line of other cells.
_NAME, _HEAD, _CELL = 20, 12, 16

# The format of a mean in the table for a paper.
_NUMBER = ".3f"


class ComparedRow(Record):
    """All that `compare --json` prints; `choice` is null where a baseline was named."""

    comparisons: list[Comparison]
    choice: Choice | None
    left_out: Mapping[str, str]
    """Chunker -> the reason why it has no run."""
    notes: list[str] = Field(default_factory=list)
    """Notes on runs whose log lacks queries; missing where there are none."""


def skipped_notes(chunkers: Iterable[str]) -> list[str]:
    """Return a note on the chunkers that do not know a language of the data; the reasons were printed before."""
    named = ", ".join(chunkers)
    return [f"left out, because they do not support a language of the data: {named}"] if named else []


def answer_table(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> Table:
    """Return every printed measure of one run, or the mean of each of several runs and its difference with the verdict.

    The notes begin with what changes the reading most: what is missing, what looks like a contradiction, then other
    causes of the scores.
    """
    missing = skipped_notes(skipped)
    if len(runs) == 1:
        return score_table(runs[0], [*missing, *verdict.notes, *losses(runs[0]), *ceiling_notes(runs[0])])
    lost = [f"{name}: {line}" for name, run in zip(_names(runs), runs, strict=True) for line in losses(run)]
    table = _differences(runs, verdict)
    first, later = ((), table.notes) if UNCORRECTED in verdict.text else (table.notes, ())
    return replace(table, notes=(*missing, *first, *verdict.notes, *later, *verdict.tests, *lost))


def answer_markdown(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> str:
    """The verdict and the table as a section in Markdown, to be appended to a GitHub step summary."""
    table = answer_table(runs, verdict, skipped)
    return f"{markdown_text(verdict.text)}\n\n{markdown([replace(table, notes=table.notes[:MOST_NOTES])])}\n"


@dataclass(frozen=True, slots=True)
class _MeasureRow:
    """A run's mean of a measure; `difference` is to the reference (None for the reference itself)."""

    measure: str
    run: str
    mean: float
    difference: Comparison | None


def _differences(runs: Sequence[RunView], verdict: WordedVerdict) -> Table:
    names, full, over = _names(runs), run_names(runs), runs[0].metrics.headline
    reference = names[verdict.reference]
    against = {(difference.measure, difference.treatment): difference for difference in verdict.record.differences}
    measures = list(dict.fromkeys(difference.measure for difference in verdict.record.differences))
    measures = [measure for measure in measures if not measure.endswith((CEILING, SHARE))] or measures
    if len(measures) > _FEW:
        measures = [measure for measure in measures if measure in (verdict.record.measure, BESIDE)]
    lines = []
    for measure in measures:
        means = [run.metrics.over(over)[measure] for run in runs]
        order = sorted(range(len(runs)), key=lambda i: means[i], reverse=not lower_is_better(measure))
        order.sort(key=lambda i: i != verdict.reference)
        for position, i in enumerate(order):
            name = heading(measure) if position == 0 else ""
            lines.append(_MeasureRow(name, names[i], means[i], against.get((measure, full[i]))))
    minus = reference if len(reference) <= _HEAD else "the first"
    columns = [
        Column(name="measure", value=lambda line: tuple(wrap(line.measure, _CELL))),
        Column(name="run", value=lambda line: tuple(folded(line.run, _NAME).splitlines())),
        number("mean", lambda line: line.mean, ".3f"),
        number(f"minus {minus}, 95 % CI", _estimate, "+.3f", missing=""),
        Column(name="verdict", value=_verdict),
    ]
    notes = adjusted_notes(line.difference for line in lines if line.difference)
    title = title_of_scores(runs[0], alone=False)
    return table_of(columns, lines, title=title, notes=notes, emphasis=_emphasis)


def _verdict(line: _MeasureRow) -> tuple[str, ...]:
    return () if line.difference is None else tuple(wrap(outcome_name(line.difference.verdict), _CELL))


def _estimate(line: _MeasureRow) -> Estimate | None:
    return None if line.difference is None else Estimate(line.difference.difference, line.difference.ci)


def _emphasis(line: _MeasureRow) -> Emphasis:
    if line.difference is None:
        return "strong"
    if not line.difference.is_significant:
        return ""
    return "better" if line.difference.verdict.outcome is Outcome.BETTER else "worse"


def _names(runs: Sequence[RunView]) -> list[str]:
    return short_names(run_names(runs))


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """One table per pair, with its differences, tests and verdicts; the notes are below the last one."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for c in comparisons:
        pairs.setdefault((c.baseline, c.treatment), []).append(c)
    tables = []
    for pair in pairs.values():
        first = pair[0]
        queries, clusters = count(first.n_queries, "query"), cluster_count(first.n_clusters, first.clustered_by)
        title = f"{first.treatment}\nminus {first.baseline}: {queries} in {clusters}"
        tables.append(table_of(comparison_columns(first), pair, title=title, notes=_influence_notes(pair)))
    return with_notes(tables, comparison_notes(comparisons)) if tables else []


def comparison_columns(first: Comparison) -> list[Column]:
    """Return the columns of a table of differences, one `Comparison` a row; JSON and CSV have every field."""
    return [
        Column(name="measure", value=lambda comparison: heading(comparison.measure)),
        number(
            f"{first.headline} difference, 95 % CI",
            lambda comparison: Estimate(comparison.difference, comparison.ci),
            "+.4f",
        ),
        number("p (Holm)", lambda comparison: comparison.p_adjusted, P_VALUE),
        number("win/tie/loss", lambda comparison: f"{comparison.wins}/{comparison.ties}/{comparison.losses}"),
        Column(name="verdict", value=lambda comparison: full_outcome_name(comparison.verdict)),
    ]


def comparison_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return what the tables mean."""
    first = comparisons[0]
    flipped_by = flipped_units(first.clustered_by)
    if first.clustered_by == "query":
        flipped_by = "queries, as no files are named: similar queries count as independent"
    clusters = cluster_count(first.n_clusters, first.clustered_by)
    lines = [
        f"verdict: sign-flip test of the {first.headline} mean{families(comparisons)}",
        f"intervals and tests flip the signs of {flipped_by} at random.",
        f"effective number: the {clusters} count like {first.effective_clusters:.0f} of equal size",
    ]
    outcomes = {c.verdict.outcome for c in comparisons}
    if Outcome.NOT_SIGNIFICANT in outcomes:
        test = "" if first.margin is not None else "; --equivalence MARGIN tests that"
        lines.append(f'"not significant" does not mean equal{test}.')
    lines += adjusted_notes(comparisons)
    if Outcome.EQUAL in outcomes:
        lines.append(EQUAL)
    if Outcome.BORDERLINE in outcomes:
        lines.append(BORDERLINE_NOTE)
    if Outcome.NOT_TESTED in outcomes:
        lines.append("not tested: a ceiling, or a share of judged chunks, does not say how well a run ranks")
    return lines


def families(comparisons: Sequence[Comparison]) -> str:
    """Return how p is adjusted: the primary measure over the pairs, the others among themselves."""
    sizes = {c.primary: c.family for c in comparisons if c.p_adjusted is not None}
    words = []
    if True in sizes:
        measure = next(heading(c.measure) for c in comparisons if c.primary)
        words.append(f"{count(sizes[True], 'pair')} for {measure}")
    if False in sizes:
        words.append(f"{count(sizes[False], 'test')} for other measures")
    return f"; p is corrected (Holm) over {' and over '.join(words)}" if words else ""


def _influence_notes(pair: Sequence[Comparison]) -> list[str]:
    """Return the range of the pair's primary difference when one file, or one repository or period, is left out."""
    return [
        f"{heading(c.measure)}: {ends.low:+.4f} to {ends.high:+.4f} when one {what} is left out{_lost(c, ends)}"
        for c in pair
        for what, ends in ((c.clustered_by, c.by_file), (repository_kind(c.clustered_by), c.by_repository))
        if ends is not None
    ]


def _lost(c: Comparison, ends: Influence) -> str:
    """Return the file, repository or period that a difference depends on; "" if Holm makes it not significant."""
    if ends.rests_on is None or c.verdict.outcome is not Outcome.CARRIED:
        return ""
    return f"; without {ends.rests_on} not significant (p = {ends.p:.2f})"


def comparison_csv(comparisons: Sequence[Comparison], sizes: Mapping[str, Mapping[str, float]]) -> str:
    """One line per pair and measure, every number in full precision; `micro.difference` and so on.

    `sizes` is the name of a run -> the sizes of its chunks.
    """
    rows = []
    for record in TypeAdapter(list[Comparison]).dump_python(list(comparisons), mode="json"):
        of_pair = {
            f"{side} {name}": size for side in ("baseline", "treatment") for name, size in sizes[record[side]].items()
        }
        rows.append(record | {"measure": heading(record["measure"])} | of_pair)
    return as_csv(record_table(rows))


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
    title = f"{over.capitalize()} means on {first.dataset.label}, protocol {first.protocol}"
    for part in PARTS[1:]:
        if (value := getattr(first, part)) and len({getattr(run.metrics, part) for run in runs}) == 1:
            title += f", {part} {value}"
    notes = _paper_notes(comparisons, [heading(name) for name in columns if lower_is_better(name)])
    notes += [CHARACTERS_NOTE] if sizes else []
    return make_table(
        [Column(name="#"), Column(name="run"), *figures(*map(heading, columns), number=_NUMBER), *sizes],
        rows,
        title=title,
        notes=notes,
    )


def _printed(mean: float) -> float:
    """The mean rounded as it is printed: means with the same text are equal."""
    return float(f"{mean:{_NUMBER}}")


def _paper_notes(comparisons: Sequence[Comparison], lower: Sequence[str]) -> list[str]:
    if not comparisons:
        return []
    first = comparisons[0]
    files = cluster_count(first.n_clusters, first.clustered_by)
    primary = next((heading(comparison.measure) for comparison in comparisons if comparison.by_file), "")
    one = f"{first.clustered_by} or {repository_kind(first.clustered_by)}"
    robust = f"; by {primary}, also without any one {one}" if primary else ""
    carried = [
        f"no letter for {heading(comparison.measure)} of {ahead.treatment} over {ahead.baseline}: without one "
        f"{comparison.verdict.carrier.kind}, {comparison.verdict.carrier.name}, it is not significant"
        for comparison in comparisons
        if comparison.verdict.carrier is not None
        for ahead in [comparison if comparison.favours_treatment else comparison.reversed()]
    ]
    of_lower = f" (lower is better: {', '.join(lower)})" if lower else ""
    sure = f"p at most {BORDERLINE[0]}{robust}"
    return [
        f"bold: the best of a column{of_lower}. A letter: better than the run of that letter ({sure}).",
        *carried,
        f"two-sided sign-flip test of the {first.headline} mean over {files}{families(comparisons)}",
    ]
