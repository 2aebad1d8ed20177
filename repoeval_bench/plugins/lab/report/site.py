"""Leaderboards as a folder of HTML pages that need no network, with its data as CSV and JSON.

Names of runs are untrusted and escaped by the templates. The same leaderboards give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import READ
from repoeval_bench.core.files import write_named
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.plugins.lab.analysis import LeaderboardAnalysis, agreements, analyses
from repoeval_bench.plugins.lab.report.analysis import (
    against_table,
    agreement_columns,
    analysis_csvs,
    analysis_record,
    best_table,
    frontier_table,
    languages_table,
    sizes_table,
)
from repoeval_bench.plugins.lab.report.leaderboard import (
    explained,
    leaderboard_columns,
    leaderboard_csv,
    leaderboard_records,
    leaderboard_sentences,
    leaderboard_title,
    summary,
    verification_notes,
    verification_words,
)
from repoeval_bench.plugins.lab.stability import StabilityRow, read_updates
from repoeval_bench.report.html.assets import check_page, environment, script, style
from repoeval_bench.report.html.tables import page_table
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.table import Column, Estimate, number, table_of
from repoeval_bench.report.text import CHARACTERS_NOTE, printable

if TYPE_CHECKING:
    from markupsafe import Markup

    from repoeval_bench.analysis.pair_verdicts import PairVerdict
    from repoeval_bench.plugins.lab.leaderboard import Leaderboards, RankedRun
    from repoeval_bench.runs.view import RunView

TEMPLATES = Path(__file__).parent / "templates"

SCRIPTS = ("tables.js", "ready.js")

BRIEF = ("rank", "chunker", "score", "difference_to_first", "against_first", "tokens per query")
"""Keys of the columns of the first page."""


def write_site(leaderboards: Leaderboards, folder: Path, *, updates: Path | None = None) -> list[Path]:
    """Write index.html, a page for each data set and retriever, leaderboard.csv and leaderboard.json; return the paths.

    The leaderboards are those of `leaderboards(…, apart=True)`. `updates` is a file with the output of `lab stability
    OLD NEW --json`. A ResultError if the folder cannot be written.
    """
    written = []
    for name, content in site_files(leaderboards, read_updates(updates) if updates else ()).items():
        write_named(folder / name, content, "another folder with --site")
        written.append(folder / name)
    return written


def site_files(leaderboards: Leaderboards, updates: Sequence[StabilityRow] = ()) -> dict[str, str]:
    """Return name -> content of every file of the site."""
    check_page()
    ranked = analyses(leaderboards.ranked, updates)
    pages: dict[tuple[str, str], list[LeaderboardAnalysis]] = {}
    for analysis in ranked:
        pages.setdefault((analysis.leaderboard.runs[0].metrics.dataset.name, analysis.ranker), []).append(analysis)
    # A slug loses some letters, so the name of a page has a hash of both names too.
    names = {about: f"{slug('-'.join(about), 100).lower()}-{short_hash(repr(about))}.html" for about in pages}
    agreed = agreements(ranked)
    analysis_records = [analysis_record(analysis) for analysis in ranked]
    shown = {
        about: [_leaderboard(*pair) for pair in zip(of_page, _ids(of_page), strict=True)]
        for about, of_page in pages.items()
    }
    records = leaderboard_records(leaderboards) | {"standings": analysis_records}
    tables = {"leaderboard.csv": leaderboard_csv(leaderboards), **analysis_csvs(analysis_records, agreed)}
    index = _render(
        "site.html",
        title="Leaderboard of code chunkers",
        summary=summary(leaderboards),
        best=page_table(best_table(ranked)),
        pages=[
            {"name": names[about], "about": _page_title(*about), "boards": shown[about], "at": position}
            for position, about in enumerate(pages)
        ],
        agreement=page_table(table_of(agreement_columns(), agreed)),
        data=[*tables, "leaderboard.json"],
        notes=[_note(note) for note in explained(leaderboards)],
        verified=[printable(note) for note in verification_notes(leaderboards)],
        not_ranked=[(printable(name), printable(reason)) for name, reason in leaderboards.not_ranked.items()],
    )
    return {
        "index.html": index,
        **{
            names[about]: _render(
                "board.html",
                title=_page_title(*about),
                boards=shown[about],
                against=page_table(against_table(of_page)),
            )
            for about, of_page in pages.items()
        },
        **tables,
        "leaderboard.json": json.dumps(records, indent=1, ensure_ascii=False) + "\n",
    }


def _render(template: str, **content: Any) -> str:
    code, digest = script(SCRIPTS)
    page = environment(TEMPLATES).get_template(template)
    own = (TEMPLATES / "board.css").read_text(encoding="utf-8")
    return page.render(
        style=style(own), script=code, script_hash=digest, characters_note=CHARACTERS_NOTE.capitalize(), **content
    )


def _ids(analyses: Sequence[LeaderboardAnalysis]) -> list[str]:
    """Return an id for each leaderboard of a page: its protocol, with `_` and a number if that is taken or empty."""
    slugs = [slug(analysis.leaderboard.protocol) for analysis in analyses]
    return [
        slug if slug not in {"", "against"} and slugs.count(slug) == 1 else f"{slug}_{index}"
        for index, slug in enumerate(slugs, 1)
    ]


def _page_title(dataset: str, ranker: str) -> str:
    return printable(f"{dataset} by {ranker}")


def page_columns(analysis: LeaderboardAnalysis) -> list[Column]:
    """Return a leaderboard's columns with those of its analysis, with a `RankedRun` a row."""

    def chunker(entry: RankedRun) -> tuple[str, ...]:
        label, spec = analysis.sized_runs[entry.run_id].label, entry.run.metrics.chunker
        return label, *filter(None, (spec if spec != label else "", verification_words(entry.verification)))

    def tokens(entry: RankedRun) -> float | None:
        nws = analysis.sized_runs[entry.run_id].nws
        return READ * nws * analysis.tokens_per_nws if nws and analysis.tokens_per_nws else None

    def difference(entry: RankedRun) -> Estimate | None:
        first = next(iter(analysis.against.get(entry.run_id, ())), None)
        return None if first is None else Estimate(first.difference, first.ci)

    def verdict(entry: RankedRun) -> PairVerdict | None:
        return next((comparison.verdict for comparison in analysis.against.get(entry.run_id, ())), None)

    def again(entry: RankedRun) -> float | None:
        cost = analysis.updates.get(entry.run_id)
        return None if cost is None else cost.share

    rank, *rest = leaderboard_columns(analysis.leaderboard)
    return [
        rank,
        Column(name="chunker", value=chunker, forms=("page",)),
        *rest,
        number("to fixed of its size", difference, "+.4f", interval=True),
        Column(name="against fixed", value=verdict),
        number("tokens per query", tokens, ",.0f", lowest_first=True),
        *([number("embedded again", again, ".0%", lowest_first=True)] if analysis.updates else []),
    ]


