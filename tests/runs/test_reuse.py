"""A stored run is taken for the run that would be made now, or it is made again."""

import sys

import pytest

from repoeval_bench import compare, evaluate, load_benchmark
from repoeval_bench.runs.naming import find_run
from support.minirepo import build_mirror

MODULE = """
from repoeval_bench import Chunk, LineSpan


def blocks(file, lines: int = 10):
    spans = (LineSpan(at, min(at + lines, file.n_lines)) for at in range(0, file.n_lines, lines))
    return [Chunk.cut(file, file.chars_of(span)) for span in spans if file.line_text(span).strip()]
"""


@pytest.fixture
def requests(tmp_path, monkeypatch):
    """What evaluates the small benchmark by BM25, and takes stored runs where they are the same."""
    monkeypatch.setenv("REPOEVAL_SOURCE", str(build_mirror(tmp_path / "mirror")))
    (tmp_path / "edited_chunker.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    benchmark = load_benchmark(str(tmp_path / "mirror"))
    yield lambda spec: evaluate(benchmark, spec, retriever="bm25", out=tmp_path / "results", reuse=True)
    sys.modules.pop("edited_chunker", None)


def test_a_chunker_of_ones_own_that_was_edited_has_its_new_scores(clean, requests, monkeypatch):
    """Its spec and its run's id are the same as before; a built-in one is not made again."""
    before = requests("py:edited_chunker:blocks")
    old = before.manifest.counts.chunks
    blocks = sys.modules["edited_chunker"].blocks
    monkeypatch.setattr(sys.modules["edited_chunker"], "blocks", lambda file, lines=10: blocks(file, lines // 3))
    after = requests("py:edited_chunker:blocks")
    assert after.run_id == before.run_id
    assert after.manifest.counts.chunks > old
    first, again = (requests("fixed").folder / "manifest.json" for _ in range(2))
    assert first.stat().st_mtime_ns == again.stat().st_mtime_ns


def test_a_chunkers_name_is_its_run_with_the_usual_options(requests, tmp_path):
    """Beside runs of other sizes, which a recommendation leaves in the same folder."""
    usual = requests("ast")
    requests("ast:max_nws=300")
    assert find_run("ast", tmp_path / "results").run_id == usual.run_id
    assert len(compare(["ast", "ast:max_nws=300"], out=tmp_path / "results")) > 0
