"""The script that chooses the packages of a shipped pack: each criterion leaves out what it should, and says so."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import pytest

from repoeval_bench.dataset.sources.index_client import open_index
from support.codebase import LEDGER_PY
from support.server import Site, serve

SCRIPT = Path(__file__).parents[3] / "scripts" / "choose_packages.py"
MIT = "License-Expression: MIT"
DAYS = ["2025-08-01", "2025-08-02", "2025-09-01"]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("choose_packages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bounds(script):
    return script.Bounds(lines=(10, 200), files=2, functions=2, documented=1, upload_days=2)


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Puts a package on an index: its licence's header, the days of its releases 1.0, 2.0 …, and its code."""
    site = Site()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)

    def put(name, licence=MIT, days=DAYS, code=LEDGER_PY, versions=()):
        files = []
        for number, day in enumerate(days, start=1):
            version = dict(enumerate(versions, start=1)).get(number, f"{number}.0")
            path = tmp_path / f"{name}-{version}-py3-none-any.whl"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(f"{name}/a.py", code)
                archive.writestr(f"{name}/b.py", "x = 1\n")
                archive.writestr(f"{name}-{version}.dist-info/METADATA", f"Name: {name}\n{licence}\n\nText\n")
            raw = path.read_bytes()
            site.files[f"files/{path.name}"] = raw
            files.append(
                {
                    "filename": path.name,
                    "url": f"/files/{path.name}",
                    "hashes": {"sha256": hashlib.sha256(raw).hexdigest()},
                    "upload-time": f"{day}T10:00:00.000000Z",
                }
            )
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": files}
        site.files[f"simple/{name}/"] = json.dumps(page).encode()

    with serve(site):
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")
        yield put


def examine(script, bounds, name, before="2025-12-01", since=""):
    with open_index() as index:
        return script.examined(index, name, bounds, before, since)


def test_the_newest_final_release_before_the_day_is_taken(script, bounds, publish):
    publish("good", versions=["1.0", "2.0", "3.0rc1"])
    found = examine(script, bounds, "good")
    assert (found.version, found.facts["first_release"], found.facts["released"]) == ("2.0", DAYS[0], DAYS[1])
    assert found.facts["licence"] == "MIT"
    assert examine(script, bounds, "good", before=DAYS[1]).version == "1.0"


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        ("License-Expression: Apache-2.0 OR BSD-2-Clause", "Apache-2.0 OR BSD-2-Clause"),
        ("Classifier: License :: OSI Approved :: BSD License", "BSD"),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT"),
    ],
)
def test_a_licence_is_permissive_by_its_own_metadata(script, bounds, publish, stated, licence):
    publish("good", licence=stated)
    assert examine(script, bounds, "good").facts["licence"] == licence


@pytest.mark.parametrize(
    ("package", "asked", "says"),
    [
        ({"licence": "License-Expression: GPL-3.0-only"}, {}, "its licence is GPL-3.0-only"),
        ({"licence": "License-Expression: MIT AND MPL-2.0"}, {}, "its licence is MIT AND MPL-2.0"),
        ({"licence": "License: MIT"}, {}, "not stated"),
        ({"licence": "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)"}, {}, "GPLv3"),
        ({"code": LEDGER_PY * 9}, {}, "lines of Python"),
        ({"code": "def short():\n    return 1\n" * 6}, {}, "no function that could be a task|sources give no task"),
        ({}, {"before": "2025-01-01"}, "no final release before 2025-01-01"),
        ({}, {"since": "2025-08-02"}, "its first release is of 2025-08-01"),
        ({"days": DAYS[:1]}, {"since": "2025-01-01"}, "it was uploaded on 1 days"),
    ],
)
def test_what_does_not_meet_a_criterion_is_left_out_with_the_reason(script, bounds, publish, package, asked, says):
    publish("other", **package)
    with pytest.raises((script.LeftOutError, script.DatasetError), match=says):
        examine(script, bounds, "other", **asked)


def test_the_projects_own_dependencies_and_repoevals_repositories_are_not_asked_for(script, bounds, publish):
    for name in ("click", "NumPy", "pytest", "redframes"):
        with pytest.raises(script.LeftOutError, match="dependency of this project, or a repository of RepoEval"):
            examine(script, bounds, name)


def test_each_list_is_gone_through_in_the_order_of_its_hash(script, bounds, publish, capsys):
    """The first that meets the criteria is taken, and each one that was left out before is named."""
    names = [f"pack{number}" for number in range(6)]
    order = script.in_order(names, "small@2026-01:")
    assert order == sorted(names, key=lambda each: hashlib.sha256(f"small@2026-01:{each}".encode()).hexdigest())
    assert order != script.in_order(names, "small@2026-02:")
    for name in names:
        publish(name, licence="License-Expression: GPL-3.0-only" if name == order[0] else MIT)
    recipe = script.Recipe(
        name="small",
        tasks=10,
        established=2,
        new=0,
        new_since="2025-07-01",
        domains={"all": names},
        recent=[],
        bounds=bounds,
    )
    assert [each.name for each in script.chosen(recipe, "2026-01", "2025-12-01")] == order[1:3]
    assert f"left out {order[0]}: its licence is GPL-3.0-only" in capsys.readouterr().out


def test_the_shipped_recipe_is_read(script):
    text = (script.PACKS / "pypi-40.yaml").read_text("utf-8")
    recipe = script.Recipe.model_validate(script.yaml.safe_load(text))
    assert len(recipe.domains) * recipe.established + recipe.new == 40
