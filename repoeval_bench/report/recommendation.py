"""A recommendation in words, as one table, and as a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.arms import BASELINE
from repoeval_bench.analysis.choosing import READ
from repoeval_bench.analysis.verdicts import Result
from repoeval_bench.core.words import count
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.report.choosing import choice_record, missing_data
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import cluster_count, found_nothing, heading, outcome_name, with_interval
from repoeval_bench.report.verdict import NAMED, listed

if TYPE_CHECKING:
    from repoeval_bench.analysis.recommendation import Answer, Recommendation


def answer_sentences(answer: Answer) -> list[str]:
    """Which chunker and size; how sure that is, its gain and its cost; then what more data it would take."""
    choice, verdict, found = answer.choice, answer.choice.verdict, _who(answer)
    if choice.found_nothing:
        where = f"under protocol {answer.protocol} by {answer.retriever}"
        return [found_nothing(choice.measure, choice.over, where)]
    if not answer.enough:
        asked = f"{count(answer.n_queries, 'query')} in {cluster_count(verdict.n_clusters, verdict.clustered_by)}"
        found = f"Not enough data: {asked} cannot show which chunker is better. {found}"
    missing = missing_data(choice)
    return [
        *filter(None, [found, _gain_and_cost(answer)]),
        *(f"{each[:1].upper()}{each[1:]}." for each in missing),
    ]


def _who(answer: Answer) -> str:
    """The arm to use where it is significantly better than all others; else those that may be as good."""
    choice, verdict = answer.choice, answer.choice.verdict
    best, nearest, *_ = choice.candidates
    named = f"{answer.best.label} ({answer.best.spec})"
    reached = (
        f"{heading(choice.measure)} {best.mean:.3f} ({choice.over} mean, protocol {answer.protocol} by "
        f"{answer.retriever})"
    )
    close = [answer.arm(each.run).label for each in verdict.close]
    behind = [answer.arm(each.run).label for each in verdict.behind]
    family = f"the tests are adjusted for {count(verdict.family, 'comparison')}"
    if not close:
        lead = f"{best.mean - nearest.mean:.3f} ahead of {answer.arm(nearest).label}"
        return (
            f"Use {named}: its {reached} is {lead}, the nearest, and significantly better than every other; {family}."
        )
    rest = f"; significantly worse: {listed(behind)}" if behind else ""
    who = f"No significant winner: {named} has the highest {reached}, and {_close(close, every=not behind)}{rest}"
    return f"{who}; {family}."


def _close(labels: Sequence[str], *, every: bool) -> str:
    if len(labels) > NAMED + 1 and every:
        nearest = listed(labels[:NAMED])
        return f"none of the {count(len(labels), 'other')} is significantly worse (the nearest are {nearest})"
    return f"{listed(labels)} {'is' if len(labels) == 1 else 'are'} not significantly worse"


def _gain_and_cost(answer: Answer) -> str:
    choice, parts = answer.choice, []
    if choice.best.probability is not None:
        parts.append(f"it is best in {choice.best.probability:.0%} of resamples")
    if answer.gain is not None:
        gained = with_interval(answer.gain.lead, answer.gain.ci, "+.3f")
        parts.append(f"it gains {gained} over {BASELINE} of the same size ({outcome_name(answer.gain.verdict)})")
    if (tokens := answer.tokens(choice.best)) is not None:
        parts.append(f"a query that reads {READ} of its chunks costs about {tokens:,.0f} tokens")
    cheapest = choice.close[0]
    if cheapest != choice.best and answer.enough and (least := answer.tokens(cheapest)) is not None:
        parts.append(f"the cheapest that may be as good is {answer.arm(cheapest).label}, {least:,.0f} tokens")
    sentence = "; ".join(parts)
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""


def recommendation_table(found: Recommendation) -> Table:
    """A row for each chunker at each size, best first by the answer that decides; a column for each answer."""
    first = found.answers[0]
    order = [first.arm(each) for each in first.choice.candidates]
    order += [arm for answer in found.answers for arm in answer.arms.values() if arm not in order]
    columns = [
        spec_column("chunker"),
        *figures("characters", number=",", missing=""),
        *figures(*(f"{answer.protocol} {answer.retriever}" for answer in found.answers), number=".3f", missing=""),
        *figures("best in", number=".0%", missing=""),
        *figures("tokens a query", number=",.0f", missing=""),
    ]
    by_arm = [{answer.arm(each).spec: each for each in answer.choice.candidates} for answer in found.answers]
    rows = []
    for arm in dict.fromkeys(order):
        decides = by_arm[0].get(arm.spec)
        means = [each[arm.spec].mean if arm.spec in each else None for each in by_arm]
        rows.append(
            [arm.name, arm.size, *means, decides and decides.probability, decides and first.tokens(decides)],
        )
    notes = [
        f"{answer.protocol} by {answer.retriever}: {answer.best.label} has the highest mean"
        f"{', significantly better than all others' if answer.choice.verdict.result is Result.WINNER else ''}"
        for answer in found.answers[1:]
    ]
    queries = {answer.protocol: answer.n_queries for answer in reversed(found.answers)}
    notes.append("queries: " + ", ".join(f"{protocol} {n:,}" for protocol, n in reversed(queries.items())))
    notes += [f"left out: {line}" for line in found.left_out]
    if first.n_queries < FEWEST_TASKS:
        notes.append(f"fewer than {FEWEST_TASKS} queries can show nothing; add code, or questions with --queries")
    title = f"{heading(first.choice.measure)}, {first.choice.over} mean; best in: {first.protocol} by {first.retriever}"
    return make_table(columns, rows, title=title, notes=notes)


def recommendation_record(found: Recommendation) -> dict[str, Any]:
    """Every field as plain values, the sentences among them."""
    return {
        "data": found.data,
        "answers": [
            {
                "protocol": answer.protocol,
                "retriever": answer.retriever,
                "enough_data": answer.enough,
                "answer": answer_sentences(answer),
                "best": asdict(answer.best),
                "gain": asdict(answer.gain) if answer.gain else None,
                "queries": answer.n_queries,
                "arms": {run_id: asdict(arm) for run_id, arm in answer.arms.items()},
                "choice": choice_record(answer.choice),
            }
            for answer in found.answers
        ],
        "left_out": list(found.left_out),
        "runs": [str(folder) for folder in found.runs],
    }
