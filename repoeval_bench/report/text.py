"""Spellings of measures, runs and numbers in every output."""

from collections.abc import Iterable, Sequence

from repoeval_bench.analysis.records import Comparison, Interval, Outcome, PairVerdict
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count, one_line, plural
from repoeval_bench.metrics import CEILING, SHARE, measure_of
from repoeval_bench.runs.query_scores import GROUP, SOURCE_FILE
from repoeval_bench.runs.request import NO_EMBEDDER

BETWEEN = " · "
"""Separates the parts of a run's name."""

LONGEST = 40
"""Characters of a name in a figure; the middle of a longer one is left out."""

_RETRIEVERS = {"bm25": "BM25", "dense": "the embedding model"}

CHARACTERS_NOTE = "characters are counted without whitespace"
"""The one footnote of every output that counts characters."""

GROUPS_NOTE = "files that share a query count as one group"
"""The note where clusters are groups of files."""

EQUAL = '"equal within" is shown for these files only; rare files with large differences may be missing from the sample'
"""The note where two means are called equal."""

BORDERLINE_NOTE = "borderline: corrected p is so near 0.05 that another seed or processor may give another verdict"
"""The note on borderline verdicts."""

NO_POINTS = "less than 0.1 points"

_NAMES = {
    "ndcg": "nDCG",
    "target_ndcg": "target nDCG",
    "recall": "R",
    "precision": "P",
    "hit": "Hit",
    "mean_nws": "mean characters",
    "distinct_files": "files",
    "mrr": "MRR",
    "ap": "MAP",
    "line_recall": "lines",
    "line_rprec": "lines R-prec",
    "line_recall_auc": "lines found",
    "definition_recall": "definitions",
    "definition_recall_auc": "definitions found",
    "exact_match": "exact match",
    "edit_similarity": "edit similarity",
    "identifier_f1": "identifier F1",
}


LOSSES = {
    "chunks_merged": "documents merged into an identical one",
    "pairs_truncated": "pairs of query and chunk truncated by the reranker",
    "files_skipped": "files the chunker failed on, left out of all queries or one",
    "files_undecodable": "files that are not UTF-8, left out",
    "lines_uncovered": "non-blank lines in no chunk",
}
"""Counts of a run that a reader should know of, in words, in the order they are shown."""


def retriever_name(retriever: str) -> str:
    """Return a retriever as sentences name it."""
    return _RETRIEVERS.get(retriever, retriever)


def heading(measure: str) -> str:
    """A measure's name as a column heading: `ndcg@10` as `nDCG@10`."""
    # The mean of the queries' shares is not the share of the means that the score tables show as % of ceiling.
    for ending, words in ((CEILING, "ceiling"), (SHARE, "mean % of ceiling")):
        if measure.endswith(ending):
            return f"{heading(measure.removesuffix(ending))} {words}"
    name, sign, rest = measure.partition("@")
    return _NAMES.get(name, name) + sign + rest


# The measures that decide, in words; each counts characters without whitespace.
_MEANINGS = {
    "line_recall_auc": "share of the target lines retrieved, averaged over budgets up to 12,000 characters",
    "definition_recall_auc": "share of the target definitions retrieved, averaged over budgets up to 12,000 characters",
    "line_rprec": "share of the target lines retrieved when the budget is the target's own size in characters",
}


def meaning_of(measure: str) -> str:
    """Return what a measure that decides means, with its unit; nothing for the well-known ones."""
    said = _MEANINGS.get(measure)
    return f"{heading(measure)}: {said} without whitespace" if said else ""


def explained(measure: str) -> str:
    """Return what any measure means, for a page that has room for it."""
    known = measure_of(measure)
    said = f"{heading(measure)}: {known.definition.meaning.rstrip('.')}" if known else heading(measure)
    return meaning_of(measure) or said


def outcome_name(verdict: PairVerdict) -> str:
    """Return what a verdict is called in a cell: `better`, `rests on one file`, `equal within 0.02`."""
    if verdict.carrier is not None:
        return f"rests on one {verdict.carrier.kind}"
    if verdict.outcome is Outcome.EQUAL:
        return f"equal within {verdict.within:g}"
    return verdict.outcome.replace("_", " ")


def full_outcome_name(verdict: PairVerdict) -> str:
    """The same with the name of the file, repository or period that carries the difference."""
    return outcome_name(verdict) + ("" if verdict.carrier is None else f", {verdict.carrier.name}")


def adjusted_notes(comparisons: Iterable[Comparison]) -> list[str]:
    """Return a note if a difference is not significant although its interval excludes 0; else nothing."""
    undecided = (Outcome.NOT_SIGNIFICANT, Outcome.BORDERLINE)
    sizes: dict[bool, int] = {}
    is_explained, near = True, ""
    for c in comparisons:
        sizes[c.primary] = max(sizes.get(c.primary, 1), c.family)
        is_explained &= c.verdict.outcome not in undecided or c.ci is None or c.ci[0] <= 0 <= c.ci[1]
        near = " (borderline: p is near 0.05)" if c.verdict.outcome is Outcome.BORDERLINE else near
    if is_explained:
        return []
    tests = [
        f"{sizes[primary]:,} for {whose}"
        for primary, whose in ((True, "the headline measure"), (False, "all others together"))
        if primary in sizes
    ]
    return [
        f"p is corrected for the small number of files and for the number of tests ({', '.join(tests)}); intervals are "
        f"not, so they can exclude 0 without significance{near}"
    ]


