"""Mirrors and upstream: what is verified, what is refused, what an interrupted fetch leaves behind."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import git_blob_id
from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import find_set, install, installed_sets
from repoeval_bench.dataset.loader import load_benchmark, obtain
from repoeval_bench.dataset.repoeval import DEFAULT as FUNCTION
from repoeval_bench.dataset.repoeval import TaskSet
from repoeval_bench.dataset.sources.archived import GitHub, MirrorFolder, MirrorUrl
from repoeval_bench.dataset.trees import text_hash
from support import minirepo
from support.server import Site, serve

LINE = TaskSet("line", "1k", "codegen")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def mirror(tmp_path):
    """A folder of the small set, to be changed; it passes for nobody else's."""
    return minirepo.build_mirror(tmp_path / "m")


@pytest.fixture
def official(tmp_path):
    """The same without a manifest, which is what RepoEval looks like."""
    return minirepo.build_mirror(tmp_path / "m", manifest=False)


def change_sources(monkeypatch, **changes):
    changed = dataclasses.replace(index.sources(), **changes)
    monkeypatch.setattr(index, "sources", lambda: changed)


@pytest.fixture
def published(monkeypatch):
    """Let the small set be what the index says RepoEval is, so that the official path runs on it."""
    hashes = {name: text_hash(raw) for name, raw in minirepo.tree_files().items() if name.endswith(".py")}
    raw = minirepo.jsonl(minirepo.rows())
    blobs = {TaskSet("function", context, "codex").task_file: git_blob_id(raw) for context in ("2k", "4k")}
    monkeypatch.setattr(index, "file_hashes", lambda tree: hashes if tree == "function_level" else {})
    change_sources(monkeypatch, task_files=blobs)


def served(mirror):
    return Site(files={path.name: path.read_bytes() for path in mirror.iterdir()})


def test_a_custom_set_is_named_so_and_never_passes_for_repoeval(tmp_path, home):
    benchmark = load_benchmark(str(minirepo.build_mirror(tmp_path / "m")), home=home)
    assert benchmark.name == "custom-mini-function-2k-codex"
    assert benchmark.is_whole
    (result,) = installed_sets(home, FUNCTION)
    assert not result.facts.official


def test_without_a_manifest_files_that_are_not_repoevals_are_refused(home, official):
    with pytest.raises(DatasetError, match=r"has a wrong hash: it is not RepoEval's.*repoeval\.json"):
        load_benchmark(str(official), home=home)
    assert not (home / "datasets").exists() or not list(home.rglob("*.jsonl"))


@pytest.mark.usefixtures("published")
def test_an_official_mirror_is_verified_file_by_file(home, official):
    result = install(home, MirrorFolder(official), FUNCTION)
    assert result.facts.official
    assert result.is_complete


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("wrapper", ["function_level", "x/function_level"])
def test_a_wrapper_folder_other_line_ends_and_files_of_others_change_nothing(tmp_path, home, wrapper):
    files = {f"{wrapper}/{name}": raw.replace(b"\r\n", b"\n") for name, raw in minirepo.tree_files().items()}
    files["__MACOSX/acme_inventory/._x.py"] = b"\xff"
    files[f"{wrapper}/acme_inventory/build/new.py"] = b"x = 1\n"
    mirror = minirepo.build_mirror(tmp_path / "m", manifest=False, files=files)
    source = MirrorFolder(mirror)
    result = install(home, source, FUNCTION)
    assert source.skipped == ("acme_inventory/build/new.py",)
    assert (result.tree / "acme_inventory" / "inventory" / "stock.py").is_file()
    assert not list(result.root.rglob("new.py"))


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda files: files.pop("northwind_textkit/setup.py"), "1 of 9 files are missing, first northwind"),
        (lambda files: files.update({"northwind_textkit/setup.py": b""}), "setup.py in .* has a wrong hash"),
    ],
)
def test_a_changed_or_missing_file_leaves_no_tree(tmp_path, home, change, complaint):
    files = minirepo.tree_files()
    change(files)
    mirror = minirepo.build_mirror(tmp_path / "m", manifest=False, files=files)
    with pytest.raises(DatasetError, match=complaint):
        install(home, MirrorFolder(mirror), FUNCTION)
    result = find_set(home, MirrorFolder(mirror).folder, FUNCTION)
    assert result is not None
    assert not result.is_complete
    assert not list(result.root.rglob("*.py"))


