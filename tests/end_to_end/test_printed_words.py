"""No output says a word that was hard to follow, and each counts characters in one way."""

import csv
import re

import pytest

from repoeval_bench.report.text import CHARACTERS_NOTE
from support.codebase import write_modules
from support.command import bench, succeed

pytestmark = pytest.mark.slow  # twenty commands are run and searched

CHUNKERS = ("-c", "ast:max_nws=400", "-c", "fixed:max_nws=200")
JARGON = (
    *(
        *("told apart", "tell the first two apart", "rests? on", "(?:is|are) shown", "asked", "flipped"),
        *("realised", "matched"),
    ),
    *("overall difference", "greedy", "nws", "non-whitespace", "(?:line|definition)_recall(?:_auc)?", "line_rprec"),
    *("line(?:R|Rprec)", "area (?:line|def)R?", "resamples", "hidden, [0-9]+ unknown", "best in [0-9]+ %"),
)
"""Words that were hard to follow; `nws` is one of a name such as `max_nws` too."""
NOT_SAID = re.compile(rf"(?<![\w@:-])(?:{'|'.join(JARGON)})(?![\w=@])")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """(command -> what it prints, folder of runs, two of them) of commands on a small benchmark ranked by BM25."""
    folder = tmp_path_factory.mktemp("printed")
    code, pack, runs, home = write_modules(folder / "code", 24), folder / "pack", folder / "runs", folder / "home"
    gates = folder / "gates.yaml"
    gates.write_text("gates:\n  - {measure: ndcg@10, at_least: 0.1}\n  - {measure: lines found, max_drop: 0.9}\n")
    facts = folder / "facts.csv"
    facts.write_text("query_id,side\n" + "".join(f"code/{i},{'left' if i % 2 else 'right'}\n" for i in range(72)))
    printed = {}

    def call(*words, out=runs):
        options = () if out is None else ("--out", out)
        done = bench(*words, *options, home=home)
        assert done.code in (0, 1), done.err
        printed[" ".join(map(str, words))] = done.out
        return done

    call("data", "build", code, "--resolve", "names", "--tasks", "60", "-o", pack, out=None)
    shared = ("--source", pack, "--retriever", "bm25", "--protocol")
    call("eval", *CHUNKERS, *shared, "uses")
    call("eval", *CHUNKERS, *shared, "docstring")
    call("eval", *CHUNKERS[:2], *shared, "context")
    first, second = sorted(path.name for path in runs.iterdir() if "_uses_" in path.name)
    for more in ((), ("--details",)):
        call("eval", *CHUNKERS[:2], *shared, "uses", *more)
        call("compare", first, second, *more)
    call("recommend", code, "--retriever", "bm25", *CHUNKERS, "--sizes", "300", out=folder / "answer")
    call("segments", first)
    call("segments", first, second)
    call("diff", first, second)
    call("gate", first, "--config", gates, "--baseline", second)
    call("lab", "leaderboard")
    call("runs")
    call("chunker", "stats", code, out=None)
    return printed, runs, (first, second)


@pytest.fixture(scope="module")
def outputs(stored):
    """Command -> what it prints."""
    return stored[0]


@pytest.fixture(scope="module")
def page(stored, tmp_path_factory):
    """The report page of two runs."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    _, runs, names = stored
    succeed("report", *names, "--out", runs, "-o", path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def board(stored, tmp_path_factory):
    """The rows of the leaderboard's CSV."""
    path = tmp_path_factory.mktemp("board") / "leaderboard.csv"
    succeed("lab", "leaderboard", "--out", stored[1], "-o", path)
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_words_that_were_hard_to_follow_are_gone(outputs):
    """In nothing that a command prints, in no text of a page and no CSV; a measure has the name that tables give it."""
    said = [(name, match[0]) for name, text in outputs.items() for match in NOT_SAID.finditer(text)]
    assert said == []


def test_pages_say_none_of_them_either(page):
    """Beside the code that they hold, which is packed, and the commands that make runs again."""
    visible = re.sub(r"(?s)<(script|style|pre)\b.*?</\1>|<[^>]*>", " ", page)
    hints = " ".join(re.findall(r'(?:title|aria-label|placeholder)="([^"]*)"', page))
    assert [match[0] for match in NOT_SAID.finditer(f"{visible} {hints}")] == []


def test_a_measure_has_one_name_in_terminal_page_and_csv(outputs, page, board):
    measures = {row["measure"] for row in board}
    assert measures == {"definitions found", "lines found"}
    assert {"nDCG@10", "R@10", "mean characters"} < board[0].keys()
    text = "\n".join(outputs.values())
    assert all(measure in text for measure in measures)
    assert "definitions found" in page


def test_characters_have_one_footnote(outputs):
    """At most one in an output, and one wherever characters are counted in a table or note."""
    for name, text in outputs.items():
        flat = re.sub(r"\s+", " ", text).lower()
        assert flat.count(CHARACTERS_NOTE) <= 1, name
        assert "non-whitespace" not in flat, name
        if "characters" in flat.replace(CHARACTERS_NOTE, ""):
            assert CHARACTERS_NOTE in flat, name
