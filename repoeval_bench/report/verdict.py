"""The verdict in a few sentences: who wins under which protocol, by how much, how sure that is, and its cautions.

`compare`, `eval`, `recommend`, the page and Python all say it in these words.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import headline_measure, run_names
from repoeval_bench.analysis.comparison import compare, pairs_with
from repoeval_bench.analysis.diff import SAME
from repoeval_bench.analysis.records import scores_nothing
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS, FEWEST_CLUSTERS, fewest_clusters
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.protocols.leak import copy_note
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.text import EQUAL, cluster_count, found_nothing, heading, probability, short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Interval
    from repoeval_bench.runs.view import RunView


NAMED = 3
"""Runs that the verdict names one by one, nearest first; the rest are in the tables."""


_NOTHING = "So there is nothing to compare; repoeval-bench diagnose looks for the reason."


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The sentences, the cautions, and every difference to the run that the others are compared with.

    `reference` is the position of that run: the one with the best mean, or the baseline that was asked for. `clear`
    says whether the best mean's lead over every other one is shown. `measure` is what decides. Where every run scores
    0, `who` names none.
    """

    who: str
    sure: str
    notes: tuple[str, ...]
    measure: str
    reference: int
    clear: bool
    differences: tuple[Comparison, ...]

    @property
    def text(self) -> str:
        """One paragraph."""
        return " ".join([self.who, self.sure, *self.notes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A run that is behind: by how much, and whether the test tells it from the best; else why not, if it is known.

    `ci` is the interval of the lead; None where there is none.
    """

    name: str
    lead: float
    told_apart: bool
    ci: Interval = None
    doubt: str = ""


def who_wins(best: str, reached: str, where: str, rivals: Sequence[Rival], extreme: str = "highest") -> str:
    """The first sentence: the winner, or that none is shown; `reached` is `area lineR (micro mean)` and its value.

    `rivals` are the nearest first; `extreme` is what the best value is.
    """
    what, _, mean = reached.rpartition(" ")
    if abs(rivals[0].lead) < SAME:
        return f"No winner is shown {where}: {best} and {rivals[0].name} reach the same {extreme} {what}, {mean}."
    leads = listed([f"{_digits(each.lead)} over {each.name}{_ends(each.ci)}" for each in rivals])
    if all(each.told_apart for each in rivals):
        return f"{best} wins {where}: its {what} is {mean}, ahead by {leads}."
    doubts = [f"its lead over {each.name} {each.doubt}" for each in rivals if each.doubt]
    if alike := [each.name for each in rivals if not each.told_apart and not each.doubt]:
        doubts.append(f"it cannot be told apart from {listed(alike)}")
    return (
        f"No winner is shown {where}: {best} has the {extreme} {what}, {mean}, but {' and '.join(doubts)}; "
        f"it is ahead by {leads}."
    )


def verdict(runs: Sequence[RunView], comparisons: Sequence[Comparison] = (), *, failed: int = 0) -> Verdict:
    """What `comparisons` of all pairs, or of all with a baseline, say of the runs; without any all pairs are compared.

    The run whose mean is best is compared with every other one. It was picked from the data that test it, so its
    pairs stay in the family of all pairs: there p holds for every run that could be picked. So many runs of the same
    setting have `failed`, and are not in it.
    """
    names = run_names(runs)
    short = short_names(names)
    metrics = runs[0].metrics
    over, where = metrics.headline, f"under protocol {metrics.protocol}"
    if len(runs) == 1:
        return _alone(runs[0], short[0], where, failed)
    comparisons = comparisons or compare(runs)
    measure = comparisons[0].measure
    means = [run.metrics.over(over)[measure] for run in runs]
    what = f"{heading(measure)} ({over} mean)"
    lower = lower_is_better(measure)
    best = (min if lower else max)(range(len(runs)), key=lambda i: means[i])
    differences = pairs_with(names[best], comparisons)
    reference = best
    if {each.treatment for each in differences} != {*names} - {names[best]}:
        reference = names.index(comparisons[0].baseline)
        differences = pairs_with(names[reference], comparisons)
    of_measure = {each.treatment: each for each in differences if each.measure == measure}
    # The nearest to the reference first.
    others = sorted((i for i in range(len(runs)) if i != reference), key=lambda i: means[i], reverse=not lower)
    against = {i: of_measure[names[i]] for i in others}
    sure = _sure("lead over" if reference == best else "difference of", short, against, comparisons)
    if scores_nothing(measure, means):
        who, sure = found_nothing(measure, over, where), _NOTHING
    elif reference == best:
        rivals = [_rival(short[i], each) for i, each in against.items()]
        who = who_wins(short[best], f"{what} {means[best]:.3f}", where, rivals, "lowest" if lower else "highest")
    else:
        who = f"Against the baseline {short[reference]}, whose {what} is {means[reference]:.3f} {where}: "
        who += _beside_baseline(short, against)
    return Verdict(
        who=who,
        sure=sure,
        notes=(*_failures(failed), *_cautions(runs, short, list(against.values()))),
        measure=measure,
        reference=reference,
        clear=reference == best and all(each.is_shown for each in against.values()),
        differences=tuple(differences),
    )


def family_words(one: Comparison, pairs: int) -> str:
    """How many tests p is adjusted for, and what they are; `one` is any of them, over so many pairs of runs."""
    measures = count(one.family // pairs, "measure")
    return count(one.family, "test") + (f" ({measures} of each of the {pairs} pairs of runs)" if pairs > 1 else "")


def listed(pieces: Sequence[str]) -> str:
    """`a, b and c`; of many the first ones, and how many there are beside."""
    if len(pieces) > NAMED + 1:
        return f"{', '.join(pieces[:NAMED])} and {count(len(pieces) - NAMED, 'other')}"
    return " and ".join(filter(None, (", ".join(pieces[:-1]), pieces[-1])))


def _alone(run: RunView, name: str, where: str, failed: int) -> Verdict:
    metrics, measure = run.metrics, headline_measure([run])
    mean, share = metrics.over(metrics.headline)[measure], metrics.shares_of_ceiling.get(measure)
    of_ceiling = "" if share is None else f", {share:.0%} of what a greedy ranker that knows the gold reaches"
    who = f"{name} reaches {heading(measure)} ({metrics.headline} mean) {mean:.3f} {where}{of_ceiling}."
    if scores_nothing(measure, [mean]):
        who = f"{name} found nothing by {heading(measure)} {where}: its {metrics.headline} mean is 0."
    return Verdict(
        who=who,
        sure="One run alone says nothing about other chunkers"
        + ("." if failed else ": give a second one to compare it with."),
        notes=(*_failures(failed), *_cautions([run], [name], [])),
        measure=measure,
        reference=0,
        clear=False,
        differences=(),
    )


def _failures(failed: int) -> list[str]:
    """That runs are missing from the answer; their errors are told elsewhere."""
    return [f"{count(failed, 'other run')} failed and {'is' if failed == 1 else 'are'} not compared."] if failed else []


def _rival(name: str, each: Comparison) -> Rival:
    lead = each if lower_is_better(each.measure) else each.reversed()
    doubt = each.verdict if each.rests_on_one else ""
    return Rival(name=name, lead=lead.difference, ci=lead.ci, told_apart=each.is_shown, doubt=doubt)


def _beside_baseline(short: Sequence[str], against: dict[int, Comparison]) -> str:
    """Each run's difference to the baseline, where not every pair with the best was asked for."""
    said = [f"{short[i]} {_digits(c.difference, '+')}{_ends(c.ci)}, {c.verdict}" for i, c in against.items()]
    return (
        "; ".join(said[: NAMED + 1])
        + (f"; and {count(len(said) - NAMED - 1, 'other')}" if len(said) > NAMED + 1 else "")
        + "."
    )


def _sure(what: str, short: Sequence[str], against: dict[int, Comparison], comparisons: Sequence[Comparison]) -> str:
    """How sure that is; `what` is what the test is of: the lead over a run, or the difference of one."""
    first = next(iter(against.values()))
    if first.p_adjusted is None:
        return "A ceiling is not a result of a run: its difference is not tested."
    shown = [i for i, each in against.items() if each.is_shown]
    carried = [i for i, each in against.items() if each.rests_on_one]
    equal = [i for i, each in against.items() if each.is_equal]
    rest = [i for i in against if i not in (*shown, *carried, *equal)]

    def said(which: Sequence[int]) -> str:
        return listed([f"{short[i]} (p = {probability(against[i].p_adjusted)})" for i in which])

    parts = []
    if shown:
        parts.append(f"the {what} {said(shown)} is beyond chance")
    parts += [f"the {what} {said([i])} {against[i].verdict}, without which none is shown" for i in carried]
    if equal:
        parts.append(f"the {what} {said(equal)} is 0 within {first.margin:g}")
    if rest:
        parts.append(f"the {what} {said(rest)} is not shown to be more than chance, which does not mean equal")
    text = ", ".join(parts).replace("p = <", "p < ")
    test = f"sign-flip test over {cluster_count(first.n_clusters, first.clustered_by)} with {first.n_queries} queries"
    pairs = len({(each.baseline, each.treatment) for each in comparisons})
    return f"{text[0].upper()}{text[1:]}: {test}, Holm over {family_words(first, pairs)}."


def _cautions(runs: Sequence[RunView], short: Sequence[str], against: Sequence[Comparison]) -> tuple[str, ...]:
    """What may turn the verdict, and what moves the scores by itself."""
    lines = _doubts(against)
    metrics = [run.metrics for run in runs]
    sizes = [each.chunk_nws.mean for each in metrics if each.chunk_nws]
    if len(sizes) == len(runs) > 1 and max(sizes) > 1.05 * min(sizes):
        named = ", ".join(f"{name} {size:.0f}" for name, size in zip(short, sizes, strict=True))
        lines.append(
            f"Chunks are not of one size (mean non-whitespace characters: {named}), and size alone moves scores; "
            f"{_size_remedy({each.chunker for each in metrics})}."
        )
    cautions = [copy_note(metrics[0].gold_in_query)]
    with suppress(UsageError):  # an imported run's protocol has no text of ours
        cautions.append(Protocol.parse(metrics[0].protocol).caution)
    if said := "; ".join(filter(None, cautions)):
        lines.append(f"Protocol {metrics[0].protocol}: {said}.")
    return tuple(lines)


def _size_remedy(chunkers: Collection[str]) -> str:
    """What can be done about the sizes of these chunkers, of which some may have no option for one."""
    unsized = sorted(chunker_name(spec) for spec in chunkers if chunker_size(spec) is None)
    if not unsized:
        return "--match-size removes that"
    if len(unsized) == 1:
        return f"--match-size {unsized[0]} removes that ({unsized[0]} has no option for a size)"
    none = f"{listed(unsized)} have no option for a size"
    return none if len(unsized) == len(chunkers) else f"--match-size removes that among the others, {none}"


def _doubts(against: Sequence[Comparison]) -> list[str]:
    if not against:
        return []
    first, lines = against[0], []
    clusters = cluster_count(first.n_clusters, first.clustered_by)
    needed = fewest_clusters(first.family)
    if first.n_clusters < needed:
        among = f" among {count(first.family, 'test')}" if needed > FEWEST_CLUSTERS else ""
        lines.append(f"Over {clusters} no test{among} shows a difference: it takes at least {needed}.")
    if FEWEST_CLUSTERS <= first.n_clusters < FEW_CLUSTERS:
        lines.append(f"The intervals rest on {clusters}: single ones decide them.")
    if any(each.is_equal for each in against):
        lines.append(EQUAL)
    if any("borderline" in each.verdict for each in against):
        lines.append("The test is borderline: the last bits of another processor's scores can turn it.")
    if any(each.hangs_on_repositories for each in against):
        lines.append("With the signs of whole repositories flipped no difference is shown: others may not show it.")
    return lines


def _ends(ci: Interval) -> str:
    if ci is None:
        return ""
    # An end just below zero keeps its minus, as in the table: such an interval has zero in it.
    return f" (95 % CI {ci[0] + 0.0:+.3f} to {ci[1] + 0.0:+.3f})"


def _digits(value: float, sign: str = "-") -> str:
    """Three digits, and no minus before a zero."""
    return f"{round(value, 3) + 0.0:{sign}.3f}"
