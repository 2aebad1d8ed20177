"""Options about an embedder where nothing is embedded: said in one line, and only then."""

import pytest

from repoeval_bench.cli.choices import check_choices
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.prepared import Prepared, default_options
from support.minirepo import build_mirror


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unread")
    return {"source": str(build_mirror(folder / "mirror")), "home": folder / "home", "out": folder / "results"}


def notes(places, capsys, **given):
    found = Gathered()
    choices = check_choices(["fixed:max_nws=400"], default_options() | places | given, found)
    assert not found.mistakes
    Prepared.make_all([choices])
    return [line for line in capsys.readouterr().err.splitlines() if "not read" in line]


def test_each_option_that_nothing_reads_is_named_in_one_line(places, capsys):
    """A model that is not even there, a precision and a policy: bm25 reads none of them."""
    given = {"embedder": "st:nope/nope", "precision": "fp32", "long_text": "tail"}
    (line,) = notes(places, capsys, retriever="bm25", **given)
    assert "--embedder st:nope/nope, --precision fp32, --long-text tail: not read" in line


@pytest.mark.parametrize(
    "given",
    [{"retriever": "bm25"}, {"embedder": "hash"}, {"retriever": "bm25", "embedder": "hash", "metrics": ("ild@10",)}],
)
def test_what_is_read_or_was_not_given_is_not_named(places, capsys, given):
    """The usual embedder was not asked for; dense search and ILD read another one."""
    assert notes(places, capsys, **given) == []
