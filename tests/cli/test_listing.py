"""`list` names what there is to choose from, and says what each name means."""

import pytest

from repoeval_bench.cli.listing import LISTS, explanation, list_table
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import DEFINITION_MEASURES, EVAL_MEASURES, Measure
from repoeval_bench.report.text import heading
from support.command import bench, one_sentence


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        ("chunkers ast", ["chunker ast: ", "  max_nws=1500", "  header=none"]),
        ("chunkers exec", ["chunker exec:COMMAND"]),
        ("chunkers ast:max_nws=800", ["chunker ast: ", "  max_nws=800"]),
        (
            "chunkers py:repoeval_bench.chunkers.file:FileChunker",
            ["chunker py:repoeval_bench.chunkers.file:FileChunker: "],
        ),
        ("relevance graded", ["relevance graded:iou", "relevance graded:levels"]),
        ("relevance iou:0.5", ["relevance iou:T: shared lines over"]),
        (
            "protocols code-chunk",
            ["note", "the target ends with the first line to be written", "trlx and betty are left"],
        ),
        ("measures nDCG@10", ["nDCG@10 (ndcg@10): ", "formula"]),
        ("datasets api", ["level api: tokenizer codex; ", "tasks 1600; repositories 8"]),
        ("retrievers rerank:minilm", ["retriever rerank:RERANKER", "reranker "]),
        ("embedders openai:some-model", ["embedder openai:MODEL: a model of OpenAI", "batch=64", "base_url"]),
        ("embedders minilm", ["device=cpu", "precision=auto", "long_queries=head"]),
        ("facts is_method", ["fact is_method: whether that function is a method"]),
    ],
)
def test_a_name_is_explained(words, pieces):
    """An explanation says what a name is, and what it means."""
    text = explanation(*words.split())
    assert [piece for piece in pieces if piece not in text] == []


@pytest.mark.parametrize("kind", LISTS)
def test_whatever_a_list_prints_is_explained(kind):
    """Every name in the first column, as it is printed there, and every other name of a measure."""
    table = list_table(kind)
    columns = [i for i, column in enumerate(table.columns) if i == 0 or column.name == "also"]
    names = [name for row in table.rows for i in columns for name in str(row.cells[i]).split(", ") if name]
    assert len(names) >= (1 if kind == "packs" else 3)
    assert all(explanation(kind, name) for name in names)


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("measures", "ndgc@10", "did you mean 'ndcg@10'"),
        ("measures", "ndcg(gian=exp)@5", "did you mean 'gain'"),
        ("relevance", "lines:x", "unknown relevance 'lines:x'; choose from overlap"),
        ("chunkers", "ast:xyz", "chunker ast takes no name"),
        ("protocols", "xyzzy", "unknown protocol 'xyzzy'"),
        ("packs", "native", "unknown pack 'native'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(kind, name, message):
    with pytest.raises(UsageError) as error:
        explanation(kind, name)
    assert message in str(error.value)


@pytest.mark.parametrize("measure", [*EVAL_MEASURES, *DEFINITION_MEASURES])
def test_the_headings_of_tables_are_explained(measure):
    """A measure is explained, and asked for, by the name that tables give it."""
    shown = heading(measure)
    assert explanation("measures", shown).startswith(f"{shown} ({measure}): ")
    assert str(Measure.parse(heading(measure))) == measure


def test_a_removed_command_names_its_replacement():
    assert "command explain was removed; use repoeval-bench list KIND NAME" in one_sentence(bench("explain"), 2)
