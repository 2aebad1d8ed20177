"""Folders of runs brought together: whole runs only, and never two of one name that differ."""

import json

import pytest

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.plugins.cluster.merge import merge
from repoeval_bench.runs.view import RunView
from support.folders import content
from support.runs import edit, read_text, write_run, write_text

VALUES = {"ndcg@10": [0.25, 0.5, 1.0]}


def folders(tmp_path, *names):
    """A folder for each word of names, with a run for each of its letters."""
    for name in names:
        for letter in name:
            write_run(tmp_path / name / letter, VALUES, chunker=letter)
    return [tmp_path / name for name in names]


def test_runs_of_all_folders_are_copied_once(tmp_path):
    """Equal runs in two folders are one; what is in --out stays as it is; times do not matter."""
    parts = folders(tmp_path, "ab", "bc")
    edit(RunView(parts[1] / "b"), "manifest.json", created="2027-01-01T00:00:00+00:00")
    (parts[1] / "b" / "timings.jsonl").write_text('{"step": "judge", "seconds": 7.0}\n')
    out = tmp_path / "out"
    assert merge(parts, out).copied == ("a", "b", "c")
    assert content(out) == content(tmp_path / "ab") | content(tmp_path / "bc") | content(tmp_path / "ab")
    assert sorted(path.name for path in out.iterdir()) == ["a", "b", "c"]
    again = merge(parts, out)
    assert (again.copied, again.there) == ((), ("a", "b", "c"))


@pytest.mark.parametrize("file", ["run.trec.gz", "metrics.json", "per_query.jsonl"])
def test_one_id_with_other_bytes_is_an_error_and_nothing_is_merged(tmp_path, file):
    """The file that differs is named, whether the other run is in --out or in another part."""
    first, second = folders(tmp_path, "ab", "b")
    path = second / "b" / file
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ResultError, match=rf"b and \S+/ab/b have one id and differ in {file}"):
        merge([first, second], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    merge([first], tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(ResultError, match=f"differ in {file}"):
        merge([second], tmp_path / "out")
    assert content(tmp_path / "out") == before


def test_all_broken_runs_are_named_and_nothing_is_merged(tmp_path):
    """A file that ends early, other means than its rows have, a folder that was renamed."""
    (part,) = folders(tmp_path, "abcd")
    log = part / "a" / "retrieved.jsonl.gz"
    write_text(log, read_text(log)[:-9])
    edit(RunView(part / "b"), "metrics.json", micro={"ndcg@10": 0.9})
    (part / "c").rename(part / "x")
    with pytest.raises(ResultError) as told:
        merge([part], tmp_path / "out")
    sentence = str(told.value)
    assert "a/retrieved.jsonl.gz" in sentence
    assert "say different things of" in sentence
    assert "x holds the run c" in sentence
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_is_counted_and_a_missing_folder_refused(tmp_path):
    (part,) = folders(tmp_path, "ab")
    (part / "a" / "manifest.json").unlink()
    result = merge([part], tmp_path / "out")
    assert (result.copied, result.unfinished) == (("b",), (str(part / "a"),))
    with pytest.raises(UsageError, match="nope: no such folder"):
        merge([part, tmp_path / "nope"], tmp_path / "out")


def test_runs_that_differ_only_in_when_they_were_made_are_equal(tmp_path):
    """`created` is the one time in a manifest; another commit is another run."""
    first, second = folders(tmp_path, "a", "aa")
    manifest = json.loads((second / "a" / "manifest.json").read_text())
    assert merge([first, second], tmp_path / "out").copied == ("a",)
    edit(RunView(second / "a"), "manifest.json", code={**manifest["code"], "commit": "f" * 40})
    with pytest.raises(ResultError, match=r"differ in manifest\.json"):
        merge([second], tmp_path / "out")


def test_folders_without_a_run_are_a_mistake_of_the_name(tmp_path):
    """Nothing to merge is not a success."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no finished run is there; name folders of runs"):
        merge([tmp_path / "empty"], tmp_path / "out")
