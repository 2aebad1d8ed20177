"""Results of `gate`: a table, JUnit XML for CI servers, Markdown for a GitHub step summary, words on a setting."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from repoeval_bench.analysis.gates import FEWEST, GateResult, Recheck
from repoeval_bench.core.words import count
from repoeval_bench.report.formats import markdown_table, markdown_text
from repoeval_bench.report.table import Column, Table, number, table_of
from repoeval_bench.report.text import ends_in_points, heading, more_points, with_interval


def gate_table(results: Sequence[GateResult], run: str) -> Table:
    """One row per gate, failed ones first."""
    columns = [
        Column(name="", value=lambda result: "passed" if result.passed else "FAILED"),
        Column(name="gate", value=gate_title),
        Column(name="rule", value=lambda result: result.rule),
        number("measured, 95 % CI", _measured),
        number("queries", lambda result: result.n_queries, "d"),
    ]
    return table_of(
        columns,
        sorted(results, key=lambda result: result.passed),
        title=f"gates of {run}",
        notes=_warnings(results),
        emphasis=lambda result: "" if result.passed else "strong",
    )


def _warnings(results: Sequence[GateResult]) -> list[str]:
    """Return a note for each warning, with the gates that share it."""
    titles: dict[str, list[str]] = {}
    for result in results:
        if result.warning:
            titles.setdefault(result.warning, []).append(gate_title(result))
    return [f"note: {warning} ({'; '.join(dict.fromkeys(gates))})" for warning, gates in titles.items()]


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


def recheck_sentence(result: Recheck) -> str:
    """Return if the setting still holds, and by which difference."""
    since = f"since {result.since[:12]}"
    commits = f"{count(result.questions, 'commit')} {since}"
    pair = result.comparison
    if pair is None:
        usable = count(result.questions, "usable commit")
        return f"Too little to judge: {usable} {since}, and {FEWEST} are needed. Keep {result.chosen.spec}."
    first = f"Keep {result.chosen.spec}: it still holds." if result.holds else f"{result.chosen.spec} no longer holds."
    finds = more_points(pair.difference)
    than = "as" if finds.startswith("about") else "than"
    is_surprising = not pair.is_significant and pair.ci and not pair.ci[0] <= 0 <= pair.ci[1]
    sure = "The difference is significant." if pair.is_significant else "The difference is not significant."
    if carrier := pair.verdict.carrier:
        sure = f"The difference rests on one {carrier.kind}, without which it is not significant."
    elif is_surprising:
        sure = "Corrected for few files, the difference is not significant; the interval is not corrected."
    way_out = "" if result.holds else " Run recommend again."
    return (
        f"{first} On {commits} ({count(result.files, 'file')}) it finds {finds} of the target lines {than} "
        f"{result.chosen.opponent}{ends_in_points(pair.ci)}. {sure}{way_out}"
    )


def recheck_record(result: Recheck) -> dict[str, Any]:
    """Return the same as plain values."""
    pair = result.comparison
    return {
        "holds": result.holds,
        "spec": result.chosen.spec,
        "opponent": result.chosen.opponent,
        "since": result.since,
        "questions": result.questions,
        "files": result.files,
        "measure": pair and pair.measure,
        "difference": pair and pair.difference,
        "ci": pair and pair.ci,
        "outcome": pair and pair.verdict.outcome,
        "notes": list(result.notes),
    }
