"""A leaderboard as a folder of HTML pages that need no network, with its data as CSV and JSON.

Names of runs are untrusted and escaped by the templates. The same leaderboard gives the same bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import READ
from repoeval_bench.analysis.leaderboard import BESIDE
from repoeval_bench.analysis.standings import agreements, standings
from repoeval_bench.analysis.updates import read_updates
from repoeval_bench.core.files import write_named
from repoeval_bench.core.spec import slug
from repoeval_bench.report.leaderboard import (
    board_sentences,
    leaderboard_csv,
    leaderboard_records,
    notes,
    summary,
    told_apart,
)
from repoeval_bench.report.page.assets import environment, script, style
from repoeval_bench.report.page.scores import BAR, on_one_scale
from repoeval_bench.report.plots import svg
from repoeval_bench.report.plots.standings import frontier_figure, sizes_figure
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.standings import (
    against_table,
    agreement_table,
    best_table,
    frontier_table,
    languages_table,
    sizes_table,
    standing_csvs,
    standing_record,
)
from repoeval_bench.report.table import Estimate
from repoeval_bench.report.text import heading, interval, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.analysis.leaderboard import Entry, Leaderboard
    from repoeval_bench.analysis.standings import Standing
    from repoeval_bench.analysis.updates import StabilityRow
    from repoeval_bench.report.plots import Figure
    from repoeval_bench.report.table import Cell, Column, Table

SCRIPTS = ("tables.js", "ready.js")

STYLE = """
td .spec, th .spec { display: block; font-size: .74rem; font-weight: 400; color: var(--soft); }
td.part, th.part { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; max-width: 17rem; }
@media (min-width: 760px) { th[scope=row].part { min-width: 13rem; } }
"""


def write_site(found: Leaderboard, folder: Path, *, updates: Path | None = None) -> list[Path]:
    """Write index.html, a page for each data set and retriever, leaderboard.csv and leaderboard.json; their paths.

    The boards are those of `leaderboard(…, apart=True)`. `updates` is a file with what `chunk-stats OLD --against NEW
    --json` printed. A ResultError where the folder cannot be written.
    """
    written = []
    for name, content in site_files(found, read_updates(updates) if updates else ()).items():
        write_named(folder / name, content, "another folder with --site")
        written.append(folder / name)
    return written


def site_files(found: Leaderboard, updates: Sequence[StabilityRow] = ()) -> dict[str, str]:
    """Name -> content of every file of the site."""
    ranked = standings(found.boards, updates)
    pages: dict[str, list[Standing]] = {}
    for each in ranked:
        pages.setdefault(_page_name(each), []).append(each)
    agreed = agreements(ranked)
    records = leaderboard_records(found) | {"standings": [standing_record(each) for each in ranked]}
    tables = {"leaderboard.csv": leaderboard_csv(found), **standing_csvs(ranked, agreed)}
    index = _render(
        "site.html",
        title="Leaderboard of code chunkers",
        summary=summary(found),
        best=_table(best_table(ranked)),
        pages=[(name, _page_title(of_page[0])) for name, of_page in pages.items()],
        agreement=_table(agreement_table(agreed)),
        data=[*tables, "leaderboard.json"],
        notes=[printable(note) for note in notes(found)],
    )
    return {
        "index.html": index,
        **{name: _page(of_page) for name, of_page in pages.items()},
        **tables,
        "leaderboard.json": json.dumps(records, indent=1, ensure_ascii=False) + "\n",
    }


def _page(found: Sequence[Standing]) -> str:
    return _render(
        "board.html",
        title=_page_title(found[0]),
        boards=[_board(each) for each in found],
        against=_table(against_table(found)),
        bar_width=int(BAR),
    )


def _render(template: str, **content: Any) -> str:
    code, digest = script(SCRIPTS)
    page = environment().get_template(template)
    return page.render(style=style(STYLE), script=code, script_hash=digest, **content)


def _page_name(found: Standing) -> str:
    """By data, retriever, embedder and precision: what its boards share."""
    first = found.board.runs[0].metrics
    return f"{slug(f'{first.dataset.name}-{found.ranker}', 100).lower()}.html"


def _page_title(found: Standing) -> str:
    return printable(f"{found.board.runs[0].metrics.dataset.name} by {found.ranker}")


def _board(found: Standing) -> dict[str, Any]:
    board = found.board
    drawn = on_one_scale([(entry.score, entry.ci) for entry in board.entries])
    figures = [figure for figure in (sizes_figure(found), frontier_figure(found)) if figure]
    return {
        "id": slug(board.protocol),
        "protocol": printable(board.protocol),
        "about": printable(board.dataset),
        "ranked": f"by the {board.over} mean of {heading(board.measure)} over the top {board.k}"
        + (f" · vectors in {printable(board.precision)}" if board.precision else ""),
        "measure": heading(board.measure),
        "beside": [heading(name) for name in BESIDE],
        "rows": [_row(entry, found, cell) for entry, cell in zip(board.entries, drawn, strict=True)],
        "sentences": [printable(line) for line in board_sentences(board)],
        "figures": [_figure(figure) for figure in figures],
        "sizes": _table(sizes_table(found)),
        "frontier": _table(frontier_table(found)),
        "languages": ", ".join(found.languages),
        "by_language": _table(languages_table(found)),
        "made": [_made(entry, found) for entry in board.entries],
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
        "mark": printable(entry.mark),
        "score": cell,
        "share": entry.share,
        "behind": entry.behind,
        "best_in": entry.best_in,
        "told_apart": told_apart(entry),
        "against": against and (against[0].difference, against[0].ci, against[0].verdict),
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


def _made(entry: Entry, found: Standing) -> dict[str, str]:
    """What a row is and the command that makes it."""
    run = next(run for run in found.board.runs if run.run_id == entry.run_id)
    code = run.manifest.code
    return {
        "label": printable(found.placed[entry.run_id].label),
        "run_id": printable(entry.run_id),
        "fingerprint": printable(run.metrics.dataset.fingerprint),
        "commit": printable(f"{(code.commit or 'unknown')[:12]}{' with changes' if code.dirty else ''}"),
        "command": printable(run_command(run)),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    from markupsafe import Markup

    return {"svg": Markup(svg(figure)), "caption": figure.description}  # noqa: S704 - escaped by the XML writer


def _table(table: Table) -> dict[str, Any]:
    """A table's heads and cells as the template shows them: text, number to sort by, and an interval below it."""
    return {
        "heads": [{"name": printable(column.name), "right": column.align == "right"} for column in table.columns],
        "rows": [
            [_cell(column, cell) for column, cell in zip(table.columns, row.cells, strict=True)] for row in table.rows
        ],
    }


def _cell(column: Column, cell: Cell) -> Mapping[str, Any]:
    if isinstance(cell, Estimate):
        below = interval(cell.ci, column.number)
        return {"text": format(cell.value, column.number), "below": below, "value": cell.value}
    if isinstance(cell, tuple):
        first, *rest = map(printable, cell)
        return {"text": first, "below": ", ".join(rest), "value": None}
    value = cell if isinstance(cell, int | float) else None
    return {"text": printable(column.written(cell)), "below": "", "value": value}
