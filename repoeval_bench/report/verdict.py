"""Verdicts in words: at most four lines on the winner, and notes on the tests and on other causes of scores.

`compare`, `eval`, `run`, the page and Python all say it in these words.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.records import Comparison, Interval, Outcome
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS, FEWEST_CLUSTERS, fewest_clusters
from repoeval_bench.analysis.verdicts import Choice, Result, Rival, Verdict, verdict_on
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count, few
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.queries import copy_note
from repoeval_bench.report.scores import unanswered_notes
from repoeval_bench.report.text import (
    BORDERLINE_NOTE,
    EQUAL,
    GROUPS_NOTE,
    cluster_count,
    elided,
    heading,
    outcome_name,
    probability,
    short_names,
)
from repoeval_bench.runs.naming import full_spec
from repoeval_bench.runs.query_scores import GROUP, SAME
from repoeval_bench.runs.view import RunView

# Leads that the verdict gives with their intervals; of more runs only the nearest.
_INTERVALS = 2

# A note gives the sizes of up to this many runs one by one, and the range of more.
_SIZES = 4

# The ratio that sizes can have after --match-size, which brings each within 5 % of one target.
_MATCHED = 1.05 / 0.95

NAMED = 5
"""Runs that a sentence names one by one."""

# Most characters of a run's name in the verdict, so that it fits in four lines.
_LONGEST = 28


UNCORRECTED = "The interval is not corrected."
"""The sentence of a verdict where p is corrected and the interval beside it, which excludes 0, is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedVerdict:
    """A verdict in words: `text` of at most four lines of 80 columns, caveats, notes on the tests, and the record.

    `reference` is the position of the record's reference among the runs.
    """

    text: str
    notes: tuple[str, ...]
    tests: tuple[str, ...]
    record: Verdict
    reference: int


def verdict(runs: Sequence[RunView], comparisons: Sequence[Comparison] = (), *, failed: int = 0) -> WordedVerdict:
    """Return the verdict that `comparisons` give: those of all pairs, or of all with a baseline.

    Without any, the best run is compared with all others by the headline; the verdict is the same as that of all pairs.
    `failed` is the number of runs of the same question that failed and are not in it.
    """
    record = verdict_on(runs, comparisons)
    ids = [run.run_id for run in runs]
    short = dict(zip(ids, [elided(name, _LONGEST) for name in short_names(run_names(runs))], strict=True))
    return WordedVerdict(
        text=_alone(runs[0], short[runs[0].run_id], record) if len(runs) == 1 else verdict_text(record, short),
        notes=(
            *([f"not compared, because they failed: {count(failed, 'other run')}"] if failed else []),
            *unanswered_notes(runs, record.measure),
            *_cautions(runs, [*short.values()]),
            *_doubts(record),
            *_truncated(runs),
        ),
        tests=tuple(_tests(record)),
        record=record,
        reference=ids.index(record.reference.run_id),
    )


