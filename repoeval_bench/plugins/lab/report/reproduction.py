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
        *_wide(rows, "causes", "what is changed", MEASURES),
        *_effects([row for row in rows if row.table == "causes" and row.measure == "ndcg@10"]),
        "## The effect of size alone",
        "",
        "Protocol `code-chunk`, BM25, so that no model's window has an effect. nDCG over chunks depends on the size; "
        "lines found are measured at equal budgets.",
        "",
        *_wide(rows, "sizes", "max_nws", (*MEASURES, "line_recall_auc")),
        *_size_effect([row for row in rows if row.table == "sizes"]),
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
        *_bm25([row for row in rows if row.table == "bm25"]),
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


def _wide(rows: Sequence[PublishedRow], table: str, first: str, measures: Sequence[str]) -> list[str]:
    cells = {(row.setting, row.system, row.measure): row for row in rows if row.table == table}
    lines = [f"| {first} | chunker | {' | '.join(map(heading, measures))} |", "|---|---|" + "---:|" * len(measures)]
    for setting, system in dict.fromkeys((setting, system) for setting, system, _ in cells):
        figures = (f"{cells[setting, system, measure].measured:.4f}" for measure in measures)
        lines.append(f"| {setting} | {system} | {' | '.join(figures)} |")
    return [*lines, "", *_commands([row for row in rows if row.table == table])]


def _effects(rows: Sequence[PublishedRow]) -> list[str]:
    """Tabulate the change of nDCG@10 by each cause alone, largest first."""
    first = rows[0].setting if rows else ""
    base = {row.system: row.measured or 0.0 for row in rows if row.setting == first}
    changes: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.setting != first:
            changes.setdefault(row.setting, {})[row.system] = (row.measured or 0.0) - base[row.system]
    if not changes:
        return []
    order = sorted(changes, key=lambda setting: -max(map(abs, changes[setting].values())))
    systems = list(base)
    return [
        "Change of nDCG@10 by each cause alone, largest first:",
        "",
        f"| cause | {' | '.join(systems)} |",
        "|---|" + "---:|" * len(systems),
        *(f"| {setting} | {' | '.join(f'{changes[setting][name]:+.3f}' for name in systems)} |" for setting in order),
        "",
    ]


def _size_effect(rows: Sequence[PublishedRow]) -> list[str]:
    """Return one sentence: the change from the smallest size to the largest, over chunks and over lines."""
    cells = {(row.system, row.setting, row.measure): row.measured or 0.0 for row in rows}
    sizes = list(dict.fromkeys(row.setting for row in rows))
    if len(sizes) < 2:
        return []
    parts = []
    for system in dict.fromkeys(row.system for row in rows):
        ndcg, lines = (cells[system, sizes[-1], m] - cells[system, sizes[0], m] for m in ("ndcg@10", "line_recall_auc"))
        parts.append(f"{system} by {ndcg:+.3f} and {lines:+.3f}")
    return [f"From {sizes[0]} to {sizes[-1]}, nDCG@10 and lines found change for " + ", for ".join(parts) + ".", ""]


def _bm25(rows: Sequence[PublishedRow]) -> list[str]:
    """Tabulate settings of BM25 that may be behind the published row, and the effect of each."""
    if not rows:
        return []
    base, published = rows[0].measured or 0.0, rows[0].published or 0.0
    rest = (rows[-1].measured or 0.0) - published
    is_judged = rows[0].status is not Status.NOT_JUDGED
    return [
        f"BM25 differs by {base - published:+.4f} from the published {published:.3f}. "
        "With the documented settings of others:",
        "",
        "| BM25 | whose setting | measured | 95 % interval | distance |",
        "|---|---|---:|---|---:|",
        *(
            f"| {row.setting} | {row.source} | {_figures(row)} | {(row.measured or 0.0) - published:+.4f} |"
            for row in rows
        ),
        "",
        *_commands(rows),
        "Compared with the first row:",
        "",
        "| setting | difference |",
        "|---|---|",
        *(f"| {row.setting} | {(row.measured or 0.0) - base:+.4f} |" for row in rows[1:]),
        "",
        *([f"With the settings of CodeRAG-Bench's own code, {rest:+.4f} remains.", ""] if is_judged else []),
    ]


def _commands(rows: Sequence[PublishedRow]) -> list[str]:
    return ["```", *dict.fromkeys(row.command for row in rows if row.command), "```", ""]
