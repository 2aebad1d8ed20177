"""Gates: what passes, what fails and why, and everything that can be wrong with a gate file."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from repoeval_bench.analysis.gates import GateConfig, gate
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.api.stored_runs import read_gates
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.gates import gate_junit, gate_markdown, gate_summary, gate_table
from support.runs import write_run

FILES = [f"f{i // 3}.py" for i in range(90)]
REPOS = [f"r{i // 30}" for i in range(90)]
FACTS = [{"is_method": i % 2 == 0, "lines": 7} for i in range(90)]


def run(tmp_path, name="a", shift=0.0, **options):
    values = np.random.default_rng(1).uniform(0.4, 0.6, 90) + shift
    settings = {"files": FILES, "repos": REPOS, "facts": FACTS, **options}
    return write_run(tmp_path / name, {"ndcg@10": values.tolist()}, **settings)


def check(config, scored, baseline=None):
    return gate(scored, GateConfig.model_validate(config), baseline)


def one(limit, scored, baseline=None):
    (result,) = check({"gates": [{"measure": "ndcg@10", **limit}]}, scored, baseline)
    return result


def test_the_lower_end_of_the_interval_decides(tmp_path):
    """A mean above the limit is not enough: the interval's lower end must reach it."""
    scored = run(tmp_path)
    table = scored.scores.table(["ndcg@10"])
    _, ((low, _),) = mean_intervals(table, scored.scores.clusters, scored.scores.repos, "micro")
    assert one({"at_least": low}, scored).passed
    between = (low + one({"at_least": 0}, scored).value) / 2
    failed = one({"at_least": between}, scored)
    assert not failed.passed
    assert failed.value > between
    assert "lower end" in failed.reason


def test_a_drop_is_held_against_the_interval_of_the_paired_difference(tmp_path):
    """The same drop for all: its interval goes no lower, so a drop of 0.02 passes 0.03 and fails 0.01."""
    base, scored = run(tmp_path), run(tmp_path, "b", shift=-0.02)
    assert one({"max_drop": 0.03}, scored, base).passed
    assert not one({"max_drop": 0.01}, scored, base).passed
    assert one({"max_drop": 0}, base, base).passed


def test_a_measure_that_is_no_share_may_have_a_limit_above_1(tmp_path):
    values = {"distinct_files@5": [4.0] * 90}
    scored = write_run(tmp_path / "a", values, files=FILES, repos=REPOS, facts=FACTS)
    assert one({"measure": "distinct_files@5", "at_least": 3}, scored).passed


def test_a_gate_on_a_measure_of_which_less_is_better_says_what_it_holds_off(tmp_path):
    """The rule is a floor, so it passes what got worse; the note says so, and no other gate has it."""
    values = {"redundancy@10": [0.5] * 90, "ndcg@10": [0.5] * 90}
    scored = write_run(tmp_path / "a", values, files=FILES, repos=REPOS, facts=FACTS)
    warned = one({"measure": "redundancy@10", "at_least": 0.1}, scored)
    assert warned.passed
    assert "redundancy@10" in warned.warning
    assert not one({"at_least": 0.1}, scored).warning


def test_segments_and_macro(tmp_path):
    """A gate looks at its segment alone, by repository, yes/no fact or number; macro averages repositories."""
    values = np.where(np.array(REPOS) == "r1", 0.1, 0.9) + np.resize([0.03, -0.03], 90)
    scored = write_run(tmp_path / "a", {"ndcg@10": values.tolist()}, files=FILES, repos=REPOS, facts=FACTS)
    assert one({"at_least": 0.85, "segment": {"repo": "r0"}}, scored).passed
    weak = one({"at_least": 0.85, "segment": {"repo": "r1"}}, scored)
    assert (weak.passed, weak.n_queries, weak.value) == (False, 30, pytest.approx(0.1))
    assert one({"at_least": 0.5, "segment": {"is_method": True}}, scored).n_queries == 45
    assert one({"at_least": 0.5, "mean": "macro"}, scored).value == pytest.approx(19 / 30)


@pytest.mark.parametrize("n_files", [1, 5])
def test_a_gate_on_too_few_files_is_refused(tmp_path, n_files):
    """Of five files no test ever decides: such a gate would fail whatever the run is."""
    scored = run(tmp_path, files=[f"f{i % n_files}.py" for i in range(90)], repos=["r"] * 90)
    with pytest.raises(UsageError, match="an interval takes at least 6") as error:
        one({"at_least": 0.1}, scored)
    assert f"its 90 queries are in {n_files} file" in str(error.value)


