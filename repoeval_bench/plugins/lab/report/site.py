"""A leaderboard as a folder of HTML pages that need no network, with its data as CSV and JSON.

Names of runs are untrusted and escaped by the templates. The same leaderboard gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import READ
from repoeval_bench.core.files import write_named
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.plugins.lab.leaderboard import BESIDE, Entry, Leaderboard
from repoeval_bench.plugins.lab.report.leaderboard import (
    against_first,
    board_sentences,
    explained,
    leaderboard_csv,
    leaderboard_records,
    summary,
    verification_notes,
    verification_words,
)
from repoeval_bench.plugins.lab.report.plots import frontier_figure, sizes_figure
from repoeval_bench.plugins.lab.report.standings import (
    against_table,
    agreement_table,
    best_table,
    frontier_table,
    languages_table,
    sizes_table,
    standing_csvs,
    standing_record,
)
from repoeval_bench.plugins.lab.stability import StabilityRow, read_updates
from repoeval_bench.plugins.lab.standings import Standing, agreements, standings
from repoeval_bench.report.html.assets import PageCell, check_page, environment, script, style
from repoeval_bench.report.html.scores import BAR, on_one_scale
from repoeval_bench.report.plots import Figure, svg
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.table import Cell, Column, Estimate, Table
from repoeval_bench.report.text import CHARACTERS_NOTE, heading, interval, outcome_name, printable

if TYPE_CHECKING:
    from markupsafe import Markup

    from repoeval_bench.runs.view import RunView

TEMPLATES = Path(__file__).parent / "templates"

SCRIPTS = ("tables.js", "ready.js")


def write_site(found: Leaderboard, folder: Path, *, updates: Path | None = None) -> list[Path]:
    """Write index.html, a page for each data set and retriever, leaderboard.csv and leaderboard.json; their paths.

    The boards are those of `leaderboard(…, apart=True)`. `updates` is a file with what `lab stability OLD NEW
    --json` printed. A ResultError where the folder cannot be written.
    """
    written = []
    for name, content in site_files(found, read_updates(updates) if updates else ()).items():
        write_named(folder / name, content, "another folder with --site")
        written.append(folder / name)
    return written


def site_files(found: Leaderboard, updates: Sequence[StabilityRow] = ()) -> dict[str, str]:
    """Name -> content of every file of the site."""
    check_page()
    ranked = standings(found.boards, updates)
    pages: dict[tuple[str, str], list[Standing]] = {}
    for each in ranked:
        pages.setdefault((each.board.runs[0].metrics.dataset.name, each.ranker), []).append(each)
    names = {about: _page_name(*about) for about in pages}
    agreed = agreements(ranked)
    of_boards = [standing_record(each) for each in ranked]
    shown = {about: _boards(of_page) for about, of_page in pages.items()}
    records = leaderboard_records(found) | {"standings": of_boards}
    tables = {"leaderboard.csv": leaderboard_csv(found), **standing_csvs(of_boards, agreed)}
    index = _render(
        "site.html",
        title="Leaderboard of code chunkers",
        summary=summary(found),
        best=_table(best_table(ranked)),
        pages=[{"name": names[about], "about": _page_title(*about), "boards": shown[about]} for about in pages],
        bar_width=int(BAR),
        agreement=_table(agreement_table(agreed)),
        data=[*tables, "leaderboard.json"],
        notes=[_note(note) for note in explained(found)],
        verified=[printable(note) for note in verification_notes(found)],
        left_out=[(printable(name), printable(reason)) for name, reason in found.left_out.items()],
    )
    return {
        "index.html": index,
        **{names[about]: _page(_page_title(*about), of_page, shown[about]) for about, of_page in pages.items()},
        **tables,
        "leaderboard.json": json.dumps(records, indent=1, ensure_ascii=False) + "\n",
    }


def _boards(found: Sequence[Standing]) -> list[dict[str, Any]]:
    ids = _ids([each.board.protocol for each in found])
    return [_board(each, id_) for each, id_ in zip(found, ids, strict=True)]


def _page(title: str, found: Sequence[Standing], boards: Sequence[Mapping[str, Any]]) -> str:
    return _render(
        "board.html",
        title=title,
        boards=boards,
        against=_table(against_table(found)),
        bar_width=int(BAR),
    )


def _render(template: str, **content: Any) -> str:
    code, digest = script(SCRIPTS)
    page = environment(TEMPLATES).get_template(template)
    own = (TEMPLATES / "board.css").read_text(encoding="utf-8")
    return page.render(
        style=style(own), script=code, script_hash=digest, characters_note=CHARACTERS_NOTE.capitalize(), **content
    )


def _page_name(dataset: str, ranker: str) -> str:
    """What a file name can show of both, and a hash of all of both: letters of some languages and cases are lost."""
    named = slug(f"{dataset}-{ranker}", 100).lower()
    return f"{named}-{short_hash(repr((dataset, ranker)))}.html"


def _ids(protocols: Sequence[str]) -> list[str]:
    """An id for each board of a page: its protocol, with a number where that is another's; no slug has a `_`."""
    slugs = [slug(each) for each in protocols]
    return [
        each if each not in {"", "against"} and slugs.count(each) == 1 else f"{each}_{at}"
        for at, each in enumerate(slugs, 1)
    ]


