"""The page of published numbers: tables, verdicts, a sentence on each, and the commands behind them."""

from __future__ import annotations

from collections.abc import Sequence

from repoeval_bench.core.words import count
from repoeval_bench.plugins.lab.reproduction import CODERAG_TOLERANCE, MEASURES, TOLERANCE, PublishedRow, Status
from repoeval_bench.report.text import heading


# Longer than 60 lines: it is the page's text.
def format_page(label: str, rows: Sequence[PublishedRow], repositories: int) -> str:
    """Return the Markdown page: tables, verdicts and the commands that print the figures.

    `repositories` is the number of repositories that CodeRAG-Bench's rows are averaged over.
    """
    expected = [row for row in rows if row.table == "expected"]
    reproduced = sum(row.status is Status.REPRODUCED for row in expected)
    tally = next((_verdict(row) for row in expected if row.status is Status.NOT_JUDGED), "")
    tally = tally or f"{reproduced} of {len(expected)} cells are"
    lines = [
        "# Published numbers, measured again",
        "",
        f"{label}. Means are each protocol's headline (micro under `context`, macro over repositories otherwise); "
        "intervals are 95 %, clustered by file. The commands below each table print its figures.",
        "",
        "## The expected results",
        "",
        "The source gives approximate values and does not name the embedding model. "
        f"A cell counts as reproduced within {TOLERANCE}: {tally}.",
        "",
        "| protocol | chunker | measure | expected | measured | 95 % interval | verdict |",
        "|---|---|---|---:|---:|---|---|",
        *(
            f"| {row.setting} | {row.system} | {heading(row.measure)} | ~{row.published:.2f} | {_figures(row)} | "
            f"{_verdict(row)} |"
            for row in expected
        ),
        "",
        *_commands(expected),
        "## Causes, each switched on alone",
        "",
        "The base is protocol `code-chunk` with MiniLM, which reads 256 tokens of a text, and no context headers.",
        "",
        *_causes([row for row in rows if row.table == "causes"]),
        "## CodeRAG-Bench, RepoEval function level",
        "",
        f"nDCG@10, macro over {count(repositories, 'repository')}; a row counts as reproduced "
        f"within {CODERAG_TOLERANCE} points.",
        "",
        "| system | published | measured | 95 % interval | verdict |",
        "|---|---:|---:|---|---|",
        *(
            f"| {row.system} | {'' if row.published is None else f'{row.published:.3f}'} | {_figures(row)} | "
            f"{_verdict(row)} |"
            for row in rows
            if row.table == "coderag"
        ),
        "",
        *_commands([row for row in rows if row.table == "coderag"]),
        "Rows of dense models are measured where a model is named: "
        "`repoeval-bench lab reproduce --embedder st:BAAI/bge-base-en-v1.5`; a model that is not available is a row "
        "that says so.",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _verdict(row: PublishedRow) -> str:
    """Return the status in words, with the distance or the reason; empty if nothing was published."""
    if row.status is Status.NOT_PUBLISHED:
        return ""
    words = row.status.replace("_", " ")
    if row.reason or row.measured is None or row.published is None:
        return f"{words}: {row.reason}"
    return f"{words} ({row.measured - row.published:+.3f})"


def _figures(row: PublishedRow) -> str:
    if row.measured is None:
        return "| "
    # Fewer than six files have no interval.
    return f"{row.measured:.4f} | " + ("" if row.low is None else f"[{row.low:.4f}, {row.high:.4f}]")


def _causes(rows: Sequence[PublishedRow]) -> list[str]:
    cells = {(row.setting, row.system, row.measure): row.measured for row in rows}
    lines = [f"| what is changed | chunker | {' | '.join(map(heading, MEASURES))} |", "|---|---|---:|---:|---:|---:|"]
    for setting, system in dict.fromkeys((row.setting, row.system) for row in rows):
        figures = (f"{cells[setting, system, measure]:.4f}" for measure in MEASURES)
        lines.append(f"| {setting} | {system} | {' | '.join(figures)} |")
    return [*lines, "", *_commands(rows)]


def _commands(rows: Sequence[PublishedRow]) -> list[str]:
    return ["```", *dict.fromkeys(row.command for row in rows if row.command), "```", ""]