def test_a_gate_on_few_files_is_decided_with_a_warning(tmp_path):
    """The same words as those of `segments`, in every form of the results."""
    scored = run(tmp_path, files=[f"f{i % 9}.py" for i in range(90)], repos=["r"] * 90)
    result = one({"at_least": 0.1}, scored)
    assert result.passed
    assert "9 files" in result.warning
    assert gate_table([result], "run").notes == (f"note: {result.warning} (nDCG@10, micro)",)
    assert ET.fromstring(gate_junit([result], "run")).find("testsuite/testcase/system-out").text == result.warning
    assert result.warning in gate_markdown([result], "run")
    assert one({"at_least": 0.1}, run(tmp_path, "b")).warning == ""


def test_latency_limits(tmp_path):
    """Median and p90 as numpy has them."""
    scored = run(tmp_path, latency=[1.0] * 8 + [10.0, 20.0])
    result = check({"latency": [{"median_ms": 1, "p90_ms": 10}]}, scored)
    assert [(r.value, r.passed) for r in result] == [(1.0, True), (pytest.approx(11.0), False)]


def test_what_the_run_lacks_is_told_at_once(tmp_path):
    """Measures not scored, segments and steps that are not there, drops without a baseline: one sentence."""
    gates = [
        {"measure": "mrr", "at_least": 0.5},
        {"measure": "ndcg@10", "at_least": 0.5, "segment": {"rep": "r1"}},
        {"measure": "ndcg@10", "at_least": 0.5, "segment": {"repo": "r9"}},
        {"measure": "ndcg@10", "max_drop": 0.5},
    ]
    config = {"gates": gates, "latency": [{"step": "rerank", "p90_ms": 1}]}
    with pytest.raises(UsageError) as error:
        check(config, run(tmp_path, latency=[1.0]))
    for piece in (
        *("mrr was not scored", "did you mean 'repo'", "unknown repo 'r9'", "max_drop needs a run"),
        "no times of rerank",
    ):
        assert piece in str(error.value)


BROKEN = """
basline: x
gates:
  - {measure: ndgc@10, at_least: 0.58}
  - {measre: recall@10, max_drop: -1}
  - {measure: mrr, at_least: "0.5", mean: mikro}
  - {measure: mrr, at_least: 0.5, max_drop: 1, mean: mikro}
  - {measure: mrr, at_least: .nan}
  - {measure: mrr, at_leest: 0.5}
latency:
  - {p90: 3}
  - {step: retrieve}
"""


def test_all_problems_of_a_file_are_reported(tmp_path):
    """One look at the sentence tells every mistake, with its place and the nearest name."""
    path = tmp_path / "gates.yaml"
    path.write_text(BROKEN)
    with pytest.raises(UsageError) as error:
        read_gates(path)
    for piece in (
        "gates.yaml:4: gates[0]",
        "gates.yaml:2: unknown key",
        "did you mean 'baseline'",
        "gates[0].measure: unknown measure 'ndgc@10'; did you mean 'ndcg@10'",
        *("gates[1]: unknown key 'measre'", "gates[1].max_drop: a number"),
        "gates[2].at_least: a number was expected (it is '0.5')",
        *("gates[2].mean: 'micro' or 'macro' was expected", "gates[3].max_drop: give either at_least or max_drop"),
        *("gates[3].mean: 'micro' or 'macro' was expected", "gates[4].at_least", "latency[0]: unknown key 'p90'"),
        *("gates[5]: unknown key 'at_leest'; did you mean 'at_least'", "latency[1].p90_ms: give median_ms"),
    ):
        assert piece in str(error.value), piece


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "keys with values"),
        ("gates: []", "a file without a limit would always pass"),
        ("gates: [{measure: mrr, at_least: 1, segment: {a: 1, b: 2}}]", "gates[0].segment"),
    ],
)
def test_files_that_are_not_gate_files(tmp_path, text, message):
    """Broken YAML, nothing, an empty list and other shapes."""
    path = tmp_path / "gates.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_gates(path)
    assert message in str(error.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_gates(tmp_path / "none.yaml")


def test_reports_agree(tmp_path):
    """JUnit counts what failed and says why; Markdown lists the failed gate first."""
    scored = run(tmp_path)
    results = check({"gates": [{"measure": "ndcg@10", "at_least": limit} for limit in (0.1, 0.9)]}, scored)
    suite = ET.fromstring(gate_junit(results, "run & <id>")).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), len(suite.findall("testcase/failure"))) == ("2", "1", 1)
    assert suite.find("testcase").get("classname") == "run & <id>"
    lines = gate_markdown(results, "run").splitlines()
    assert lines[0] == "### 1 of 2 gates failed" == f"### {gate_summary(results)}"
    assert lines[6].startswith("| **FAILED** |")
    assert gate_summary(results[:1]) == "the gate passed"
