"""A SCIP index, written here byte by byte as scip.proto numbers its fields, and what is read of it."""

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.references.resolver import Resolver

pytest.importorskip("google.protobuf")

FILES = [
    SourceFile("r", "a.py", "def far(): pass\nclass C:\n  x = 1\n"),
    SourceFile("r", "b.py", 'def written(a):\n  "ä𝕏"; a.x\n  a.far\n'),
]


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def occurrence(place, symbol, roles=0):
    return field(
        2, field(1, b"".join(map(varint, place))) + field(2, symbol.encode()) + field(3, roles) + field(9, b"x")
    )


def document(path, *occurrences, encoding=0):
    return field(2, field(1, path.encode()) + b"".join(occurrences) + (field(6, encoding) if encoding else b""))


def uses(tmp_path, *documents):
    index = tmp_path / "index.scip"
    index.write_bytes(field(1, b"") + b"".join(documents))
    with Resolver(FILES, scip=index) as resolver:
        return {(u.definition.name, u.tier) for u in resolver.uses("b.py", LineSpan(1, 3)).used}


DEFINED = document(
    "a.py", occurrence((0, 4, 7), "s far()."), occurrence((0, 4, 7), "s far().", 1), occurrence((2, 2, 3), "s C#x.", 1)
)


def test_a_name_is_what_the_index_says(tmp_path):
    assert uses(tmp_path, DEFINED, document("b.py", occurrence((2, 4, 7), "s far()."))) == {("far", "resolved")}


@pytest.mark.parametrize(("encoding", "column"), [(0, 10), (3, 10), (2, 11), (1, 14)])
def test_columns_are_counted_as_the_document_says(tmp_path, encoding, column):
    """The two letters of the text are three units of UTF-16 and six bytes."""
    found = uses(
        tmp_path, DEFINED, document("b.py", occurrence((1, column, 1, column + 1), "s C#x."), encoding=encoding)
    )
    assert ("C.x", "resolved") in found


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


def test_what_is_no_index_is_said(tmp_path):
    (tmp_path / "broken").write_bytes(b"\xff\xff\xff\xff")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("broken", "empty"):
        with pytest.raises(DatasetError, match="is not a SCIP index"):
            Resolver(FILES, scip=tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        Resolver(FILES, scip=tmp_path / "none")


def test_a_pack_is_built_with_an_index(tmp_path):
    body = "".join(f"    y{n} = a + {n}\n" for n in range(4))
    source = tmp_path / "mine"
    source.mkdir()
    (source / "a.py").write_text("def far(): pass\n\n\ndef near(): pass\n")
    (source / "b.py").write_text(f"def written(a):\n{body}    return a.far()\n")
    index = tmp_path / "index.scip"
    defined = document("a.py", occurrence((0, 4, 7), "s far().", 1))
    index.write_bytes(defined + document("b.py", occurrence((5, 13, 16), "s far().")))
    pack = build_pack(BuildRequest(sources=(str(source),), scip=(str(index),)), tmp_path / "pack")
    (table,) = (tmp_path / "pack" / "tasks").glob("function*uses.tsv")
    assert pack.content.levels["function"].uses.resolved["resolved"] == 1
    assert table.read_text().splitlines()[1].split("\t")[1:] == ["a.py", "0", "1", "function", "resolved", "far"]
