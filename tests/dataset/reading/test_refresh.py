"""The next edition of a shipped pack: each criterion leaves out what it should and says so, and the facts make the pack."""

import hashlib
import json
import re
import sys

import pytest
from refresh_pack import (
    PERMISSIVE,
    LeftOutError,
    Recipe,
    choose_packages,
    examined,
    in_order,
    main,
    read_recipe,
    refresh_pack,
)

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.dataset import shipped
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.reading.opening import open_registry
from support.codebase import LEDGER_PY
from support.packages import ask_pip, wheel
from support.server import Site, serve

MIT = "License-Expression: MIT"
DAYS = ["2025-08-01", "2025-08-02", "2025-09-01"]
LEAST = {"lines": [10, 200], "files": 2, "functions": 2, "documented": 1, "upload_days": 2}


def recipe_of(**more):
    fields = {"name": "small", "registry": "pypi", "languages": ["python"], "tasks": 10, "established": 2}
    return Recipe.model_validate(fields | {"domains": {}, "bounds": LEAST} | more)


@pytest.fixture
def publish(monkeypatch):
    """Puts a package on an index: its licence's header, the days of its releases 1.0, 2.0 …, and its code."""
    site = Site()

    def put(name, licence=MIT, days=DAYS, code=LEDGER_PY, versions=()):
        files = []
        for number, day in enumerate(days, start=1):
            version = dict(enumerate(versions, start=1)).get(number, f"{number}.0")
            code_files = {f"{name}/a.py": code.encode(), f"{name}/b.py": b"x = 1\n"}
            raw = wheel(code_files, f"{name}-{version}", f"Name: {name}\n{licence}\n\nText\n")
            path = f"files/{name}-{version}-py3-none-any.whl"
            site.files[path] = raw
            stated = {"hashes": {"sha256": hashlib.sha256(raw).hexdigest()}, "upload-time": f"{day}T10:00:00.000000Z"}
            files.append({"filename": path.rpartition("/")[2], "url": f"/{path}", **stated})
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": files}
        site.files[f"simple/{name}/"] = json.dumps(page).encode()

    with serve(site):
        ask_pip(monkeypatch, f"{site.url}/simple/")
        yield put


def examine(name, before="2025-12-01", since=""):
    with open_registry("pypi") as registry:
        return examined(registry, name, recipe_of(), before, since)


def test_the_newest_final_release_before_the_day_is_taken(publish):
    publish("good", versions=["1.0", "2.0", "3.0rc1"])
    result = examine("good")
    assert (result.version, result.facts["first_release"], result.facts["released"]) == ("2.0", DAYS[0], DAYS[1])
    assert result.facts["licence"] == "MIT"
    assert examine("good", before=DAYS[1]).version == "1.0"


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        ("License-Expression: Apache-2.0 OR BSD-2-Clause", "Apache-2.0 OR BSD-2-Clause"),
        ("Classifier: License :: OSI Approved :: BSD License", "BSD"),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT"),
    ],
)
def test_a_licence_is_permissive_by_its_own_metadata(publish, stated, licence):
    publish("good", licence=stated)
    assert examine("good").facts["licence"] == licence


@pytest.mark.parametrize(
    ("package", "options", "says"),
    [
        ({"licence": "License-Expression: GPL-3.0-only"}, {}, "its licence is GPL-3.0-only"),
        ({"licence": "License-Expression: MIT AND MPL-2.0"}, {}, "its licence is MIT AND MPL-2.0"),
        ({"licence": "License: MIT"}, {}, "not stated"),
        ({"licence": "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)"}, {}, "GPLv3"),
        ({"code": LEDGER_PY * 9}, {}, "lines of code"),
        ({"code": "def short():\n    return 1\n" * 6}, {}, "0 functions that could be tasks|sources give no task"),
        ({"code": LEDGER_PY.replace('"""', "'")}, {}, "0 documented functions|0 functions that could be tasks"),
        ({}, {"before": "2025-01-01"}, "no final release before 2025-01-01"),
        ({}, {"since": "2025-08-02"}, "its first release is of 2025-08-01"),
        ({"days": DAYS[:1]}, {"since": "2025-01-01"}, "it was uploaded on 1 days"),
    ],
)
def test_what_does_not_meet_a_criterion_is_left_out_with_the_reason(publish, package, options, says):
    publish("other", **package)
    with pytest.raises((LeftOutError, DatasetError), match=says):
        examine("other", **options)


def test_the_projects_own_dependencies_and_repoevals_repositories_are_not_asked_for(publish):
    for name in ("click", "NumPy", "pytest", "redframes"):
        with pytest.raises(LeftOutError, match="dependency of this project, or a repository of RepoEval"):
            examine(name)


