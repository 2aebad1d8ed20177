"""`explain` says what every name means that `list` lists, and offers the nearest of all where it knows none."""

import pytest
from click.testing import CliRunner

from repoeval_bench.cli.explain import explain_command
from repoeval_bench.cli.listing import LISTS
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import DEFINITION_MEASURES, EVAL_MEASURES, Measure
from repoeval_bench.report.text import heading


def explain(name):
    done = CliRunner().invoke(explain_command, [name])
    if done.exception:
        raise done.exception
    return done.output


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("ast", ["chunker ast: ", "  max_nws=1500"]),
        ("exec", ["chunker exec:COMMAND"]),
        ("overlap", ["relevance overlap: shares at least one line"]),
        ("graded:iou", ["relevance graded:iou: gain = IoU"]),
        ("graded", ["relevance graded:iou", "relevance graded:levels"]),
        ("iou:0.5", ["relevance iou:T: shared lines over"]),
        ("lines:3", ["relevance lines:N: "]),
        ("ast:max_nws=800", ["chunker ast: "]),
        ("code-chunk", ["note", "the gold ends with the first line to be written", "trlx and betty are left out"]),
        ("repocoder", ["exclusion repocoder: "]),
        ("body", ["relevant", "exclusion body: the ground truth's lines"]),
        ("judged@10", ["measure judged@10: Share of the first 10"]),
        ("bpref", ["measure bpref: Binary preference"]),
        ("api", ["level api: tokenizer codex; ", "tasks 1600; repositories 8"]),
        ("nDCG@10", ["ndcg@10: ", "formula"]),
        ("header", ["headers: none, path, scope", "see `list headers`"]),
        ("hybrid", ["hybrid: ", "k0=60"]),
        ("openai:some-model", ["embedder openai:MODEL: a model of OpenAI", "batch=64", "timeout=60", "base_url"]),
        ("minilm", ["device=cpu", "precision=auto", "long_queries=head"]),
    ],
)
def test_every_kind_of_name(name, pieces):
    """An explanation says what a name is, and what it means."""
    text = explain(name)
    assert [piece for piece in pieces if piece not in text] == []


@pytest.mark.parametrize("what", LISTS)
def test_whatever_a_list_prints_is_explained(what):
    """Every name in the first column, as it is printed there, and every other name of a measure."""
    table = LISTS[what]()
    columns = [i for i, column in enumerate(table.columns) if i == 0 or column.name == "also"]
    printed = [row.cells[i] for row in table.rows for i in columns]
    names = [name for cell in printed for name in str(cell).split(", ") if name]
    assert len(names) >= (1 if what == "packs" else 3)
    unknown = []
    for name in names:
        try:
            assert explain(name)
        except UsageError as error:
            unknown.append(str(error))
    assert unknown == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "unknown name 'ndgc'; did you mean 'ndcg'"),
        ("lines1500", "unknown name 'lines1500'; did you mean 'line_recall@1500'?"),
        ("repocodr", "did you mean 'repocoder'"),
        ("chonky", "did you mean 'chonkie'"),
        ("xyzzy", "see repoeval-bench list chunkers|headers|languages|protocols"),
        ("ndcg(gian=exp)@5", "did you mean 'gain'"),
        ("ndcg@10@10", "'ndcg@10@10' is not a measure; write one as ndcg@10"),
        ("ndcg@1000000000000", "is not a whole number of at most 12 digits"),
        *(
            (name, f"{name!r} is not in a list, but {name.partition(':')[0]} is; see")
            for name in ("lines:0", "python:xyz", "iou:abc", "iou:1.5", "none:9", "graded:foo", "ast:xyz", "bm25:9")
        ),
        ("ast@3", "'ast@3' is not in a list, but ast is; see repoeval-bench explain ast"),
    ],
)
def test_what_is_not_there(name, message):
    """The nearest name of all lists, or the lists; a known name with an impossible value is reported as such."""
    with pytest.raises(UsageError) as error:
        explain(name)
    assert message in str(error.value)


@pytest.mark.parametrize("measure", [*EVAL_MEASURES, *DEFINITION_MEASURES])
def test_the_headings_of_tables_are_explained(measure):
    """A measure is explained, and asked for, by the name that tables give it."""
    assert explain(heading(measure)).startswith(f"{measure}: ")
    assert str(Measure.parse(heading(measure))) == measure