def test_a_tree_without_shipped_hashes_must_be_upstreams_archive(tmp_path, home, monkeypatch):
    mirror = minirepo.build_mirror(tmp_path / "m", "line", manifest=False)
    raw = minirepo.jsonl(minirepo.rows("line"))
    change_sources(monkeypatch, task_files={LINE.task_file: git_blob_id(raw)})
    with pytest.raises(DatasetError, match=r"line_and_api_level\.zip has a wrong hash"):
        install(home, MirrorFolder(mirror), LINE)
    archive = (mirror / "line_and_api_level.zip").read_bytes()
    change_sources(monkeypatch, archives={"line_and_api_level.zip": index.Archive("", git_blob_id(archive))})
    assert install(home, MirrorFolder(mirror), LINE).is_complete


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ("{", "is broken .*not valid JSON"),
        ('{"name": "../x"}', "name: a text of the form"),
        ('{"name": "x", "extra": 1}', "extra: this field does not exist"),
    ],
)
def test_a_broken_manifest_is_refused(home, manifest, complaint, mirror):
    (mirror / "repoeval.json").write_text(manifest)
    with pytest.raises(DatasetError, match=complaint):
        load_benchmark(str(mirror), home=home)


def test_an_edited_custom_set_is_installed_beside_the_old_one(home, mirror):
    first = load_benchmark(str(mirror), home=home)
    minirepo.build_mirror(mirror, task_rows=minirepo.rows()[1:])
    second = load_benchmark(str(mirror), home=home)
    assert len(second.tasks) == len(first.tasks) - 1
    assert first.fingerprint != second.fingerprint
    assert len(installed_sets(home, FUNCTION)) == 2


@pytest.mark.parametrize("name", ["datasets.zip", "function_level.zip"])
def test_a_truncated_archive_and_an_absent_one_are_one_clear_error(home, name, mirror):
    path = mirror / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DatasetError, match="cannot be read"):
        load_benchmark(str(mirror), home=home)
    path.unlink()
    with pytest.raises(DatasetError, match=f"holds no {name}"):
        load_benchmark(str(mirror), home=home)


def test_a_missing_and_an_empty_folder_are_named(tmp_path, home):
    (tmp_path / "empty").mkdir()
    for name, lacks in (("none", "does not exist"), ("empty", "has no archives")):
        with pytest.raises(DatasetError, match=rf"{name} {lacks}; datasets.zip and function_level.zip are expected"):
            load_benchmark(str(tmp_path / name), home=home)


@pytest.mark.usefixtures("published")
def test_an_address_is_asked_once(home, official):
    with serve(served(official)) as site:
        benchmark = load_benchmark(f"{site.url}/", home=home)
        before = len(site.requests)
        again = load_benchmark(site.url, home=home)
        assert len(site.requests) == before
    assert again == benchmark
    assert benchmark.fingerprint == load_benchmark(str(official), home=home).fingerprint
    assert not list(home.rglob("*.zip"))


