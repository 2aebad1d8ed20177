"""Results of gates: a table, JUnit XML for CI servers, and Markdown for a GitHub step summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from repoeval_bench.core.words import count
from repoeval_bench.report.formats import markdown_table, markdown_text
from repoeval_bench.report.table import Table, TableRow, figures, make_table
from repoeval_bench.report.text import heading, with_interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.gates import GateResult


def gate_table(results: Sequence[GateResult], run: str) -> Table:
    """One row per gate, failed ones first."""
    return make_table(
        ["", "gate", "rule", *figures("measured, 95 % CI"), *figures("queries", number="d")],
        [
            TableRow(
                (
                    "passed" if result.passed else "FAILED",
                    gate_title(result),
                    result.rule,
                    _measured(result),
                    result.n_queries,
                ),
                "" if result.passed else "strong",
            )
            for result in sorted(results, key=lambda result: result.passed)
        ],
        title=f"gates of {run}",
        notes=[f"note: {gate_title(result)}: {result.warning}" for result in results if result.warning],
    )


def gate_title(result: GateResult) -> str:
    """Return the gate's title, with its measure named as in tables; JSON and JUnit have the scored name."""
    measure, rest, where = result.name.partition(", ")
    return heading(measure) + rest + where


def gate_summary(results: Sequence[GateResult]) -> str:
    """Return how many failed, in one line."""
    failed = sum(not result.passed for result in results)
    if failed:
        return f"{failed} of {count(len(results), 'gate')} failed"
    return f"{'the gate' if len(results) == 1 else f'all {len(results)} gates'} passed"


def gate_markdown(results: Sequence[GateResult], run: str) -> str:
    """A section with a table, to be appended to a GitHub step summary."""
    table = gate_table(results, run)
    notes = "".join(f"\n- {markdown_text(note)}" for note in table.notes)
    return f"### {gate_summary(results)}\n\n`{run}`\n\n{markdown_table(table)}\n" + (f"{notes}\n" if notes else "")


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
        if result.warning:
            ET.SubElement(case, "system-out").text = result.warning
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _measured(result: GateResult) -> str:
    return f"{result.value:.3f} ms" if result.judged == "measured" else with_interval(result.value, result.ci)
