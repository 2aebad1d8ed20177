"""Shipped packs: made again from facts and packages of an index, held against hashes, and never silently a part."""

import gzip
import hashlib
import json
import re
import shutil
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from _listing import SOURCES
from _shipping import pack_table, ship

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.languages import MODULE_FILES
from repoeval_bench.dataset import shipped
from repoeval_bench.dataset.install import read_hashes
from repoeval_bench.dataset.loader import load_benchmark, obtain, task_set_at
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.opening import open_registry
from repoeval_bench.dataset.sources import TamperedError
from repoeval_bench.dataset.verification import verify
from repoeval_bench.own.packs.pack import build_pack
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.runs.request import RunRequest
from support import minirepo, packages
from support.command import bench, succeed
from support.indexes import needs_npm
from support.server import Site, serve

NAME = "small-2@2026-11"
NPM = [needs_npm, pytest.mark.slow]  # each start of npm takes a second of the processor
KINDS = ["pypi", pytest.param("npm", marks=NPM)]
VERSION = {"pypi": "1.0", "npm": "1.0.0"}
PROJECTS = {repo: repo.replace("_", "-") for repo in minirepo.REPOSITORIES}
FIRST = min(PROJECTS)


@pytest.fixture
def kind():
    """The registry that the packages are from; tests of both override it."""
    return "pypi"


def page_of(kind, repo):
    """Where the registry says what there is of a package."""
    return f"simple/{PROJECTS[repo]}/" if kind == "pypi" else PROJECTS[repo]


def stated(kind, repo, raw, site):
    """What the registry says of a package whose archive has these bytes."""
    name = archived(kind, repo)[0]
    if kind == "pypi":
        link = f'<a href="/files/{name}#sha256={hashlib.sha256(raw).hexdigest()}">{name}</a>'
        return f"<!DOCTYPE html><html><body>{link}</body></html>".encode()
    return packages.npm_page(PROJECTS[repo], "1.0.0", f"{site.url}/files/{name}", raw)


def archived(kind, repo):
    """(name, bytes) of a package: a wheel, or a tarball of npm's."""
    folder = repo if kind == "pypi" else "package"
    files = {f"{folder}/{name}": text.encode() for name, text in minirepo.REPOSITORIES[repo].items()}
    if kind == "npm":
        return f"{PROJECTS[repo]}-1.0.0.tgz", gzip.compress(packages.tarball(files, mode="w"), mtime=0)
    metadata = f"Metadata-Version: 2.4\nName: {repo}\nVersion: 1.0\nLicense-Expression: MIT\n\n"
    return f"{repo}-1.0-py3-none-any.whl", packages.wheel(files, f"{repo}-1.0", metadata)


@contextmanager
def serving(kind, patch, cache):
    """A registry on this machine: a page for each package, with the hash of its archive."""
    site = Site()
    with serve(site):
        for repo in PROJECTS:
            name, raw = archived(kind, repo)
            site.files |= {f"files/{name}": raw, page_of(kind, repo): stated(kind, repo, raw, site)}
        packages.ask_pip(patch, f"{site.url}/simple/")
        packages.ask_npm(patch, site.url, cache)
        yield site


