"""Results of gates: a table, JUnit XML for CI servers, and Markdown for a GitHub step summary."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from repoeval_bench.report.frame import count, new_table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from repoeval_bench.analysis.gates import GateResult


def gate_table(results: Sequence[GateResult], run: str) -> Table:
    """One row per gate, failed ones first."""
    table = new_table(f"gates of {run}")
    for column in ("", "gate", "rule"):
        table.add_column(column, no_wrap=True)
    for column in ("measured, 95 % interval", "queries"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in sorted(results, key=lambda each: each.passed):
        table.add_row(
            "passed" if result.passed else "FAILED", result.name, result.rule, _measured(result), str(result.n_queries)
        )
    return table


def gate_summary(results: Sequence[GateResult]) -> str:
    """How many failed, in one line."""
    failed = sum(not result.passed for result in results)
    if failed:
        return f"{failed} of {count(len(results), 'gate')} failed"
    return f"{'the gate' if len(results) == 1 else f'all {len(results)} gates'} passed"


def gate_markdown(results: Sequence[GateResult], run: str) -> str:
    """A section with a table, to be appended to a GitHub step summary."""
    lines = [
        f"### {gate_summary(results)}",
        "",
        f"`{run}`",
        "",
        "| | gate | rule | measured, 95 % interval | queries |",
        "|---|---|---|---:|---:|",
    ]
    for result in sorted(results, key=lambda each: each.passed):
        cells = (
            "passed" if result.passed else "**failed**", result.name, result.rule, _measured(result),
            str(result.n_queries),
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def gate_junit(results: Sequence[GateResult], run: str) -> str:
    """One test case per gate, a failure with its reason where it failed."""
    failures = str(sum(not result.passed for result in results))
    suites = ET.Element("testsuites", tests=str(len(results)), failures=failures)
    suite = ET.SubElement(
        suites, "testsuite", name="repoeval-bench gate", tests=str(len(results)), failures=failures, errors="0"
    )
    for result in results:
        case = ET.SubElement(suite, "testcase", classname=run, name=f"{result.name} {result.rule}", time="0")
        if not result.passed:
            failure = ET.SubElement(case, "failure", message=result.reason, type="gate")
            failure.text = f"{result.name} {result.rule}: {_measured(result)} over {result.n_queries}; {result.reason}"
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _measured(result: GateResult) -> str:
    return f"{result.value:.3f} ms" if result.judged == "measured" else plain(result.value, result.ci)
