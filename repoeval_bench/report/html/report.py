"""The report: one HTML file that needs no network, made from stored runs alone.

Scores, differences and segments are plain HTML; what belongs to single queries is packed JSON that the page's own
script shows as text: a history has many versions of a file, and few lines that differ. The page's policy runs only this
script.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.evidence import Recommendation
from repoeval_bench.analysis.records import Comparison
from repoeval_bench.analysis.verdicts import Result, leads_of
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import packed
from repoeval_bench.core.words import count, visible
from repoeval_bench.report.comparison import MOST_NOTES, comparison_columns
from repoeval_bench.report.figure import VARIABLES, Figure, css, figures, looks, ranked_figure, svg
from repoeval_bench.report.html import tables
from repoeval_bench.report.html.payload import payload
from repoeval_bench.report.recommendation import answer_lines, evidence_name, setups_to_paste
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.scores import footnotes
from repoeval_bench.report.table import Column, Table, table_of
from repoeval_bench.report.text import CHARACTERS_NOTE, flipped_units, heading
from repoeval_bench.report.verdict import WordedVerdict, verdict
from repoeval_bench.runs.query_scores import repository_kind
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("data.js", "tables.js", "asked.js", "query.js", "misses.js", "start.js")
MOST_ROWS = 10
"""Runs of the first screen; more are folded."""
# A short name with a hyphen, or a number and its %, where a browser would break it.
_WHOLE = re.compile(r"(?:--|\b)(?=[\w.-]{3,32}(?![\w.-]))\w+(?:-\w+)+|\b\d+ %")
QUERY_MEASURES = ("ndcg@10", "recall@10", "mrr")
"""Beside the headline measure, what is shown of a single query."""


def check_page(what: str = "the page") -> None:
    """Raise a UsageError if the packages for pages are not installed."""
    require(what, "jinja2", "matplotlib")


# Longer than 60 lines: each name of the template has its line.
def report_page(
    stored: Sequence[RunView], output: str, *, answer: Recommendation | None = None, text: bool = True
) -> str:
    """The page over one or more runs; `output` is the file that it will be written to, for the command it quotes.

    The head is a recommendation's `answer`, where the runs are those of its first evidence; else it says what the tests
    say. Single queries are shown for the best runs. Without `text` the page has no code and no subjects of commits.

    A ResultError where a run folder is broken, a UsageError where the runs do not answer one question.
    """
    check_page()
    from markupsafe import Markup

    runs = tables.page_runs(stored)
    labels = {run_id: label for label, run_id in answer.evidence[0].runs.items()} if answer else {}
    runs = [replace(run, short=labels.get(run.stored.run_id, run.short)) for run in runs]
    measure = headline_measure(stored)
    worded = verdict(stored, _beside_choice(runs, answer) if answer else ())
    metrics, ids = runs[0].stored.metrics, [run.run_id for run in stored]
    shown = [name for name in dict.fromkeys((measure, *QUERY_MEASURES)) if name in runs[0].scores.values]
    code = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS)
    kind = "candidate" if answer else tables.kind_of(runs)
    names = {run.name: index for index, run in enumerate(runs)}
    differences = worded.record.differences
    ranks = tables.candidates_ranked(runs, answer) if answer else tables.ranking(runs, worded.record)
    current = answer.current.label if answer and answer.current else None
    # The heading of a recommendation is its first sentence; all others are text below it.
    first, *evidence = answer_lines(answer) if answer else [worded.text]
    advice, stop, rest = first.partition(". ") if answer else (first, "", "")
    ranks = replace(ranks, rows=_with_current(ranks.rows, current))
    shown_ranks = replace(ranks, rows=ranks.rows[:MOST_ROWS])
    order = [row.run for row in ranks.rows]
    # The choice first, then the candidate that is used now: single queries show few columns.
    now = [row.run for row in ranks.rows[1:] if row.name == current]
    shown_at = [*dict.fromkeys([order[0], *now, *order[:MOST_ROWS]])] if answer else sorted(order[:MOST_ROWS])
    inspected = [runs[i] for i in shown_at]

    def rows_table(rows: Sequence[tables.RankedRow]) -> Table:
        return tables.candidates_table(answer, rows) if answer else tables.ranking_table(ranks, rows, kind)

    def short_name(difference: Comparison) -> str:
        return runs[names[difference.treatment]].short

    return _template().render(
        title=f"The recommended chunker among {count(len(runs), 'candidate')}"
        if answer
        else " vs ".join(run.short for run in runs)
        if len(runs) < 4
        else f"{len(runs)} {kind}s",
        kind=kind,
        shared_chunker=_shared_chunker(runs),
        dataset=answer.data if answer else metrics.dataset.label,
        protocol=" and ".join(dict.fromkeys(one.protocol for one in answer.evidence)) if answer else metrics.protocol,
        over=f"{metrics.headline} mean over {_over(runs[0])}",
        runs=runs,
        verdict=worded,
        advice=advice + stop.rstrip(),
        caveats=() if answer else [f"{line[0].upper()}{line[1:]}." for line in worded.notes[:MOST_NOTES]],
        evidence=[rest, *evidence] if rest else evidence,
        setups=setups_to_paste(answer) if answer else (),
        questions=[evidence_name(question) for question in answer.evidence] if answer else (),
        ranking=shown_ranks,
        ranking_table=tables.page_table(rows_table(shown_ranks.rows), order[:MOST_ROWS]),
        more_rows=tables.page_table(rows_table(ranks.rows[MOST_ROWS:]), order[MOST_ROWS:]),
        plot=_ranking_plot(worded, shown_ranks, stored),
        scores=tables.page_table(
            table_of(tables.score_columns(runs, kind), [runs[index] for index in order], "page"), order
        ),
        flipped=flipped_units(runs[0].scores.cluster_kind),
        repository=repository_kind(runs[0].scores.clustered_by),
        differences=tables.page_table(
            table_of([Column(name=kind, value=short_name), *comparison_columns(differences[0])], differences, "page"),
            [names[difference.treatment] for difference in differences],
        )
        if differences
        else None,
        charts=[_chart(figure) for figure in figures(stored, [run.short for run in runs], shown_at)],
        n_drawn=len(shown_at),
        measure_title=heading(measure),
        asks_commits=answer is not None and answer.evidence[0].protocol == "commits",
        holds=_holds(metrics.protocol, text=text),
        cannot_show=[
            f"{run.short}: its chunks cannot be drawn, because it was imported from a log, without chunk boundaries."
            for run in inspected
            if run.stored.inspection is None
        ],
        commands=[
            *dict.fromkeys(map(run_command, stored)),
            shlex.join(["repoeval-bench", "report", *(() if answer else ids), "-o", Path(output).name]),
        ],
        skipped=[*dict.fromkeys(file for run in stored for file in (*run.manifest.skipped, *run.manifest.undecodable))],
        runs_lines=[_lines_of(run) for run in stored],
        characters_note=CHARACTERS_NOTE.capitalize(),
        version=version("repoeval-bench"),
        style=Markup(css() + _run_colours(stored) + (TEMPLATES / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        script=Markup(code),  # noqa: S704 - ours
        script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        data=base64.b64encode(b"".join(packed(json.dumps(payload(inspected, shown, shown_at, text=text))))).decode(),
    )


def _beside_choice(runs: Sequence[tables.PageRun], answer: Recommendation) -> Sequence[Comparison]:
    """Compare all candidates with the choice, whose sentence is the head of the page."""
    assert answer.decision is not None
    if len(runs) < 2:
        return ()
    stored = [run.stored for run in runs]
    choice = answer.evidence[0].runs[answer.decision.choice.name]
    at = [run.run_id for run in stored].index(choice)
    return leads_of(stored, [run.name for run in runs], at, measure=headline_measure(stored))


def _with_current(rows: Sequence[tables.RankedRow], current: str | None) -> tuple[tables.RankedRow, ...]:
    """Return the rows with that of the current candidate among those of the first screen."""
    late = [row for row in rows[MOST_ROWS:] if row.name == current]
    others = [row for row in rows if row not in late]
    return (*others[: MOST_ROWS - len(late)], *late, *others[MOST_ROWS - len(late) :])


def _template() -> Template:
    """The page's template, which escapes everything it is given, and fails on a missing value."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        # Names, sources and prompts are untrusted.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        # HTML must not hold control characters; Markup is left as it is.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    templates.filters["breakable"] = _breakable
    return templates.get_template("report.html")


