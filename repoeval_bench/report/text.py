"""Spellings of measures, runs and numbers in every output."""

from collections.abc import Iterable, Sequence

from repoeval_bench.analysis.records import Comparison, Interval, Outcome, PairVerdict
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count, plural
from repoeval_bench.metrics import CEILING, SHARE, Measure
from repoeval_bench.metrics.measure import UNREGISTERED
from repoeval_bench.runs.query_scores import GROUP
from repoeval_bench.runs.request import NO_EMBEDDER

BETWEEN = " · "
"""Separates the parts of a run's name."""

LONGEST = 40
"""Characters of a name in a figure; the middle of a longer one is left out."""

CHARACTERS_NOTE = "characters are counted without whitespace"
"""The one footnote of every output that counts characters."""

GROUPS_NOTE = "files that are targets of one query count as one group"
"""The note where clusters are groups of files."""

EQUAL = '"equal within" covers only the files in the sample: a rare file that differs by much may not be among them'
"""The note where two means are called equal."""

BORDERLINE_NOTE = "borderline: the adjusted p is so near 0.05 that another seed or processor may decide otherwise"
"""The note where a test decides nothing."""

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


COUNTS = {
    "queries": "queries",
    "queries_truncated": "queries truncated by the model",
    "queries_tokens": "tokens of the queries",
    "queries_tokens_lost": "tokens of the queries that the model does not read",
    "queries_without_relevant": "queries with no relevant chunk",
    "queries_not_in_log": "queries that are not in the log",
    "queries_without_gold": "logged queries without target lines",
    "queries_no_answer": "queries that no chunk answers, not scored",
    "gold_names": "files or chunk ids in the judgements",
    "gold_names_known": "files or chunk ids of the judgements that the log or the corpus has",
    "tasks_unscored": "further tasks without a query or target under the protocol, not scored",
    "chunks": "chunks",
    "chunks_truncated": "chunks truncated by the model",
    "chunks_tokens": "tokens of the chunks",
    "chunks_tokens_lost": "tokens of the chunks that the model does not read",
    "chunks_duplicate": "chunks whose text repeats another chunk",
    "chunks_merged": "documents merged into an identical one",
    "pairs": "pairs of query and chunk that the reranker read",
    "pairs_truncated": "pairs of query and chunk truncated by the reranker",
    "files": "files",
    "files_skipped": "files the chunker failed on, left out of all queries or one",
    "files_undecodable": "files that are not UTF-8, left out",
    "lines_uncovered": "non-blank lines in no chunk",
}
"""Counts of a run in words, in the order they are shown; a count that is not here is shown by its own name."""


def heading(measure: str) -> str:
    """A measure's name as a column heading: `ndcg@10` as `nDCG@10`."""
    # The mean of the queries' shares is not the share of the means that the score tables show as % of ceiling.
    for ending, words in ((CEILING, "ceiling"), (SHARE, "mean share")):
        if measure.endswith(ending):
            return f"{heading(measure.removesuffix(ending))} {words}"
    name, sign, rest = measure.partition("@")
    return _NAMES.get(name, name) + sign + rest


_MEANINGS = {
    "line_recall_auc": "share of the target lines retrieved, averaged over budgets up to 12,000 characters",
    "definition_recall_auc": "share of the needed definitions retrieved, averaged over budgets up to 12,000 characters",
    "line_rprec": "share of the target lines retrieved once as many characters are read as the target has",
}
"""The measures that decide, in words; each counts characters without whitespace."""


def meaning_of(measure: str) -> str:
    """Return what a measure that decides means, with its unit; nothing for the well-known ones."""
    said = _MEANINGS.get(measure)
    return f"{heading(measure)}: {said} without whitespace" if said else ""


def explained(measure: str) -> str:
    """Return what any measure means, for a page that has room for it."""
    known = not measure.endswith((CEILING, SHARE)) and measure not in UNREGISTERED
    return meaning_of(measure) or (
        f"{heading(measure)}: {Measure.parse(measure).definition.meaning.rstrip('.')}" if known else heading(measure)
    )


