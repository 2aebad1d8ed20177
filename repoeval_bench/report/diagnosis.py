"""A diagnosis for the terminal and as Markdown."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING

from repoeval_bench.report.frame import count, heading, new_table, plain, probability, signed
from repoeval_bench.report.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from repoeval_bench.analysis.diagnosis import Check, Diagnosis, WorstQuery
    from repoeval_bench.analysis.diagnosis.gaps import Gap
    from repoeval_bench.analysis.diagnosis.worst import Place, Ranked

_GOLD_SHOWN = 8
_TEXT = 110


def summary(checks: Sequence[Check]) -> str:
    """How many checks found something, in one line."""
    found = [check.name for check in checks if check.status == "finding"]
    unknown = [check.name for check in checks if check.status == "unknown"]
    line = f"{count(len(found), 'finding')} of {len(checks)} checks" + (f": {', '.join(found)}" if found else "")
    return line + (f"; cannot be told: {', '.join(unknown)}" if unknown else "")


def checks_table(checks: Sequence[Check], title: str) -> Table:
    """One row per check, findings first: what it says, the numbers, and what they are held against."""
    table = new_table(title)
    table.add_column("", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("what it says", overflow="fold", max_width=64)
    table.add_column("numbers", overflow="fold", max_width=52)
    table.add_column("thresholds", overflow="fold", max_width=24)
    order = {"finding": 0, "fine": 1, "unknown": 2}
    for check in sorted(checks, key=lambda each: order[each.status]):
        table.add_row(
            check.status, check.name, printable(check.says), "\n".join(_numbers(check)),
            "\n".join(f"{name} {value:g}" for name, value in check.limits.items()),
        )  # fmt: skip
        table.add_row()
    return table


def gaps_table(gaps: Sequence[Gap], measure: str) -> Table:
    """One row per segment that is clearly behind the other queries."""
    table = new_table(f"segments behind the other queries, {heading(measure)}")
    for column in ("segment", "queries", "clusters", "mean", "other queries", "difference, 95 % interval", "p (Holm)"):
        table.add_column(column, justify="left" if column == "segment" else "right", no_wrap=True)
    for gap in gaps:
        table.add_row(*_gap(gap))
    return table


def worst_tables(found: Diagnosis) -> Iterator[Table]:
    """One table per query: gold above, then the run's top 10 and BM25's side by side, relevant ones marked."""
    for number, query in enumerate(found.worst, start=1):
        table = new_table("\n".join([f"{number}. {_title(query, found.measure)}", *_about(query)]))
        table.add_column("rank", justify="right", no_wrap=True)
        for name in _sides(found):
            table.add_column(name, no_wrap=True)
        for rank, cells in enumerate(_side_by_side(query), start=1):
            table.add_row(str(rank), *cells)
        yield table


def worst_note(found: Diagnosis, total: int) -> str:
    """What the tables of the worst queries are, and where BM25's ranking is from."""
    return (
        f"The worst {len(found.worst)} of {count(total, 'query', 'queries')} by {heading(found.measure)}; * is "
        f"relevant, lines count from 1. {found.note}"
    )


def diagnosis_markdown(found: Diagnosis, total: int) -> str:
    """The whole diagnosis as Markdown."""
    lines = [f"### {summary(found.checks)}", "", f"`{found.run}`", ""]
    lines += ["| | check | what it says | numbers |", "|---|---|---|---|"]
    for check in found.checks:
        mark = "**finding**" if check.status == "finding" else check.status
        lines.append(
            _row(mark, check.name, printable(check.says), "<br>".join(map(_escaped, _numbers(check))), raw_last=True)
        )
    for check in found.checks:
        if check.gaps:
            lines += ["", f"#### Segments behind the other queries, {heading(found.measure)}", ""]
            lines += ["| segment | queries | clusters | mean | other queries | difference, 95 % interval | p (Holm) |"]
            lines += ["|---|---:|---:|---:|---:|---:|---:|"]
            lines += [_row(*_gap(gap)) for gap in check.gaps]
    if found.worst:
        lines += ["", "#### Worst queries", "", worst_note(found, total)]
    for number, query in enumerate(found.worst, start=1):
        lines += ["", f"{number}. {_escaped(_title(query, found.measure))}", ""]
        lines += [f"   {_escaped(line)}<br>" for line in _about(query)]
        lines += ["", _row("rank", *_sides(found)), "|---:" + "|---" * len(_sides(found)) + "|"]
        lines += [_row(str(rank), *cells) for rank, cells in enumerate(_side_by_side(query), start=1)]
    return "\n".join([*lines, ""])


def _sides(found: Diagnosis) -> list[str]:
    return [printable(found.retriever), *([] if found.bm25 is None else ["BM25"])]


def _numbers(check: Check) -> list[str]:
    return [f"{name}: {_number(value)}" for name, value in check.numbers.items()]


def _number(value: float | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "not known"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _gap(gap: Gap) -> tuple[str, ...]:
    return (
        printable(f"{gap.by} = {gap.name}"), str(gap.n_queries), str(gap.n_clusters), f"{gap.mean:.4f}",
        f"{gap.rest:.4f}", signed(gap.difference, gap.ci), probability(gap.p_adjusted),
    )  # fmt: skip


def _title(query: WorstQuery, measure: str) -> str:
    first = f"first found at rank {query.first_hit}" if query.first_hit else "none found"
    return f"{printable(query.query_id)}: {plain(query.value, None).split()[0]} {heading(measure)}, {first}"


def _about(query: WorstQuery) -> list[str]:
    gold = [_place(place) for place in query.gold[:_GOLD_SHOWN]]
    more = f" and {len(query.gold) - _GOLD_SHOWN} more" if len(query.gold) > _GOLD_SHOWN else ""
    lines = [f"gold ({query.relevant}): {', '.join(gold) or 'no chunk'}{more}"]
    if query.query:
        said = [line.strip() for line in query.query.splitlines() if any(map(str.isalnum, line))]
        # A prompt ends where code is to be written; its last line says what is asked for.
        lines.append(f"query ends: {printable(said[-1][:_TEXT]) if said else ''}")
    return lines


def _side_by_side(query: WorstQuery) -> list[tuple[str, ...]]:
    sides = [query.top] if query.bm25 is None else [query.top, query.bm25]
    return [tuple(_result(each) for each in both) for both in zip_longest(*sides)]


def _result(each: Ranked | None) -> str:
    if each is None:
        return "-"
    return ("* " if each.relevant else "  ") + _place(each.place)


def _place(place: Place) -> str:
    """`file:13-40` with lines as editors count them, else the chunk's id."""
    if place.file is None or place.start_line is None or place.end_line is None:
        return printable(place.chunk_id)
    return printable(f"{place.file}:{place.start_line + 1}-{max(place.end_line, place.start_line + 1)}")


def _row(*cells: str, raw_last: bool = False) -> str:
    last = len(cells) - 1 if raw_last else len(cells)
    return "| " + " | ".join(cell if i >= last else _escaped(cell) for i, cell in enumerate(cells)) + " |"


def _escaped(text: str) -> str:
    for char in "\\|<>`":
        text = text.replace(char, f"&#{ord(char)};")
    return text