def _breakable(name: str) -> Markup:
    """Return a text in which a name may break after `:`, `,` and `/` alone: not at `_`, `=`, a hyphen or before `%`."""
    from markupsafe import Markup, escape

    def kept(word: re.Match[str]) -> Markup:
        return Markup('<span class="whole">{}</span>').format(word[0])

    pieces = re.split(r"(?<=[:/])(?=\w)|(?<=,)(?=[A-Za-z_])", visible(name))
    return Markup("<wbr>").join(Markup(_WHOLE.sub(kept, str(escape(piece)))) for piece in pieces)  # noqa: S704 - escaped


def _chart(figure: Figure) -> dict[str, Any]:
    from markupsafe import Markup

    return {"svg": Markup(svg(figure, themed=True)), "name": figure.name}  # noqa: S704 - escaped by the XML writer


def _ranking_plot(verdict: WordedVerdict, ranks: tables.Ranking, stored: Sequence[RunView]) -> dict[str, Any] | None:
    """The plot of the first screen; None where there is no difference to draw."""
    if not verdict.record.others or verdict.record.result is Result.NOTHING_FOUND:
        return None
    return _chart(ranked_figure(ranks, looks(stored)))


def _run_colours(stored: Sequence[RunView]) -> str:
    """`.run0`, `.run1`, …: every run in the colour that it has in the figures."""
    variables = {light: name for name, (light, _) in VARIABLES.items()}
    return "".join(
        f".run{index} {{ --run: var({variables[look.colour]}); }}\n" for index, look in enumerate(looks(stored))
    )


def _lines_of(run: RunView) -> list[str]:
    """Return when and from which code a run was made, and its sizes, counts and losses."""
    code = run.manifest.code
    commit = f", commit {code.commit}{' with changes' if code.dirty else ''}" if code.commit else ""
    return [f"{run.run_id}, made {run.manifest.created}{commit}", *footnotes(run)]


def _shared_chunker(runs: Sequence[tables.PageRun]) -> str:
    """The one chunker of several runs, which their names leave out; empty where there is none."""
    chunkers = {run.stored.metrics.chunker for run in runs}
    return chunkers.pop() if len(runs) > 1 and len(chunkers) == 1 else ""


def _over(run: tables.PageRun) -> str:
    metrics = run.stored.metrics
    if metrics.headline == "micro":
        return count(metrics.counts.queries, "query")
    return count(len(metrics.per_repo), repository_kind(run.scores.clustered_by))


def _holds(protocol: str, *, text: bool) -> str:
    """Say what a page holds that its reader may not be meant to see."""
    if not text:
        return (
            "The page holds scores, paths and ids, and no code, no query, no subject of a commit and no author's name."
        )
    holds = "The page holds source code of the repositories, each under its own licence."
    subjects = " It holds subjects of commits, and no author's name. --no-text leaves code and subjects out."
    return holds + (subjects if protocol.startswith("commits") else "")
