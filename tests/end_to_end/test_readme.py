"""The README and docs/first-ten-minutes.md show what the commands print, on the real data."""

import re
from pathlib import Path

import pytest

from repoeval_bench.embedding.models import cpu_has_bf16
from support.command import bench_process, python

README = Path(__file__).resolve().parents[2] / "README.md"


PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def blocks() -> list[str]:
    """The README's fenced blocks without a language."""
    text = re.sub(r"^```\w+\n.*?^```\n", "", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_it_is_short_and_has_the_two_commands_of_a_checkout():
    """A page of 110 lines and 800 words."""
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    assert len(text.split()) <= 800
    assert "make eval CHUNKER=ast\nmake test\n" in blocks()


def test_the_readmes_chunker_conforms(tmp_path, monkeypatch):
    """The function that the README shows passes the conformance suite."""
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms

    (source,) = PYTHON.findall(README.read_text(encoding="utf-8"))
    (tmp_path / "cutter.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert_chunker_conforms(make_chunker("py:cutter:halves"))


@pytest.mark.slow
def test_the_readmes_script_runs(tmp_path, mirror):
    """At most 20 lines compare an own function with `ast`, show a data frame, and write a figure."""
    pytest.importorskip("pandas")
    (script,) = PYTHON.findall(README.read_text(encoding="utf-8"))
    assert len(script.splitlines()) <= 20
    assert "load_benchmark()" in script
    (tmp_path / "cutter.py").write_text(script.replace("load_benchmark()", f"load_benchmark({str(mirror)!r})"), "utf-8")
    done = python("cutter.py", cwd=tmp_path, REPOEVAL_HOME=str(tmp_path), PYTHONPATH=str(README.parent))
    assert done.code == 0, done.err
    assert done.out.startswith("<Comparison line_recall_auc: ast")
    assert "query_id" in done.out
    assert (tmp_path / "recall.png").read_bytes()[1:4] == b"PNG"


def same_but_for_rounding(shown: str, printed: str) -> bool:
    """The same words and the same figures but for what another processor's last bits can move."""
    words = [
        line.replace("/", " ").replace("[", " ").replace("]", " ").replace(",", " ").split()
        for line in (shown, printed)
    ]
    return len(words[0]) == len(words[1]) and all(map(close, *words))


def close(a: str, b: str) -> bool:
    """Equal words; scores within 0.005, counts within 3."""
    if a == b:
        return True
    try:
        return abs(float(a.lstrip("<")) - float(b.lstrip("<"))) <= (0.005 if "." in a else 3)
    except ValueError:
        return False


@pytest.mark.full_data
@pytest.mark.slow
def test_every_figure_is_what_the_commands_print(real_source, tmp_path):
    """All 455 tasks by the three chunkers, from an empty cache: the README's answer line by line."""
    (shown,) = [block for block in blocks() if block.startswith("fixed wins ")]
    if not cpu_has_bf16():
        pytest.skip("README shows figures of bf16, and this CPU has no instructions for it")
    options = ("--source", real_source, "--out", tmp_path / "results")
    command = ("compare", "-c", "fixed", "-c", "ast", "-c", "chonkie")
    check_printed(shown, bench_process(*command, *options, home=tmp_path / "home", timeout=1500))


def check_printed(shown, done):
    """Each line of a block is among those of a command that has ended."""
    assert done.code == 0, done.err
    printed = done.out.splitlines()
    missing = [line for line in shown.splitlines() if not any(same_but_for_rounding(line, item) for item in printed)]
    assert not missing, "\n".join(missing)


@pytest.mark.full_data
@pytest.mark.network
@pytest.mark.slow
def test_every_block_of_the_first_ten_minutes_is_what_its_command_prints(real_source):
    """Typed again from the first to the last; the figures are of BM25, which every processor computes alike."""
    script = README.parent / "scripts" / "refresh_console.py"
    done = python(script, "--source", real_source, "--check", PYTHONPATH=str(README.parent))
    assert done.code == 0, done.err[-3000:]
