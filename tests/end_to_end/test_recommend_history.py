"""A checkout with a history: its commits ask, the current chunker is compared as it is, and edits have a price."""

import html as markup
import json
import re

import pytest

from repoeval_bench.analysis.evidence import Cost
from repoeval_bench.core.source import count_nws
from repoeval_bench.own.history.changes import FileEdit
from repoeval_bench.own.recommend.beside import new_chunks
from repoeval_bench.own.recommend.recommendation import recommended
from repoeval_bench.runs.naming import find_runs
from support.command import json_of, succeed
from support.history import NAMES, checkout, python_file
from support.runs import page_data

CURRENT = "window:lines=20,step=10"
NARROW = ["--for", "search", "--retriever", "bm25", "-c", "fixed:max_nws=300", "-c", "ast", "--sizes", "200,400"]


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
    assert f"of the target lines of {evidence['queries']} commits (6 source files)" in text
    assert f"Your queries ({evidence['queries']} commits since 2020-09) come from only 6 source files, so " in text


def test_a_bare_repository_is_answered_like_its_checkout(answered, tmp_path):
    """Both its code and its history are read from its objects."""
    out, result, code = answered
    bare = json_of(
        "recommend", code / ".git", *NARROW, "--current", CURRENT, "--out", tmp_path, home=out.parent / "home"
    )
    assert (bare["answer"], bare["costs"]) == (result["answer"], result["costs"])


def test_tests_are_not_searched_in_older_trees_either(answered):
    """As the answer says of the code: `--tests out` holds for every window."""
    out, result, _ = answered
    stored = recommended(out)
    (view,) = find_runs([stored.evidence[0].runs[CURRENT]], out)
    assert "6 test files are neither searched nor used for queries" in " ".join(result["answer"])
    assert not [name for name in view.inspection.sources if "test_" in name]


def shown(out, *flags):
    """(the page of the last recommendation, what it looks up about queries)."""
    page = out.parent / "page.html"
    succeed("report", "--out", out, "-o", page, *flags)
    html = page.read_text(encoding="utf-8")
    return markup.unescape(html), page_data(html)


@pytest.fixture(scope="module")
def page(answered):
    return shown(answered[0])


def test_the_page_has_the_questions_with_what_was_found(answered, page):
    _, result, _ = answered
    html, data = page
    assert 'id="asked-table"' in html
    shorts = [run["short"] for run in data["runs"]]
    assert shorts[0] == result["candidates"][0]["name"]  # what is used now comes second
    assert sorted(shorts) == sorted(one["name"] for one in result["candidates"])
    subjects = [query["asked"] for query in data["queries"]]
    assert len(subjects) == result["evidence"][0]["queries"]
    for commit, date, subject in subjects:
        assert re.fullmatch("[0-9a-f]{40}", commit)
        assert date.startswith("2020-")
        assert re.fullmatch(r"Show \w+ of every order", subject)
    assert all(query["gold"] and len(query["top"]) == len(data["runs"]) for query in data["queries"])


def test_without_text_nothing_that_was_written_leaves(answered, page):
    """The page has no code and no subject; the JSON and the TOML never have any, and each says what it holds."""
    out, result, code = answered
    html, data = shown(out, "--no-text")
    written = json.dumps(data) + html
    assert "of every order" not in written
    assert "order.item" not in written
    assert "Ann" not in written
    assert "and no code, no query, no subject of a commit and no author's name" in html
    assert "subjects of commits, and no author's name" in page[0]
    toml = out.parent / "chunking.toml"
    words = ("recommend", code, *NARROW, "--current", CURRENT, "--out", out, "--write", toml)
    assert f"gate {toml} --source {code} (docs/ci.md)" in succeed(*words, home=out.parent / "home").err
    assert "files = 6\n" in toml.read_text()
    for text in (json.dumps(result), toml.read_text()):
        assert "no code, no subject of a commit and no author's name" in text
        assert "of every order" not in text
        assert "order.item" not in text


