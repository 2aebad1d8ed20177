"""`gate` as CI runs it: exit codes, reports, and the file in the docs."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from support.command import bench, one_sentence, succeed
from support.runs import write_run

DOCS = Path(__file__).parents[2] / "docs" / "ci.md"
FILES = [f"f{i // 2}.py" for i in range(60)]


def run(tmp_path, name, level, **options):
    noise = np.random.default_rng(1).normal(0, 0.05, 60)
    values = dict.fromkeys(("ndcg@10", "recall@10"), np.clip(level + noise, 0, 1).tolist())
    facts = [{"is_method": i % 3 == 0} for i in range(60)]
    return write_run(tmp_path / name, values, files=FILES, facts=facts, latency=[2.0] * 60, **options).folder


@pytest.fixture
def config(tmp_path):
    """The first YAML block of docs/ci.md."""
    text = re.search(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL).group(1)
    path = tmp_path / "gates.yaml"
    path.write_text(text)
    return path


def test_the_gate_file_of_the_docs_passes_one_run_and_fails_another(tmp_path, config):
    """Exit 0 and 1; the failed gates are named on standard error, in JUnit XML and in the summary."""
    good, bad = run(tmp_path, "good", 0.8), run(tmp_path, "bad", 0.52)
    summary, junit = tmp_path / "summary.md", tmp_path / "gates.xml"
    options = ("--config", config, "--baseline", good, "--junit", junit)
    passed = succeed("gate", good, *options, GITHUB_STEP_SUMMARY=str(summary))
    assert "all 6 gates passed" in passed.out
    assert ET.parse(junit).getroot().get("failures") == "0"
    failed = bench("gate", bad, *options, GITHUB_STEP_SUMMARY=str(summary))
    assert failed.code == 1
    assert "3 of 6 gates failed" in failed.out
    assert "failed: nDCG@10, micro change at least -0.05" in failed.err
    assert "Traceback" not in failed.err
    assert ET.parse(junit).getroot().get("failures") == "3"
    assert [line for line in summary.read_text().splitlines() if line.startswith("###")] == [
        "### all 6 gates passed",
        "### 3 of 6 gates failed",
    ]
    rows = json.loads(bench("gate", bad, *options[:4], "--json", GITHUB_STEP_SUMMARY="").out)
    assert [row["passed"] for row in rows].count(False) == 3


def test_every_yaml_block_of_the_docs_is_yaml():
    """The workflow can be pasted."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert [type(yaml.safe_load(block)) for block in blocks] == [dict] * 4


def test_a_baseline_that_is_not_there_or_of_another_question_is_named(tmp_path, config):
    good, other = run(tmp_path, "good", 0.8), run(tmp_path, "other", 0.8, protocol="body")
    for baseline, said in ((tmp_path / "gone", "is not there"), (other, "protocol body against context")):
        assert said in one_sentence(bench("gate", good, "--config", config, "--baseline", baseline), 2)
