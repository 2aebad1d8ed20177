"""The verdict in two sentences: who wins under which protocol, by how much, and how sure that is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.diff import SAME
from repoeval_bench.core.errors import UsageError
from repoeval_bench.protocols.leak import copy_note
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.text import count, heading, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.report.page.runs import PageRun


NAMED = 3
"""Runs that the verdict names one by one, nearest first; the rest are in the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The two sentences, notes, and every difference to the run with the highest mean.

    `best` is the position of that run; `clear` whether its lead over every other one is shown.
    """

    who: str
    sure: str
    notes: tuple[str, ...]
    best: int
    clear: bool
    differences: tuple[Comparison, ...]


def verdict(runs: Sequence[PageRun]) -> Verdict:
    """Name the run whose headline mean is highest, and compare every other one with it.

    It was picked from the data that test it, so its pairs are taken out of the family of all pairs, as `compare` has
    it: there p holds for every run that could be picked.
    """
    metrics = runs[0].stored.metrics
    over, measure = metrics.headline, headline_measure([run.stored for run in runs])
    means = [run.stored.metrics.over(over)[measure] for run in runs]
    best = max(range(len(runs)), key=lambda i: means[i])
    where = f"under protocol {metrics.protocol}"
    what = f"{_words(measure)} ({over} mean)"
    if len(runs) == 1:
        share = _share(runs[0], measure)
        return Verdict(
            who=f"{runs[0].short} reaches a {what} of {means[0]:.3f} {where}{share}.",
            sure="One run alone says nothing about other chunkers: give a second one to compare it with.",
            notes=_notes(runs),
            best=0,
            clear=False,
            differences=(),
        )
    others = [i for i in sorted(range(len(runs)), key=lambda i: -means[i]) if i != best]
    # The best is first, so that its pairs are all other runs minus the best.
    family = compare([runs[i].stored for i in (best, *others)])
    differences = [each for each in family if each.baseline == runs[best].name]
    of_headline = {each.treatment: each for each in differences if each.measure == measure}
    against = {i: of_headline[runs[i].name] for i in others}
    clear = all(each.is_shown for each in against.values())
    leads = _listed(
        [f"{_digits(-each.difference)} over {runs[i].short}{_interval(each)}" for i, each in against.items()]
    )
    near = runs[others[0]].short
    if abs(against[others[0]].difference) < SAME:
        equal = f"{runs[best].short} and {near} reach the same highest {what}, {means[best]:.3f}"
        who = f"No winner is shown {where}: {equal}."
    elif clear:
        who = f"{runs[best].short} wins {where}: its {what} is {means[best]:.3f}, ahead by {leads}."
    elif against[others[0]].is_shown:
        who = f"{runs[best].short} leads {where}: its {what} is {means[best]:.3f}, ahead by {leads}."
    else:
        nearest = against[others[0]]
        doubt = nearest.verdict if nearest.rests_on_one else "may be chance"
        who = (
            f"No winner is shown {where}: {runs[best].short} has the highest {what}, {means[best]:.3f}, but its lead "
            f"over {near} {doubt}; it is ahead by {leads}."
        )
    return Verdict(
        who=who,
        sure=_sure(runs, against),
        notes=_notes(runs),
        best=best,
        clear=clear,
        differences=tuple(differences),
    )


def family_words(runs: Sequence[PageRun], one: Comparison) -> str:
    """How many tests p is adjusted for, and what they are; `one` is any of them."""
    pairs = len(runs) * (len(runs) - 1) // 2
    measures = count(one.family // pairs, "measure")
    return count(one.family, "test") + (f" ({measures} of each of the {pairs} pairs of runs)" if pairs > 1 else "")


def _sure(runs: Sequence[PageRun], against: dict[int, Comparison]) -> str:
    first = next(iter(against.values()))
    shown = [i for i, each in against.items() if each.is_shown]
    carried = [i for i, each in against.items() if each.rests_on_one]
    rest = [i for i in against if i not in (*shown, *carried)]

    def listed(which: Sequence[int]) -> str:
        return _listed([f"{runs[i].short} (p = {probability(against[i].p_adjusted)})" for i in which])

    parts = []
    if shown:
        parts.append(f"the lead over {listed(shown)} is beyond chance")
    parts += [f"the lead over {listed([i])} {against[i].verdict}, without which none is shown" for i in carried]
    if rest:
        parts.append(f"the lead over {listed(rest)} is not shown to be more than chance, which does not mean equal")
    text = ", ".join(parts)
    test = f"sign-flip test over {count(first.n_clusters, _noun(first.clustered_by))} with {first.n_queries} queries"
    text = text.replace("p = <", "p < ")
    return f"{text[0].upper()}{text[1:]}: {test}, Holm over {family_words(runs, first)}."


def _notes(runs: Sequence[PageRun]) -> tuple[str, ...]:
    lines = []
    metrics = [run.stored.metrics for run in runs]
    sizes = [each.chunk_nws.mean for each in metrics if each.chunk_nws]
    if len(sizes) == len(runs) > 1 and max(sizes) > 1.05 * min(sizes):
        named = ", ".join(f"{run.short} {size:.0f}" for run, size in zip(runs, sizes, strict=True))
        lines.append(
            f"Chunks are not of one size (mean non-whitespace characters: {named}), and size alone moves scores; "
            "--match-size removes that."
        )
    cautions = [copy_note(metrics[0].gold_in_query)]
    with suppress(UsageError):  # an imported run's protocol has no text of ours
        cautions.append(Protocol.parse(metrics[0].protocol).caution)
    if said := "; ".join(filter(None, cautions)):
        lines.append(f"Protocol {metrics[0].protocol}: {said}.")
    return tuple(lines)


def _share(run: PageRun, measure: str) -> str:
    share = run.stored.metrics.shares_of_ceiling.get(measure)
    return "" if share is None else f", {share:.0%} of what a greedy ranker that knows the gold reaches"


def _interval(each: Comparison) -> str:
    return "" if each.ci is None else f" (95 % CI {_digits(-each.ci[1], '+')} to {_digits(-each.ci[0], '+')})"


def _listed(pieces: Sequence[str]) -> str:
    """`a, b and c`; of many the first ones, and how many there are beside."""
    if len(pieces) > NAMED + 1:
        return f"{', '.join(pieces[:NAMED])} and {len(pieces) - NAMED} others"
    return " and ".join(filter(None, (", ".join(pieces[:-1]), pieces[-1])))


def _digits(value: float, sign: str = "-") -> str:
    """Three digits, and no minus before a zero."""
    return f"{round(value, 3) + 0.0:{sign}.3f}"


def _words(measure: str) -> str:
    return {
        "line_recall_auc": "line recall over all budgets",
        "line_rprec": "line recall at the gold's own size",
    }.get(measure, heading(measure))


def _noun(clustered_by: str) -> str:
    return "cluster" if clustered_by == "query" else clustered_by