@pytest.mark.usefixtures("published")
def test_a_fetch_that_was_interrupted_goes_on_and_never_counts_as_done(home, monkeypatch, official):
    taken = []

    def interrupted(self, tree):
        for pair in real(self, tree):
            if len(taken) == 3:
                raise KeyboardInterrupt
            taken.append(pair)
            yield pair

    real = MirrorUrl.tree_files
    with serve(served(official)) as site:
        source = MirrorUrl(site.url)
        monkeypatch.setattr(MirrorUrl, "tree_files", interrupted)
        with pytest.raises(KeyboardInterrupt):
            install(home, source, FUNCTION)
        result = find_set(home, source.folder, FUNCTION)
        assert result is not None
        assert not result.is_complete
        assert not list(result.root.rglob("*.py"))
        monkeypatch.setattr(MirrorUrl, "tree_files", real)
        site.requests.clear()
        assert install(home, MirrorUrl(site.url), FUNCTION).is_complete
        assert all("datasets.zip" not in path for path in site.requests)


@pytest.fixture
def upstream(tmp_path, monkeypatch):
    """A local server in the place of github, with the small set as what is published there."""
    mirror = minirepo.build_mirror(tmp_path / "up", manifest=False)
    site = served(mirror)
    pins = {name: git_blob_id(raw) for name, raw in site.files.items()}
    with serve(site):
        change_sources(
            monkeypatch, archives={name: index.Archive(f"{site.url}/{name}", pin) for name, pin in pins.items()}
        )
        yield site


@pytest.mark.usefixtures("published")
def test_upstream_is_fetched_verified_and_installed(home, upstream):
    upstream.breaks = [500]
    result = install(home, GitHub(), FUNCTION)
    assert result.is_complete
    assert upstream.requests[:2] == ["/datasets.zip"] * 2
    assert not list(home.rglob("*.zip*"))
    upstream.requests.clear()
    install(home, GitHub(), TaskSet("function", "4k", "codex"))
    assert upstream.requests == []


@pytest.mark.usefixtures("published")
def test_upstream_with_a_wrong_hash_is_refused_and_fetched_anew_next_time(home, upstream):
    right = upstream.files["datasets.zip"]
    upstream.files["datasets.zip"] = right + b"\0"
    with pytest.raises(DatasetError, match=r"datasets\.zip from .* has a wrong hash"):
        install(home, GitHub(), FUNCTION)
    assert not list(home.rglob("*.jsonl"))
    upstream.files["datasets.zip"] = right
    assert install(home, GitHub(), FUNCTION).is_complete


@pytest.mark.usefixtures("published")
def test_auto_takes_what_is_there_before_it_asks_anybody(tmp_path, home, upstream):
    install(home, MirrorFolder(minirepo.build_mirror(tmp_path / "m", manifest=False)), FUNCTION)
    obtained = obtain("auto", FUNCTION, home)
    assert (obtained.installed.facts.source, obtained.fetched) == ("mirror", False)
    assert upstream.requests == []


@pytest.mark.usefixtures("upstream")
def test_auto_never_takes_a_custom_set(tmp_path, home, published):
    load_benchmark(str(minirepo.build_mirror(tmp_path / "m")), home=home)
    obtained = obtain("auto", FUNCTION, home)
    assert obtained.installed.facts.source == "github"


@pytest.mark.parametrize(
    ("folder", "complaint"),
    [("set.json", r"set.json is broken .*; delete the folder"), ("file", "the data set cannot be written to")],
)
def test_a_home_that_is_broken_or_cannot_be_written_is_named(home, folder, complaint, mirror):
    if folder == "file":
        home.write_text("not a folder")
    else:
        load_benchmark(str(mirror), home=home)
        (installed_sets(home, FUNCTION)[0].root / "set.json").write_text("{")
    with pytest.raises(DatasetError, match=complaint):
        load_benchmark(str(mirror), home=home)


@pytest.mark.usefixtures("published")
def test_of_two_that_fetch_at_the_same_time_one_does_the_work(home, official):
    with serve(served(official)) as site, ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda _: load_benchmark(site.url, home=home), range(4)))
        archives = [path for path in site.requests if path.endswith(".zip")]
    assert sorted(archives) == ["/datasets.zip", "/function_level.zip"]
    assert all(benchmark == result[0] for benchmark in result)
