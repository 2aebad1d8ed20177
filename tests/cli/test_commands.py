"""`--commands`: shell lines that make the very runs that the command would have made."""

import shlex

import pytest

from support.command import bench, one_sentence
from support.minirepo import build_mirror


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    return build_mirror(tmp_path_factory.mktemp("lines") / "a mirror")


def made(out):
    """The ids of the stored runs."""
    return {path.parent.name for path in out.glob("*/manifest.json")}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "-c", "fixed:max_nws=300", "-c", "ast:max_nws=300", "--baseline", "fixed:max_nws=300"),
        ("compare", "-c", "fixed:max_nws=300", "-c", "ast", "--match-size", "fixed:max_nws=300", "-m", "mrr"),
        ("sweep", "-c", "fixed", "-c", "ast:overlap=1", "--sizes", "300", "500"),
    ],
)
def test_the_lines_make_the_same_runs(mirror, tmp_path, words):
    """Run as they are printed, they store what the command stores, and the last line is the command itself."""
    options = (
        "--retriever",
        "bm25",
        "--source",
        mirror,
        "--protocol",
        "body+query=full",
        "--set",
        "few_gold",
        "--k",
        "20",
    )
    # Options are printed without a shell's variable, so the home is named.
    home = tmp_path / "home"
    name, *rest = words
    asked = (name, *options, "--out", tmp_path / "a b", "--home", home, *rest)
    printed = bench(*asked, "--commands")
    assert (printed.code, made(tmp_path / "a b")) == (0, set()), printed.err
    *lines, last = map(shlex.split, printed.out.splitlines())
    assert [line[:2] for line in lines] == [["repoeval-bench", "eval"]] * len(lines)
    for line in lines:
        done = bench(*line[1:])
        assert done.code == 0, done.err
    stored = made(tmp_path / "a b")
    assert len(stored) == len(lines)
    by_lines = bench(*last[1:])
    assert by_lines.code == 0, by_lines.err
    assert made(tmp_path / "a b") == stored
    assert bench(*asked).out == by_lines.out


def test_mistakes_are_errors_before_anything_is_printed(tmp_path):
    """A line that cannot be run is not printed."""
    assert "did you mean 'fixed'" in one_sentence(bench("sweep", "-c", "fixd", "--commands", "--out", tmp_path), 2)


@pytest.mark.parametrize(
    "words", [["cluster", "merge", ""], ["eval", "--out", ""], ["eval", "--out="], ["recommend", ""]]
)
def test_an_empty_value_is_not_the_current_folder(words):
    """An unset variable of a shell leaves one."""
    done = bench(*words)
    assert done.code == 2
    assert "is empty, as an unset variable leaves it; give one" in done.err