def _leaderboard(analysis: LeaderboardAnalysis, id_: str) -> dict[str, Any]:
    leaderboard, columns = analysis.leaderboard, page_columns(analysis)
    brief = [column for column in columns if (column.key or column.name) in BRIEF]
    return {
        "id": id_,
        "protocol": printable(leaderboard.protocol),
        "about": printable(leaderboard.dataset),
        "ranked": printable(leaderboard_title(leaderboard)[1]),
        "brief": page_table(table_of(brief, leaderboard.entries, "page")),
        "table": page_table(table_of(columns, leaderboard.entries, "page")),
        "sentences": [_note(line) for line in leaderboard_sentences(leaderboard)],
        "sizes": page_table(sizes_table(analysis)),
        "frontier": page_table(frontier_table(analysis)),
        "languages": ", ".join(analysis.languages),
        "by_language": page_table(languages_table(analysis)),
        "commands": [_command_of(run, analysis) for run in leaderboard.runs],
        "read": READ,
        "updates": max((update.n_pairs for update in analysis.updates.values()), default=0),
    }


def _command_of(run: RunView, analysis: LeaderboardAnalysis) -> dict[str, str]:
    """Return the names of a row's run, and the command that makes it."""
    code = run.manifest.code
    return {
        "label": printable(analysis.sized_runs[run.run_id].label),
        "run_id": printable(run.run_id),
        "fingerprint": printable(run.metrics.dataset.fingerprint),
        "commit": printable(f"{(code.commit or 'unknown')[:12]}{' with changes' if code.dirty else ''}"),
        "command": printable(run_command(run)),
    }


def _note(line: str) -> Markup:
    """Return a note as a sentence of a page: text in backticks as code, and the first letter as a capital."""
    from markupsafe import Markup, escape

    shown = str(escape(printable(f"{line[:1].upper()}{line[1:]}")))
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", shown))  # noqa: S704 - escaped above