_OUTCOMES = {
    Outcome.BETTER: "better",
    Outcome.WORSE: "worse",
    Outcome.BORDERLINE: "borderline",
    Outcome.NOT_SIGNIFICANT: "not significant",
    Outcome.NOT_TESTED: "not tested",
}


def outcome_name(verdict: PairVerdict) -> str:
    """Return what a verdict is called in a cell: `better`, `from one file`, `equal within 0.02`."""
    if verdict.carrier is not None:
        return f"from one {verdict.carrier.kind}"
    if verdict.outcome is Outcome.EQUAL:
        return f"equal within {verdict.within:g}"
    name = _OUTCOMES[verdict.outcome]
    return name if verdict.within is None else f"{name}, but within {verdict.within:g}"


def full_outcome_name(verdict: PairVerdict) -> str:
    """The same with the name of the file or repository that carries the difference."""
    return outcome_name(verdict) + ("" if verdict.carrier is None else f", {verdict.carrier.name}")


def adjusted_notes(comparisons: Iterable[Comparison]) -> list[str]:
    """Return a note if a difference is not significant although its interval excludes 0; else nothing."""
    undecided = (Outcome.NOT_SIGNIFICANT, Outcome.BORDERLINE)
    tests = [c.family for c in comparisons if c.verdict.outcome in undecided and c.ci and not c.ci[0] <= 0 <= c.ci[1]]
    if not tests:
        return []
    many = f"{max(tests)} tests and for " if max(tests) > 1 else ""
    return [
        f'p is adjusted for {many}few files; intervals are not, so an interval may exclude 0 beside "not significant"'
    ]


def with_interval(value: float, ci: Interval, number: str = ".4f") -> str:
    """A number with its interval, `0.0123 [0.0001, 0.0245]`; `number` is the format of all three."""
    return f"{value:{number}} {interval(ci, number)}"


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
    return plural(clustered_by) if clustered_by in {"file", "source file", GROUP} else f"groups of one {clustered_by}"


def short_names(names: Sequence[str]) -> list[str]:
    """Each name without the options that all of its kind share; the full names where short ones would be equal.

    An embedder that only some of the runs use is left out too: the retriever distinguishes them. A name that is no
    spec, such as a label or a run's id, stays as it is.

    >>> short_names(["ast:max_nws=1500,overlap=0", "fixed:max_nws=1500,offset=0", "fixed:max_nws=800,offset=0"])
    ['ast', 'fixed:max_nws=1500', 'fixed:max_nws=800']
    >>> short_names(["minilm · dense", "none · bm25:k1=1.2", "Ours (blank lines)"])
    ['dense', 'bm25', 'Ours (blank lines)']
    """
    by_parts: dict[int, list[list[str]]] = {}
    for name in names:
        parts = name.split(BETWEEN)
        if all(map(_is_spec, parts)):
            by_parts.setdefault(len(parts), []).append(parts)
    columns_of = {size: list(map(_shorten, zip(*group, strict=True))) for size, group in by_parts.items()}
    for all_parts in (False, True):
        short = {name: name for name in names}
        for size, columns in columns_of.items():
            shown = [c for c in columns if all_parts or NO_EMBEDDER not in c or len(set(c)) > 2]
            full = [BETWEEN.join(parts) for parts in by_parts[size]]
            short |= dict(zip(full, map(BETWEEN.join, zip(*shown, strict=True)), strict=bool(shown)))
        if len(set(short.values())) == len(names):
            return [short[name] for name in names]
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


def printable(text: str) -> str:
    """The text with characters that cannot be shown (control characters, lone surrogates) as `?`."""
    return "".join(char if char.isprintable() else "?" for char in text)


def elided(name: str, longest: int = LONGEST) -> str:
    """The name, `printable`, with the middle of a long one left out."""
    name = printable(name)
    if len(name) <= longest:
        return name
    n_shown = longest - 1
    return f"{name[: n_shown - n_shown // 2]}…{name[len(name) - n_shown // 2 :]}"