@pytest.fixture
def index(kind, monkeypatch, tmp_path):
    with serving(kind, monkeypatch, tmp_path / "npm") as site:
        yield site


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Makes a pack of the packages of a kind, and the folder of its facts as they ship."""

    @cache
    def make(kind):
        folder = tmp_path_factory.mktemp(kind)
        with pytest.MonkeyPatch.context() as patch, serving(kind, patch, folder / "npm"):
            sources = tuple(SOURCES[kind].format(project, VERSION[kind]) for project in PROJECTS.values())
            pack = build_pack(BuildRequest(sources=sources, name=NAME), folder / "built")
        ship(pack, folder / "shipped", [{"domain": "letters"} for _ in sources])
        return pack, folder / "shipped"

    return make


@pytest.fixture
def built(make, kind, index, tmp_path, monkeypatch):
    """The pack, of which the facts ship and the packages are on the index."""
    pack, facts = make(kind)
    folder = tmp_path / "shipped" / NAME
    shutil.copytree(facts, folder)
    monkeypatch.setattr(shipped, "editions", lambda: {"small-2@2026-10": folder.parent / "none", NAME: folder})
    return pack


@pytest.mark.parametrize(("kind", "name"), [("pypi", "small-2"), ("pypi", NAME), pytest.param("npm", NAME, marks=NPM)])
def test_an_edition_is_the_pack_that_it_was_made_of(built, tmp_path, name):
    """Tasks, files and what they use are the same; the second time nothing is asked of the index."""
    whole = load_benchmark(built.root)
    loaded = load_benchmark(name, home=tmp_path / "home")
    assert (loaded.tasks, loaded.files, loaded.fingerprint) == (whole.tasks, whole.files, whole.fingerprint)
    assert any(task.uses for task in loaded.tasks)
    assert loaded.is_whole


def test_it_is_fetched_once_and_can_be_verified(built, index, tmp_path):
    home = tmp_path / "home"
    task_set = task_set_at("small-2", "function", "2k", "codex")
    assert obtain("small-2", task_set, home).fetched
    arguments = len(index.requests)
    again = obtain("small-2", task_set, home)
    assert not again.fetched
    assert len(index.requests) == arguments
    assert verify(again.installed).passed


def test_no_code_ships(built, tmp_path):
    folder = tmp_path / "shipped" / NAME
    text = "".join(shipped.read_table(folder / name) for name in (shipped.FILES, shipped.TASKS, shipped.USES))
    texts = [file for files in minirepo.REPOSITORIES.values() for file in files.values()]
    lines = {line.strip() for item in texts for line in item.split("\n")} - {""}
    assert not {line for line in text.splitlines() if line.strip() in lines}
    assert {path.name for path in folder.iterdir()} == {"pack.yaml", shipped.FILES, shipped.TASKS, shipped.USES}


def test_a_later_rule_moves_nothing(built, tmp_path, monkeypatch):
    """Nothing is drawn, examined or resolved when an edition is made."""
    for where in ("own.packs.pack.examine", "own.packs.pack.resolve_uses", "dataset.reading.code.name_reason"):
        monkeypatch.setattr(f"repoeval_bench.{where}", None)
    assert load_benchmark("small-2", home=tmp_path / "home").is_whole


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_package_cannot_be_had_nothing_is_made(built, kind, index, tmp_path):
    index.files.pop(page_of(kind, FIRST))
    with pytest.raises(
        DatasetError, match=f"1 of {len(PROJECTS)} packages of {NAME} cannot be had:\n  {PROJECTS[FIRST]}"
    ):
        load_benchmark("small-2", home=tmp_path / "home")
    assert not (tmp_path / "home" / "packs" / NAME).exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restated", [False, True], ids=["the old hash is stated", "the new one is stated"])
def test_a_package_that_was_tampered_with_ends_it(built, kind, index, tmp_path, restated):
    name, raw = archived(kind, FIRST)
    index.files[f"files/{name}"] = raw + b"\0"
    if restated:
        index.files[page_of(kind, FIRST)] = stated(kind, FIRST, raw + b"\0", index)
    with pytest.raises(TamperedError, match=r" hash|checksum failed|has SHA-256 \w+, and not "):
        load_benchmark("small-2", home=tmp_path / "home")
    assert not (tmp_path / "home" / "packs" / NAME).exists()


def test_facts_that_were_changed_are_noticed(built, tmp_path):
    """A task that is elsewhere than it was has another fingerprint."""
    path = tmp_path / "shipped" / NAME / shipped.TASKS
    first, row, *rest = shipped.read_table(path).splitlines()
    task_id, file, start, begin, end, name = row.split("\t")
    moved = "\t".join((task_id, file, start, begin, str(int(end) - 1), name))
    path.write_bytes(pack_table("\n".join([first, moved, *rest]) + "\n"))
    with pytest.raises(DatasetError, match=f"{task_id.rpartition('/')[0]} of {NAME} has fingerprint"):
        load_benchmark("small-2", home=tmp_path / "home")


def test_new_definitions_used_reach_a_pack_that_is_installed(built, index, tmp_path):
    """They are in no fingerprint of the manifest and need no package: they are renewed alone."""
    home = tmp_path / "home"
    before = load_benchmark("small-2", home=home)
    path = tmp_path / "shipped" / NAME / shipped.USES
    header, *rows = shipped.read_table(path).splitlines()
    dropped = next(row for row in rows if row.partition("\t")[0] in {task.task_id for task in before.tasks})
    rows.remove(dropped)
    path.write_bytes(pack_table("\n".join([header, *rows]) + "\n"))
    arguments = len(index.requests)
    after = load_benchmark("small-2", home=home)
    assert sum(len(task.uses) for task in after.tasks) == sum(len(task.uses) for task in before.tasks) - 1
    assert (after.files, len(index.requests)) == (before.files, arguments)


def test_a_request_takes_it_as_pack_or_as_source(built):
    by_pack, by_source = RunRequest(pack="small-2"), RunRequest(source="small-2")
    assert by_pack == by_source
    assert (by_pack.source, by_pack.pack) == (NAME, NAME)
    with pytest.raises(UsageError, match="brings its own data"):
        RunRequest(pack="small-2", source="/somewhere")


@pytest.mark.parametrize(
    ("name", "says"), [("small-2@2025-01", f"did you mean '{NAME}'"), ("small-3", f"choose from .*{NAME}")]
)
def test_another_edition_is_refused_and_nothing_else_is_run_in_its_place(built, name, says):
    done = bench("eval", "-c", "fixed", "--retriever", "bm25", "--set", f"pack={name}")
    assert (done.code, done.out) == (2, "")
    assert re.search(says, done.err)


def test_an_unknown_level_is_refused_before_anything_is_fetched(built, index):
    with pytest.raises(UsageError, match="has no task of level line"):
        task_set_at("small-2", "line", "2k", "codex")
    assert not index.requests


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("pypi-40", "tinydb-4.9.0"),
        ("pypi-40", "lark-1.3.1"),
        pytest.param("npm-12", "noble_hashes-2.4.0", marks=needs_npm),
        pytest.param("js-12", "nodemon-3.1.14", marks=needs_npm),
        ("native-8", "jiter-0.18.0"),
    ],
)
def test_a_shipped_package_is_what_was_pinned(name, repository, tmp_path):
    """Its hash is the pinned one, and the code that a build takes of it now is what the table of files has."""
    pack = shipped.shipped_pack(name)
    (source,) = (item for item in pack.content.sources if item.repository == repository)
    facts = source.model_extra
    with open_registry(shipped.registry_of(pack.content)) as registry:
        registry.open_release(facts["package"], facts["version"], tmp_path, facts)
        request = BuildRequest(
            sources=(SOURCES[shipped.registry_of(pack.content)].format(facts["package"], facts["version"]),),
            languages=tuple(pack.content.languages),
        )
    table = shipped.read_table(pack.root / shipped.FILES).splitlines()[1:]
    named = {row for row in table if row.startswith(f"{repository}/")}
    taken = read_hashes(build_pack(request, tmp_path / "pack").root / "repositories")
    assert {name for name in taken if Path(name).name not in MODULE_FILES} == named


@pytest.mark.parametrize("name", ["pypi-40", "npm-12", "js-12", "native-8"])
def test_the_shipped_editions_are_whole(name):
    """Each package is pinned, and every task that is counted has a place."""
    pack = shipped.shipped_pack(name)
    assert isinstance(pack, Pack)
    sources = pack.content.sources
    assert len({source.repository for source in sources}) == len(sources)
    assert all(len(element.model_extra["sha256"]) == 64 for element in sources)
    _, *places = shipped.read_table(pack.root / shipped.TASKS).splitlines()
    assert len(places) == pack.content.levels["function"].tasks == sum(item.model_extra["tasks"] for item in sources)


def test_eval_asks_by_every_protocol_that_suits(built, tmp_path):
    """Without --protocol it is asked by all four, the deciding one first; with one by that one alone."""
    words = ("--source", "small-2", "--retriever", "bm25", "-c", "fixed", "--set", "allow_sparse_qrels")
    arguments = ("eval", *words, "--out", tmp_path / "runs")
    done = succeed(*arguments, "--json", home=tmp_path / "home")
    assert [row["protocol"] for row in json.loads(done.out)] == list(shipped.PROTOCOLS)
    assert {item["dataset"]["name"] for item in json.loads(done.out)} == {f"pack-{NAME}-function-2k-code"}
    one = bench(*arguments, "--json", "--protocol", "body", home=tmp_path / "home")
    assert json.loads(one.out)["protocol"] == "body"
    # A run is checked against the pack that it names.
    checked = bench("verify", json.loads(one.out)["run_id"], "--out", tmp_path / "runs", home=tmp_path / "home")
    assert "is the same when it is run again" in checked.out, checked.err