def verdict_text(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Say who wins, by how much and how sure that is, of two runs or more; `names` is run id -> what to call it."""
    what, where = heading(verdict.measure), f"under protocol {verdict.protocol}"
    best, reached = names[verdict.reference.run_id], f"{verdict.reference.mean:.3f} on {what}"
    match verdict.result:
        case Result.NOTHING_FOUND:
            zero = f"the {verdict.over} mean of {what} is 0 for each of them"
            way_out = "So there is nothing to compare; repoeval-bench logs diagnose looks for the reason."
            return f"No run retrieved a target {where}: {zero}. {way_out}"
        case Result.BASELINE:
            by_name = {pair.treatment: pair for pair in verdict.differences if pair.measure == verdict.measure}
            pieces = [
                f"{names[rival.run.run_id]} {_estimate(pair.difference, pair.ci, '+')}, {outcome_name(pair.verdict)}"
                for rival in verdict.others
                for pair in [by_name[rival.run.name]]
            ]
            more = len(pieces) - _INTERVALS
            beside = "; ".join([*pieces[:_INTERVALS], *([count(more, "other")] if more > 0 else [])])
            return f"Against the baseline {best} ({reached}) {where}: {beside}."
        case Result.TIED:
            second, *level = [names[rival.run.run_id] for rival in verdict.others if abs(rival.lead) < SAME]
            first = (
                f"{best}, {second} and {count(len(level), 'other')} are" if level else f"{best} and {second} are both"
            )
            return f"No winner {where}: {first} first with {reached}."
        case Result.NOT_TESTED:
            return (
                f"{best} is first with {reached} {where}. {what} is not tested: it does not say how well a run ranks."
            )
        case Result.WINNER:
            leads, sure = _ahead(verdict.others, names), _p(max(rival.p_adjusted or 0.0 for rival in verdict.others))
            both = {1: "The lead is", 2: "Both leads are"}.get(
                len(verdict.others), f"All {len(verdict.others)} leads are"
            )
            sure = sure if len(verdict.others) == 1 else sure.replace("=", "at most")
            return f"{best} wins {where} with {reached}: it is {leads}. {both} significant ({sure})."
        case Result.CARRIED:
            leads = _ahead(verdict.others, names)
            return f"No clear winner {where}: {best} is first with {reached}. It is {leads}. {_carried(verdict, names)}"
        case _:
            says = f"No significant {'winner' if len(verdict.others) > 1 else 'difference'}"
            if all(rival.verdict.outcome is Outcome.BORDERLINE for rival in verdict.close):
                says = "Borderline"
            return f"{says} {where}: {best} is first with {reached}. It is {_close(verdict, names)}"


def _ahead(others: Sequence[Rival], names: Mapping[str, str]) -> str:
    """Return how far the best is ahead, the nearest first."""
    leads = [f"{_estimate(rival.lead, rival.ci)} ahead of {names[rival.run.run_id]}" for rival in others[:_INTERVALS]]
    more = len(others) - _INTERVALS
    return " and ".join(leads) if more <= 0 else f"{', '.join(leads)} and further ahead of {count(more, 'other')}"


def _carried(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return the sentence on the first lead that is not significant without one file or repository."""
    rival, carrier = next((rival, rival.verdict.carrier) for rival in verdict.others if rival.verdict.carrier)
    one = f"one {carrier.kind}, {elided(carrier.name, _LONGEST)}"
    lead = "this lead" if len(verdict.others) == 1 else f"the lead over {names[rival.run.run_id]}"
    return f"If {one}, is left out, {lead} is not significant ({_p(carrier.p)})."


def _close(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return which runs may be as good as the best, and which are not."""
    first, *rest = [rival for rival in verdict.close if rival.verdict.outcome is not Outcome.CARRIED]
    sure = _p(first.p_adjusted)
    is_surprising = first.ci and not first.ci[0] <= 0 <= first.ci[1]
    if is_surprising:
        sure = f"corrected {sure}"
    nearest = f"{_estimate(first.lead, first.ci)} ahead of {names[first.run.run_id]} ({sure})"
    text = f"{nearest}." if not rest else f"{nearest}; {_short_list(rest, names)} may be as good too."
    if carried := [rival for rival in verdict.others if rival.verdict.outcome is Outcome.CARRIED]:
        kind = carried[0].verdict.carrier.kind if carried[0].verdict.carrier else "cluster"
        text += (
            f" Its lead over {_short_list(carried, names)} rests on one {kind}, without which it is not significant."
        )
    if verdict.significantly_worse:
        text += f" Significantly worse: {_short_list(verdict.significantly_worse, names)}."
    return f"{text} {UNCORRECTED}" if is_surprising else text


def _short_list(rivals: Sequence[Rival], names: Mapping[str, str]) -> str:
    """Return one or two by name; for more, the first and the number of others."""
    first, *rest = [names[rival.run.run_id] for rival in rivals]
    return f"{first} and {count(len(rest), 'other')}" if len(rest) > 1 else " and ".join([first, *rest])


def _alone(run: RunView, name: str, verdict: Verdict) -> str:
    what, where, mean = heading(verdict.measure), f"under protocol {verdict.protocol}", verdict.reference.mean
    if verdict.result is Result.NOTHING_FOUND:
        sentence = f"{name} scores 0 {where}: its {verdict.over} mean of {what}."
    else:
        share = run.metrics.shares_of_ceiling.get(verdict.measure)
        near = "the score of a near-optimal ranking of its chunks"
        ceiling = "" if share is None else f", {100 * share:.0f} % of its ceiling ({near})"
        sentence = f"{name} scores {mean:.3f} on {what} {where}{ceiling}."
    return f"{sentence} To judge this score, compare it with a second run."


def _tests(verdict: Verdict) -> list[str]:
    """Return notes on the tests; none where nothing was tested."""
    if not verdict.others or verdict.others[0].p_adjusted is None:
        return []
    clusters = cluster_count(verdict.n_clusters, verdict.clustered_by)
    lines = [
        f"p: sign-flip test of the {verdict.over} mean over {count(verdict.n_queries, 'query')}, in {clusters}"
        + (f", corrected for {count(verdict.family, 'test')} (Holm)" if verdict.family > 1 else "")
    ]
    return [*lines, GROUPS_NOTE] if verdict.clustered_by == GROUP else lines


def _doubts(verdict: Verdict) -> list[str]:
    """Return notes on what could change the verdict."""
    if not verdict.others:
        return []
    lines, verdicts = [], [pair.verdict for pair in verdict.others]
    clusters = cluster_count(verdict.n_clusters, verdict.clustered_by)
    needed = fewest_clusters(verdict.family)
    among = f" among {count(verdict.family, 'test')}" if verdict.family > 1 else ""
    if verdict.n_clusters < needed:
        lines.append(f"with only {clusters}, no difference{among} can be significant; at least {needed} are needed")
    if FEWEST_CLUSTERS <= verdict.n_clusters < FEW_CLUSTERS:
        lines.append(
            f"with only {clusters}, 95 % intervals are too narrow: in samples of RepoEval's files, 87 to 89 % contain "
            "the true value"
        )
    if any(pair.outcome is Outcome.EQUAL for pair in verdicts):
        lines.append(EQUAL)
    if any(pair.outcome is Outcome.BORDERLINE for pair in verdicts):
        lines.append(BORDERLINE_NOTE)
    return lines


def _cautions(runs: Sequence[RunView], short: Sequence[str]) -> list[str]:
    """Return notes on other causes of the scores: sizes that differ, and a query that contains its target."""
    lines, metrics = [], [run.metrics for run in runs]
    sizes = [of_run.chunk_nws.mean for of_run in metrics if of_run.chunk_nws]
    if len(sizes) == len(runs) > 1 and max(sizes) > 1.05 * min(sizes):
        named = ", ".join(f"{name} {size:,.0f}" for name, size in zip(short, sizes, strict=True))
        if len(sizes) > _SIZES:
            named = f"{min(sizes):,.0f} to {max(sizes):,.0f}"
        is_matched = max(sizes) <= _MATCHED * min(sizes)
        remedy = "" if is_matched else _size_remedy({of_run.chunker for of_run in metrics})
        lines.append(
            f"mean chunk sizes differ ({named} characters without whitespace), and size alone affects scores{remedy}"
        )
    lines.append(copy_note(metrics[0].gold_in_query))
    with suppress(UsageError):  # an imported run's protocol has no text of ours
        lines.append(Protocol.parse(metrics[0].protocol).caution)
    return [line for line in lines if line]


def _size_remedy(chunkers: Collection[str]) -> str:
    """Return what makes the sizes of these chunkers equal, if it is possible: a size that all can take.

    >>> _size_remedy(["ast:max_nws=652,min_nws=50,overlap=0,language=auto", "fixed:max_nws=1500,offset=0"])
    '; to compare at equal sizes, name chunkers by -c and add --match-size ast:max_nws=652'
    """
    unsized = sorted(spec for spec in chunkers if chunker_size(spec) is None)
    if len({chunker_name(spec) for spec in chunkers}) == 1 or len(unsized) > 1:
        return ""
    first = (unsized or sorted(chunkers))[0]
    is_default = full_spec(chunker_name(first)) == first
    named = chunker_name(first, sized=not is_default)
    return f"; to compare at equal sizes, name chunkers by -c and add --match-size {named}"


def _truncated(runs: Sequence[RunView]) -> list[str]:
    """Return a note on the run of which the model reads least: how many texts it does not read whole."""
    counts = [run.metrics.counts for run in runs if not run.metrics.imported]
    most = max(counts, key=lambda of_run: (of_run.chunks_truncated or 0) / max(1, of_run.chunks), default=None)
    if most is None or not (most.queries_truncated or most.chunks_truncated):
        return []
    up_to = "up to " if len(counts) > 1 else ""
    return [
        f"the embedding model truncated {up_to}{most.queries_truncated or 0:,} of {most.queries:,} queries and "
        f"{most.chunks_truncated or 0:,} of {most.chunks:,} chunks"
    ]


def _p(p: float | None) -> str:
    return f"p = {probability(p)}".replace("= <", "< ")


def _estimate(value: float, ci: Interval, sign: str = "-") -> str:
    """Three digits, no minus before a zero; an end just below zero keeps its minus, as in the table."""
    ends = "" if ci is None else f" [{ci[0] + 0.0:{sign}.3f}, {ci[1] + 0.0:{sign}.3f}]"
    return f"{round(value, 3) + 0.0:{sign}.3f}{ends}"


def choice_sentences(choice: Choice) -> list[str]:
    """Return sentences on the tests of the best run, and on the runs that may be as good."""
    candidates, verdict = choice.candidates, choice.verdict
    names = short_names([candidate.run for candidate in candidates])
    short = dict(zip((candidate.run_id for candidate in candidates), names, strict=True))
    lines = [verdict_text(verdict, short)]
    if verdict.result in (Result.NOT_SIGNIFICANT, Result.TIED):
        cheap = f", the cheapest first ({choice.cost_unit} per query)" if choice.cost_unit else ""
        lines.append(f"may be as good{cheap}: {few([short[candidate.run_id] for candidate in choice.close], NAMED)}")
    return lines
