"""docs/*.schema.json are those of the models, and what the commands print and read fits them."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml
from write_schemas import MODELS, schema

from support.codebase import write_modules
from support.command import json_of

ROOT = Path(__file__).resolve().parents[2]


def check(content, name):
    """Raise jsonschema's error unless the content fits the schema in docs/."""
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(content)


@pytest.mark.parametrize("name", MODELS)
def test_the_schema_in_the_docs_is_that_of_the_model(name):
    """Run scripts/write_schemas.py where this fails."""
    assert (ROOT / "docs" / f"{name}.schema.json").read_text("utf-8") == schema(name)


def test_a_recommendation_and_its_choice_fit(tmp_path):
    """With a choice, its costs and the file that keeps it; and without a choice, for too little code."""
    code = write_modules(tmp_path / "project", 12)
    words = ("--retriever", "bm25", "-c", "fixed", "-c", "ast", "--sizes", "200,400", "--current", "ast:max_nws=400")
    kept = tmp_path / "chunking.toml"
    answer = json_of("recommend", code, *words, "--write", kept, "--out", tmp_path / "out", home=tmp_path)
    assert answer["choice"]
    check(answer, "recommend")
    check(tomllib.loads(kept.read_text("utf-8")), "chunking")
    (tmp_path / "little").mkdir()
    (tmp_path / "little" / "a.py").write_text("x = 1\n")
    unmeasured = json_of("recommend", tmp_path / "little", *words[:6], "--out", tmp_path / "out", home=tmp_path)
    assert unmeasured["default"]
    check(unmeasured, "recommend")


@pytest.mark.parametrize("baseline", [[], ["--baseline", "fixed"]])
def test_a_comparison_fits(two_runs, baseline):
    answer = json_of("compare", two_runs.ast, two_runs.fixed, *baseline, "--out", two_runs.out)
    assert bool(answer["choice"]) is not bool(baseline)
    check(answer, "compare")


def test_the_gate_file_of_the_docs_fits():
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    (text,) = re.findall(r"^```yaml\n(# gates.yaml.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    check(yaml.safe_load(text), "gates")
