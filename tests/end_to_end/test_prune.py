"""`runs --prune` removes runs and built packs, after a question, and nothing else."""

import shutil

import pytest

from repoeval_bench.cli.cache import show_size
from support.codebase import LEDGER_PY
from support.command import bench, json_of, one_sentence, succeed
from support.runs import change


@pytest.fixture(scope="module")
def recommended(tmp_path_factory):
    """A folder of results as `recommend` leaves it, and what it said on standard error."""
    here = tmp_path_factory.mktemp("recommended")
    (here / "code").mkdir()
    (here / "code" / "ledger.py").write_text(LEDGER_PY)
    words = ("-c", "fixed", "-c", "window", "--retriever", "bm25", "--sizes", "200")
    done = succeed("recommend", here / "code", *words, "--out", here / "results", home=here / "home")
    return here / "results", done.err


@pytest.fixture
def results(recommended, tmp_path):
    """A copy, with a file and a folder of the user's beside the runs."""
    copy = shutil.copytree(recommended[0], tmp_path / "results")
    (copy / "notes.txt").write_text("mine\n")
    (copy / "mine").mkdir()
    return copy


def size(folder):
    files = {path.stat().st_ino: path for path in folder.rglob("*") if path.is_file()}
    return sum(path.stat().st_size for path in files.values())  # runs share equal files


def test_a_recommendation_ends_with_its_folder_and_size(recommended):
    folder, said = recommended
    last = said.splitlines()[-1]
    assert last.startswith(f"{folder} now has {show_size(size(folder))};")
    assert f"runs --prune all --out {folder}" in last


def test_all_runs_and_packs_go_and_what_is_the_users_stays(results):
    before = size(results)
    tried = json_of("runs", "--prune", "all", "--dry-run", "--out", results)
    assert (tried["removed"], len(tried["folders"]), size(results)) == (False, 3, before)
    done = json_of("runs", "--prune", "all", "--yes", "--out", results)
    assert (done["removed"], done["folders"]) == (True, tried["folders"])
    assert sorted(path.name for path in results.iterdir()) == ["mine", "notes.txt", "packs"]
    assert not list((results / "packs").iterdir())
    assert sum(folder["bytes"] for folder in done["folders"]) <= before


@pytest.mark.parametrize("earlier", [False, True])
def test_unfinished_runs_and_one_by_name(results, earlier):
    """A run of an earlier schema is one: no other command reads it."""
    first, second = sorted(path.parent for path in results.glob("*/manifest.json"))
    if earlier:
        change(first / "manifest.json", lambda manifest: manifest.update(schema=4))
    else:
        (first / "manifest.json").unlink()
    succeed("runs", "--prune", "unfinished", "--yes", "--out", results)
    assert (first.exists(), second.exists()) == (False, True)
    succeed("runs", "--prune", second.name, "--yes", "--out", results)
    assert not second.exists()
    assert len(list((results / "packs").iterdir())) == 1


def test_nothing_is_removed_without_an_answer_or_where_it_is_not_a_run(results, tmp_path):
    first, second = sorted(path.parent for path in results.glob("*/manifest.json"))
    before = size(results)
    assert "give --yes, or --dry-run" in one_sentence(bench("runs", "--prune", "all", "--out", results), 2)
    assert "without --prune" in one_sentence(bench("runs", "--yes", "--out", results), 2)
    (first / "thesis.tex").write_text("mine\n")
    for name in ("all", first.name):
        sentence = one_sentence(bench("runs", "--prune", name, "--yes", "--out", results), 2)
        assert "thesis.tex" in sentence
    (first / "thesis.tex").unlink()
    outside = shutil.copytree(second, tmp_path / "elsewhere" / second.name)
    assert f"is not in {results}" in one_sentence(bench("runs", "--prune", outside, "--yes", "--out", results), 2)
    (results / "linked").symlink_to(outside)
    assert "is a link" in one_sentence(bench("runs", "--prune", results / "linked", "--yes", "--out", results), 2)
    assert "is not a finished run" in one_sentence(bench("runs", "--prune", "mine", "--yes", "--out", results), 2)
    assert size(results) >= before
    assert outside.exists()
