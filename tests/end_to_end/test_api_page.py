"""docs/api.md: its snippets run and print what the page says, and its reference has every public name."""

import contextlib
import inspect
import io
import re
import sys
from pathlib import Path

import pytest

import repoeval_bench
from repoeval_bench import recommend
from repoeval_bench.own.recommend.request import RecommendRequest
from repoeval_bench.runs.request import DataRequest
from support.codebase import write_modules

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text("utf-8")


@pytest.mark.slow
def test_the_snippets_run_from_the_first_to_the_last(tmp_path, monkeypatch):
    """In an empty folder beside a project; a block that begins with a file's name is that file."""
    for library in ("pandas", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_modules(tmp_path / "my-project", 12)
    (gates,) = re.findall(r"^```yaml\n(gates:.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    Path("gates.yaml").write_text(gates)
    before_reference = PAGE[: PAGE.index("\n## Reference")]
    names, ran = {"__name__": "page"}, 0
    for code in re.findall(r"^```python\n(.*?)^```", before_reference, flags=re.MULTILINE | re.DOTALL):
        if file := re.match(r"# (\w+\.py)\n", code):
            Path(file[1]).write_text(code)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/api.md", "exec"), names)
        said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
        assert set(said) <= set(printed.getvalue().splitlines()), code
        ran += 1
    assert ran >= 10
    assert Path("recall.png").read_bytes()[1:4] == b"PNG"
    for module in ("cutter", "mine"):
        sys.modules.pop(module, None)


def test_the_reference_has_every_public_name():
    assert {f"repoeval_bench.{name}" for name in repoeval_bench.__all__} <= set(re.findall(r"(?m)^::: (\S+)$", PAGE))


def test_help_of_recommend_names_every_option():
    """`fields` are those of a model, which `help` does not show by itself."""
    options = RecommendRequest.model_fields.keys() - DataRequest.model_fields.keys()
    assert {name for name in options if f"`{name}`" not in inspect.getdoc(recommend)} == set()