def _page_title(dataset: str, ranker: str) -> str:
    return printable(f"{dataset} by {ranker}")


def _board(found: Standing, id_: str) -> dict[str, Any]:
    board = found.board
    drawn = on_one_scale([(entry.score, entry.ci) for entry in board.entries])
    figures = [
        replace(figure, name=f"{figure.name}-{id_}")
        for figure in (sizes_figure(found), frontier_figure(found))
        if figure
    ]
    return {
        "id": id_,
        "protocol": printable(board.protocol),
        "about": printable(board.dataset),
        "ranked": f"by the {board.over} mean of {heading(board.measure)} over the top {board.k}"
        + (f" · vectors in {printable(board.precision)}" if board.precision else ""),
        "measure": heading(board.measure),
        "beside": [heading(name) for name in BESIDE],
        "rows": [_row(entry, found, cell) for entry, cell in zip(board.entries, drawn, strict=True)],
        "sentences": [_note(line) for line in board_sentences(board)],
        "figures": [_figure(figure) for figure in figures],
        "sizes": _table(sizes_table(found)),
        "frontier": _table(frontier_table(found)),
        "languages": ", ".join(found.languages),
        "by_language": _table(languages_table(found)),
        "made": [_made(run, found) for run in board.runs],
        "read": READ,
        "updates": max((each.n_pairs for each in found.updates.values()), default=0),
    }


def _row(entry: Entry, found: Standing, cell: Any) -> dict[str, Any]:
    place, against = found.placed[entry.run_id], found.against.get(entry.run_id)
    updates = found.updates.get(entry.run_id)
    tokens = READ * place.nws * found.tokens_per_nws if place.nws and found.tokens_per_nws else None
    return {
        "rank": entry.rank,
        "label": printable(place.label),
        "spec": printable(entry.chunker),
        "run_id": printable(entry.run_id),
        "verification": printable(verification_words(entry.verification)),
        "score": cell,
        "share": entry.share,
        "behind": entry.behind,
        "tokens": tokens,
        "against_first": against_first(entry),
        "against": against and (against[0].difference, against[0].ci, outcome_name(against[0].verdict)),
        "rest": [
            (value, "-" if value is None else f"{value:{form}}")
            for value, form in (
                *((each, ".4f") for each in entry.beside),
                (entry.nws, ".0f"),
                (tokens, ",.0f"),
                *([(updates and updates.share, ".0%")] if found.updates else []),
            )
        ],
    }


def _made(run: RunView, found: Standing) -> dict[str, str]:
    """What a row is and the command that makes it."""
    code = run.manifest.code
    return {
        "label": printable(found.placed[run.run_id].label),
        "run_id": printable(run.run_id),
        "fingerprint": printable(run.metrics.dataset.fingerprint),
        "commit": printable(f"{(code.commit or 'unknown')[:12]}{' with changes' if code.dirty else ''}"),
        "command": printable(run_command(run)),
    }


def _note(line: str) -> Markup:
    """A note as a sentence of a page: what is between backticks is code, and the first letter is a capital."""
    from markupsafe import Markup, escape

    shown = str(escape(printable(f"{line[:1].upper()}{line[1:]}")))
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", shown))  # noqa: S704 - escaped above


def _figure(figure: Figure) -> dict[str, Any]:
    from markupsafe import Markup

    return {"svg": Markup(svg(figure)), "caption": figure.description}  # noqa: S704 - escaped by the XML writer


def _table(table: Table) -> dict[str, Any]:
    """A table's heads and cells as the template shows them: text, number to sort by, and an interval below it.

    A column without any text is left out.
    """
    rows = [[_cell(column, cell) for column, cell in zip(table.columns, row.cells, strict=True)] for row in table.rows]
    filled = [any(row[at].text or row[at].below for row in rows) for at in range(len(table.columns))]
    heads = [{"name": printable(column.name), "right": column.align == "right"} for column in table.columns]
    return {"heads": [*compress(heads, filled)], "rows": [[*compress(row, filled)] for row in rows]}


def _cell(column: Column, cell: Cell) -> PageCell:
    if isinstance(cell, Estimate):
        return PageCell(format(cell.value, column.number), interval(cell.ci, column.number), cell.value)
    if isinstance(cell, tuple):
        first, *rest = map(printable, cell)
        return PageCell(first, ", ".join(rest))
    value = cell if isinstance(cell, int | float) else None
    return PageCell(printable(column.written(cell)), value=value)