def test_what_an_edition_had_before_it_became_a_dependency_may_be_taken_again(publish, monkeypatch):
    monkeypatch.setattr(sys.modules["refresh_pack"], "requires", lambda _: ["packaging>=23", "good>=1"])
    for name in ("packaging", "good"):
        publish(name)
    assert examine("packaging").version
    with pytest.raises(LeftOutError, match="dependency of this project"):
        examine("good")


def test_each_list_is_gone_through_in_the_order_of_its_hash(publish, notices):
    """The first that meet the criteria are taken, and each one that was left out before is named."""
    names = [f"pack{number}" for number in range(6)]
    order = in_order(names, "small@2026-01:")
    assert order == sorted(names, key=lambda source: hashlib.sha256(f"small@2026-01:{source}".encode()).hexdigest())
    assert order != in_order(names, "small@2026-02:")
    for name in names:
        publish(name, licence="License-Expression: GPL-3.0-only" if name == order[0] else MIT)
    with open_registry("pypi") as registry:
        taken = list(choose_packages(recipe_of(domains={"all": names}), "2026-01", "2025-12-01", registry))
    assert [package.name for package in taken] == order[1:3]
    assert f"left out {order[0]}: its licence is GPL-3.0-only" in notices


@pytest.fixture
def own_recipe(publish, tmp_path):
    """The file of a recipe of one's own, with packages on the index."""
    for name in ("one", "two"):
        publish(name, code=LEDGER_PY.replace("Ledger", name.title()))
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(recipe_of(domains={"all": ["one", "two"]}).model_dump()))
    return path


def test_an_edition_of_ones_own_is_a_source(own_recipe, tmp_path, capsys):
    """The script writes facts alone, of which the pack is made; another edition of that name takes its place."""
    folder, home = tmp_path / "facts", tmp_path / "home"
    arguments = [str(own_recipe), "--edition", "2026-01", "--before", "2025-12-01", "-o", str(folder)]
    assert main(arguments) == 0
    assert "one-3.0" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"pack.yaml", shipped.FILES, shipped.TASKS, shipped.USES}
    whole = load_benchmark(folder, home=home)
    assert whole.is_whole
    assert {task.repo for task in whole.tasks} <= {"one-3.0", "two-3.0"}
    older = tmp_path / "older"
    refresh_pack(read_recipe(str(own_recipe)), "2026-01", DAYS[1], older)
    assert set(load_benchmark(older, home=home).files) == {"one-1.0", "two-1.0"}
    assert main(arguments) == 2  # the folder is there


def test_too_few_packages_are_one_sentence_and_nothing_is_written(own_recipe, tmp_path):
    with pytest.raises(DatasetError, match="all has 0 of 2 packages; add names to the recipe of small"):
        refresh_pack(read_recipe(str(own_recipe)), "2026-01", "2020-01-01", tmp_path / "facts")
    assert not (tmp_path / "facts").exists()


def test_an_unknown_pack_is_refused():
    with pytest.raises(UsageError, match="unknown pack 'pypi-44'; did you mean 'pypi-40'"):
        read_recipe("pypi-44")


def test_all_mistakes_of_a_recipe_are_said_at_once(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nregistry: crates\ntasks: 0\nnames: []\n")
    with pytest.raises(UsageError) as raised:
        read_recipe(str(path))
    for part in ("mine.yaml:2", "mine.yaml:3", "'names'", "bounds", "languages"):
        assert part in str(raised.value)


@pytest.mark.parametrize(("name", "packages"), [("pypi-40", 40), ("npm-12", 12), ("js-12", 12), ("native-8", 8)])
def test_a_shipped_recipe_is_read_and_its_edition_follows_it(name, packages):
    recipe = read_recipe(name)
    sources = shipped.shipped_pack(name).content.sources
    assert {part for source in sources for part in re.split(" AND | OR ", source.licence)} <= PERMISSIVE
    assert len(recipe.domains) * recipe.established + recipe.new == packages
    content = shipped.shipped_pack(name).content
    assert content.levels["function"].tasks == recipe.tasks
    assert set(content.languages) <= set(recipe.languages)
    expected = dict.fromkeys(recipe.domains, recipe.established) | ({"new": recipe.new} if recipe.new else {})
    assert {domain: len(packages) for domain, packages in shipped.packages_of(content).items()} == expected
    new = [source.model_extra for source in sources if source.model_extra["domain"] == "new"]
    assert all(facts["first_release"] >= recipe.new_since for facts in new)
    for domain, packages in shipped.packages_of(content).items():
        names = {package.rpartition("@")[0] or package.partition("==")[0] for package in packages}
        assert names <= set(recipe.domains.get(domain, recipe.recent))
