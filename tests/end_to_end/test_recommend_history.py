"""A checkout with a history: its commits ask, the current chunker is compared as it is, and edits have a price."""

import shlex

import pytest

from repoeval_bench.analysis.evidence import Cost
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.own.history import FileEdit
from repoeval_bench.own.recommend.costs import edited_share
from repoeval_bench.own.recommend.recommendation import recommended
from support.command import json_of, succeed
from support.history import Story, python_file

NAMES = [f"item{letter}" for letter in "abcdefgh"]
CURRENT = "window:lines=20,step=10"
NARROW = ["--for", "search", "--retriever", "bm25", "-c", "fixed:max_nws=300", "-c", "ast", "--sizes", "200,400"]


def checkout(folder, commits):
    """A checkout of six files, of which each commit edits one line."""
    folder.mkdir()
    story = Story(folder / ".git")
    paths = [f"shop/part{number}.py" for number in range(6)]
    first = {path: python_file([f"{name}{number}" for name in NAMES]) for number, path in enumerate(paths)}
    story.commit("Start the shop", edit=first)
    for number in range(commits):
        path = paths[number % 6]
        lines = story.files[path].splitlines(keepends=True)
        at = [at for at, line in enumerate(lines) if "=" in line][number // 6 * 2]
        name = lines[at].split("=")[0].strip()
        lines[at] = lines[at].split("=")[0] + f"= written{number}\n"
        story.commit(f"Show {name} of every order", edit={path: "".join(lines)})
    for path, text in story.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """(folder of results, the answer) for a checkout with 70 commits."""
    top = tmp_path_factory.mktemp("history")
    out = top / "out"
    code = checkout(top / "shop", 70)
    return out, json_of("recommend", code, *NARROW, "--current", CURRENT, "--out", out, home=top / "home"), code


def test_commits_ask_where_a_history_has_enough_questions(answered):
    _, result, _ = answered
    (evidence,) = result["evidence"]
    assert evidence["protocol"] == "commits"
    assert evidence["queries"] >= 60
    assert result["since"] == "2020-09"
    assert result["edits"] == 70
    text = " ".join(result["answer"])
    assert f"of the lines that your last {evidence['queries']} changes touched" in text
    own = f"This is based on {evidence['queries']} changes since 2020-09, and 6 files of yours."
    assert own in text or "This is based mostly on other repositories: you have 6 source files." in text


def test_a_bare_repository_is_answered_like_its_checkout(answered, tmp_path):
    """Both its code and its history are read from its objects."""
    out, result, code = answered
    bare = json_of(
        "recommend", code / ".git", *NARROW, "--current", CURRENT, "--out", tmp_path, home=out.parent / "home"
    )
    assert (bare["answer"], bare["costs"]) == (result["answer"], result["costs"])


def test_sizes_that_are_written_stay(answered):
    """The current chunker is a candidate of its own, and so is a `-c` with a size; another one gets every size."""
    _, result, _ = answered
    specs = {candidate["name"]: candidate["spec"] for candidate in result["candidates"]}
    assert specs.keys() == {"fixed:max_nws=300", "ast at 200", "ast at 400", CURRENT}
    for name in ("fixed:max_nws=300", CURRENT):
        assert specs[name] == make_chunker(name).spec


def test_the_first_sentence_says_if_switching_is_worth_it(answered):
    _, result, _ = answered
    current = result["current"]
    assert current["label"] == CURRENT
    first, *_ = result["answer"]
    assert first.startswith((f"Switch from {CURRENT} to ", f"Stay with {CURRENT}: "))
    if current["gains"]:
        (gain,) = current["gains"]
        assert gain["ci"][0] <= gain["difference"] <= gain["ci"][1]
        assert "of the changed lines [" in first
        assert "tokens a query" in first
        assert "times the embedding per edit" in first


def test_every_candidate_has_its_costs(answered):
    """The table's numbers are those of the record, the chunks those of the code as it is now."""
    out, result, _ = answered
    for candidate in result["candidates"]:
        cost = result["costs"][candidate["name"]]
        assert cost["chunks"] == candidate["chunks"] > 0
        assert cost["vector_bytes"] == 4 * 384 * cost["chunks"]
        assert 0 < cost["edited"] < 1.5
    stored = recommended(out)
    assert stored.costs == {name: Cost(**cost) for name, cost in result["costs"].items()}
    assert stored.edits == 70


def test_details_show_what_was_weighed(answered):
    out, _, code = answered
    arguments = ["recommend", code, *NARROW, "--current", CURRENT, "--out", out]
    done = succeed(*arguments, "--details", home=out.parent / "home")
    words = " ".join(done.out.split())
    again = shlex.split(done.out.splitlines()[-1].partition(": ")[2])[1:]
    assert json_of(*again, home=out.parent / "home")["protocol"] == "commits"
    assert "own mean, shipped mean" not in words
    for name in ("own", "shipped", "shrunk", "edited again"):
        assert name in words


def test_retrievers_are_compared_on_the_choice_and_on_the_current_chunker(answered):
    """On the same questions, with intervals, and what reading more chunks finds; they choose no chunker."""
    _, _, code = answered
    out = code.parent / "compared"
    narrow = [*NARROW, "--retriever", "grep", "--current", CURRENT]
    result = json_of("recommend", code, *narrow, "--out", out, home=code.parent / "home")
    labels = {result["choice"]["name"], CURRENT}
    assert {one["label"] for one in result["retrievers"]} == labels
    for one in result["retrievers"]:
        first, other = one["scores"]
        assert first["retriever"] == "bm25"
        assert "difference" not in first
        assert other["difference"] == pytest.approx(other["mean"] - first["mean"])
        assert [reading["chunks"] for reading in one["readings"]] == [5, 10, 20]
        shares = [reading["share"] for reading in one["readings"]]
        assert shares == sorted(shares)
    assert "compared with BM25 under commits: grep finds " in " ".join(result["answer"])


def test_too_few_commits_leave_docstrings(tmp_path):
    code = checkout(tmp_path / "shop", 8)
    out = tmp_path / "out"
    result = json_of("recommend", code, *NARROW, "--out", out, home=tmp_path / "home")
    assert "since" not in result or not result["since"]
    assert any("commits: the history asks" in line and "60 are needed" in line for line in result["skipped"])


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [("file", 1.0, 1.0), ("functions", 0.05, 0.2)],
)
def test_an_edit_costs_the_characters_of_its_new_chunks(spec, low, high):
    before = python_file(NAMES)
    edit = FileEdit("a.py", before, before.replace("order.itemc[2]", "order.itemc[9]"))
    assert low <= edited_share(spec, [edit, edit]) <= high
    assert edited_share(spec, [FileEdit("a.py", before, before)]) == 0
