"""A leaderboard as one HTML page that needs no network; names of runs are untrusted and escaped by the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.leaderboard import BESIDE
from repoeval_bench.report.leaderboard import board_sentences, board_title, notes, summary, told_apart
from repoeval_bench.report.page.assets import environment, script, style
from repoeval_bench.report.page.scores import BAR, on_one_scale
from repoeval_bench.report.text import heading, printable, short_names

if TYPE_CHECKING:
    from typing import Any

    from repoeval_bench.analysis.leaderboard import Board, Leaderboard

SCRIPTS = ("tables.js", "ready.js")

PARTS = ("chunker", "embedder", "retriever")

STYLE = """
td .spec, th .spec { display: block; font-size: .74rem; font-weight: 400; color: var(--soft); }
th.part, td.part { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 17rem; }
th[scope=row].part { min-width: 9rem; }
@media (min-width: 760px) { th[scope=row].part { min-width: 13rem; } }
"""


def leaderboard_page(found: Leaderboard) -> str:
    """The page; the same leaderboard gives the same bytes."""
    code, digest = script(SCRIPTS)
    return (
        environment()
        .get_template("leaderboard.html")
        .render(
            title="Leaderboard",
            summary=summary(found),
            boards=[_board(board) for board in found.boards],
            beside=[heading(name) for name in BESIDE],
            notes=[printable(note) for note in notes(found)],
            bar_width=int(BAR),
            style=style(STYLE),
            script=code,
            script_hash=digest,
        )
    )


def _board(board: Board) -> dict[str, Any]:
    about, ranked = board_title(board)
    drawn = on_one_scale([(entry.score, entry.ci) for entry in board.entries])
    columns = [[getattr(entry, part) for entry in board.entries] for part in PARTS]
    short = zip(*map(_short, columns), strict=True)
    rows = []
    for entry, names, cell in zip(board.entries, short, drawn, strict=True):
        rows.append(
            {
                "run_id": printable(entry.run_id),
                "rank": entry.rank,
                **{
                    part: {"short": name, "full": full if name != (full := printable(getattr(entry, part))) else ""}
                    for name, part in zip(names, PARTS, strict=True)
                },
                "score": cell,
                "share": {"text": "-" if entry.share is None else f"{entry.share:.1%}", "value": entry.share},
                "behind": entry.behind,
                "best_in": entry.best_in,
                "told_apart": told_apart(entry),
                "rest": [
                    {"text": "-" if value is None else f"{value:{form}}", "value": value}
                    for value, form in (*((value, ".4f") for value in entry.beside), (entry.nws, ".0f"))
                ],
            }
        )
    return {
        "about": printable(about),
        "ranked": printable(ranked),
        "measure": heading(board.measure),
        "rows": rows,
        "sentences": [printable(line) for line in board_sentences(board)],
    }


def _short(specs: list[str]) -> list[str]:
    """What tells the specs of a column apart; equal ones stay equal."""
    different = list(dict.fromkeys(specs))
    names = dict(zip(different, map(printable, short_names(different)), strict=True))
    return [names[spec] for spec in specs]