def with_interval(value: float, ci: Interval, number: str = ".4f") -> str:
    """A number with its interval, `0.0123 [0.0001, 0.0245]`; `number` is the format of all three."""
    return f"{value:{number}} {interval(ci, number)}"


def in_points(loss: float) -> str:
    """Return a difference of scores in points of a hundred: `0.5 points`."""
    shown = f"{max(0.0, 100 * loss):.1f}"
    return NO_POINTS if shown == "0.0" else f"{shown} {'point' if shown == '1.0' else 'points'}"


def more_points(difference: float) -> str:
    """Return how much more or less is found: `0.5 points less`."""
    points = in_points(abs(difference))
    return "about as much" if points == NO_POINTS else f"{points} {'more' if difference > 0 else 'less'}"


def ends_in_points(ends: Interval) -> str:
    """Return the interval of what `more_points` says, with its direction in words.

    >>> ends_in_points((-0.021, 0.034))
    ' (95 % interval: 2.1 less to 3.4 more)'
    >>> ends_in_points((-0.034, -0.021))
    ' (95 % interval: 2.1 to 3.4 less)'
    >>> ends_in_points((-0.0003, 0.0004))
    ' (95 % interval: within 0.05)'
    """
    if ends is None:
        return " (too few files for an interval)"
    if max(map(abs, ends)) < 0.0005:
        return " (95 % interval: within 0.05)"
    (low, less), (high, more) = ((f"{100 * abs(end):.1f}", "less" if end < 0 else "more") for end in ends)
    if less != more:
        return f" (95 % interval: {low} less to {high} more)"
    first, last = (low, high) if more == "more" else (high, low)
    return f" (95 % interval: {first} to {last} {more})"


def interval(ci: Interval, number: str = ".4f") -> str:
    """An interval alone: `[0.0001, 0.0245]`, or `[too few files]`."""
    return "[too few files]" if ci is None else f"[{ci[0]:{number}}, {ci[1]:{number}}]"


def probability(p: float | None) -> str:
    """A p-value with four digits, `<0.0001` for a smaller one, and a dash where nothing was tested."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def cluster_count(number: int, clustered_by: str) -> str:
    """Return the number of clusters in words: `113 files`, or `20 clusters` where each query is one."""
    return count(number, "cluster" if clustered_by == "query" else clustered_by)


def flipped_units(clustered_by: str) -> str:
    """Return what tests flip the signs of: `files`, `groups of files`, `groups of one conversation`."""
    return plural(clustered_by) if clustered_by in {"file", SOURCE_FILE, GROUP} else f"groups of one {clustered_by}"


def short_names(names: Sequence[str]) -> list[str]:
    """Each name without the options that all of its kind share; the full names where short ones would be equal.

    An embedder that only some of the runs use is left out too: the retriever distinguishes them. A name that is no
    spec, such as a label or a run's id, stays as it is.

    >>> short_names(["ast:max_nws=1500,overlap=0", "fixed:max_nws=1500,offset=0", "fixed:max_nws=800,offset=0"])
    ['ast', 'fixed:max_nws=1500', 'fixed:max_nws=800']
    >>> short_names(["minilm · dense", "none · bm25:k1=1.2", "Ours (blank lines)"])
    ['dense', 'bm25', 'Ours (blank lines)']
    """
    parts_of = {name: name.split(BETWEEN) for name in names if all(map(_is_spec, name.split(BETWEEN)))}
    columns = [_shorten(column) for column in zip(*parts_of.values(), strict=False)]
    for shown in ([c for c in columns if NO_EMBEDDER not in c or len(set(c)) > 2], columns):
        short = dict(zip(parts_of, map(BETWEEN.join, zip(*shown, strict=True)), strict=False))
        if len({short.get(name, name) for name in names}) == len({*names}):
            return [short.get(name, name) for name in names]
    return list(names)


def _is_spec(text: str) -> bool:
    try:
        Spec.parse(text)
    except SpecError:
        return False
    return True


def _shorten(column: Sequence[str]) -> list[str]:
    specs = [Spec.parse(text) for text in column]
    short = []
    for spec in specs:
        same = [other.params for other in specs if (other.name, other.target) == (spec.name, spec.target)]
        differing = {
            key: value for key, value in spec.params.items() if any(params.get(key) != value for params in same)
        }
        short.append(str(Spec(spec.name, spec.target, differing)))
    return short


def elided(name: str, longest: int = LONGEST) -> str:
    """The name on one line, with the middle of a long one left out."""
    name = one_line(name)
    if len(name) <= longest:
        return name
    n_shown = longest - 1
    return f"{name[: n_shown - n_shown // 2]}…{name[len(name) - n_shown // 2 :]}"