def test_the_first_sentence_says_if_switching_is_worth_it(answered):
    _, result, _ = answered
    current = result["current"]
    assert current["label"] == CURRENT
    assert re.search(r", \d+ periods? of its history \(data checksum ", result["data"])
    first, *_ = result["answer"]
    assert first.startswith((f"Switch from {CURRENT} to ", f"Stay with {CURRENT}: "))
    if current["gains"]:
        (gain,) = current["gains"]
        assert gain["ci"][0] <= gain["difference"] <= gain["ci"][1]
        text = " ".join(result["answer"][:2])
        assert "of the lines in and around your commits' changes (95 % interval: " in text
        assert re.search(r" Its chunks have .* tokens, and after an edit, ", text)
        tokens = {row["name"]: row["tokens_per_query"] for row in result["candidates"]}
        chunks = round(10 * tokens[CURRENT] / tokens[result["choice"]["name"]])
        switches = chunks != 10 and first.startswith("Switch")
        assert (f"Where you retrieve 10 chunks now, retrieve {chunks} for as much text." in text) == switches
        assert " text is embedded again." in text


def test_a_header_is_tried_before_the_current_chunks(answered):
    """What it finds more is said, and a reader of a chunk pays for it."""
    _, result, _ = answered
    headed = f"{CURRENT},header=stem"
    (evidence,) = result["evidence"]
    means = evidence["means"]
    text = " ".join(result["answer"])
    if result["choice"]["name"] == headed:
        assert "Each chunk begins with a header: the file's name (twice" in text
    else:
        (gain,) = result["current"]["header_gains"]
        assert gain["difference"] == pytest.approx(means[headed] - means[CURRENT])
        assert "With the file's name and folders before each chunk (header=stem), your current chunks find " in text
    assert evidence["tokens"][headed] > evidence["tokens"][CURRENT] + 10


def test_every_candidate_has_its_costs(answered):
    """The table's numbers are those of the record, the chunks those of the code as it is now."""
    out, result, _ = answered
    for candidate in result["candidates"]:
        cost = result["costs"][candidate["name"]]
        assert cost["chunks"] == candidate["chunks"] > 0
        assert cost["vector_bytes"] == 4 * 384 * cost["chunks"]
        assert 0 < cost["edited"] < 1.5
        assert cost["edit_tokens"] == candidate["edit_tokens"] > 0
    stored = recommended(out)
    assert stored.costs == {name: Cost(**cost) for name, cost in result["costs"].items()}
    assert stored.edits == 70


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
    assert ": compared with BM25, grep finds " in " ".join(result["answer"])


DOCUMENTED = "".join(
    f'def made{n}(order):\n    """Count the item {n} of every order."""\n    one = order[{n}]\n    return one\n\n'
    for n in range(25)
)


@pytest.mark.parametrize(
    ("commits", "text", "protocols", "says"),
    [
        (8, DOCUMENTED[:400], [], ["commits: the history gives only 8 queries, and 20 are needed"]),
        (30, "", ["commits"], []),
        (30, DOCUMENTED, ["docstring"], ["30 queries, and 60 are needed; docstrings are used instead"]),
    ],
    ids=["neither", "no docstrings", "docstrings"],
)
def test_few_commits_ask_where_docstrings_are_too_few(tmp_path, commits, text, protocols, says):
    code = checkout(tmp_path / "shop", commits)
    (code / "shop" / "made.py").write_text(text)
    result = json_of("recommend", code, *NARROW, "--out", tmp_path / "out", home=tmp_path / "home")
    assert [one["protocol"] for one in result.get("evidence", [])] == protocols
    assert bool(result.get("since")) == (protocols == ["commits"])
    for one in result.get("retrievers", []):  # nobody reads 20 of fewer chunks
        chunks = next(row["chunks"] for row in result["candidates"] if row["name"] == one["label"])
        assert [reading["chunks"] for reading in one["readings"]] == [5, *(n for n in (10, 20) if n <= chunks)]
    assert all(any(part in line for line in result["skipped"]) for part in says), result["skipped"]
    assert len([line for line in result["skipped"] if line.startswith("commits:")]) == len(says)


@pytest.mark.parametrize(("spec", "low", "high"), [("file", 1.0, 1.0), ("functions", 0.05, 0.2)])
def test_an_edit_costs_the_characters_of_its_new_chunks(spec, low, high):
    before = python_file(NAMES)
    edit = FileEdit("a.py", before, before.replace("order.itemc[2]", "order.itemc[9]"))
    (new,) = new_chunks([spec], [edit, edit])
    assert low <= new.share <= high
    assert new.nws == pytest.approx(new.share * count_nws(before), rel=0.1)
    assert new_chunks([spec], [FileEdit("a.py", before, before)]) == [(0, 0)]
