"""What is read of a SCIP index."""

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.resolver import Resolver
from support.scip import document, field, occurrence

pytest.importorskip("google.protobuf")

FILES = [
    SourceFile("r", "a.py", "def far(): pass\nclass C:\n  x = 1\n"),
    SourceFile("r", "b.py", 'def written(a):\n  "ä𝕏"; a.x\n  a.far\n'),
]


def uses(tmp_path, *documents):
    index = tmp_path / "index.scip"
    index.write_bytes(field(1, b"") + b"".join(documents))
    resolver = Resolver(FILES, scip=index)
    return {(u.definition.name, u.tier) for u in resolver.uses("b.py", LineSpan(1, 3))}


DEFINED = document(
    "a.py", occurrence((0, 4, 7), "s far()."), occurrence((0, 4, 7), "s far().", 1), occurrence((2, 2, 3), "s C#x.", 1)
)


def test_a_name_is_what_the_index_says(tmp_path):
    assert uses(tmp_path, DEFINED, document("b.py", occurrence((2, 4, 7), "s far()."))) == {("far", "resolved")}


@pytest.mark.parametrize(("encoding", "column"), [(0, 10), (3, 10), (2, 11), (1, 14)])
def test_columns_are_counted_as_the_document_says(tmp_path, encoding, column):
    """The two letters of the text are three units of UTF-16 and six bytes."""
    result = uses(
        tmp_path, DEFINED, document("b.py", occurrence((1, column, 1, column + 1), "s C#x."), encoding=encoding)
    )
    assert ("C.x", "resolved") in result


def test_a_local_symbol_is_of_one_file(tmp_path):
    one = document("a.py", occurrence((0, 4, 7), "local 1", 1))
    assert uses(tmp_path, one, document("b.py", occurrence((2, 4, 7), "local 1"))) == set()


def test_an_attribute_is_no_class_of_another_name(tmp_path):
    """Of a name in `__slots__` scip-python says the class."""
    wrong = document("b.py", occurrence((1, 10, 11), "s C#"))
    defined = document("a.py", occurrence((1, 6, 7), "s C#", 1))
    assert ("C", "resolved") not in uses(tmp_path, defined, wrong)
    named = document("b.py", occurrence((1, 8, 9), "s C#"))  # what is imported under another name
    assert ("C", "resolved") in uses(tmp_path, defined, named)


def test_symbols_without_a_definition_lead_nowhere(tmp_path):
    assert uses(tmp_path, document("b.py", occurrence((2, 4, 7), "elsewhere"))) == set()


@pytest.mark.parametrize("place", [(), (0,), (0, 4), (3, 4, 7), (2**64 - 1, 4, 7), (0, 4, 0, 7, 1)])
def test_an_occurrence_at_no_place_of_the_file_is_left_out(tmp_path, place):
    """As -1 is 2^64 - 1 in the file: without a range, or behind or before the lines."""
    wrong = document("a.py", occurrence(place, "s far().", 1))
    named = document("b.py", occurrence((2, 4, 7), "s far()."))
    assert uses(tmp_path, wrong, DEFINED, named) == {("far", "resolved")}


def test_what_is_no_index_is_said(tmp_path):
    (tmp_path / "broken").write_bytes(b"\xff\xff\xff\xff")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("broken", "empty"):
        with pytest.raises(DatasetError, match="is not a SCIP index"):
            Resolver(FILES, scip=tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        Resolver(FILES, scip=tmp_path / "none")
