"""SCIP index files: the definition that a name at a position refers to, by an indexer of its language.

The messages are those of scip.proto (Sourcegraph, Apache-2.0); fields that are not needed are skipped.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from repoeval_bench.core.errors import DatasetError, UsageError, os_errors_as
from repoeval_bench.core.extras import require
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition

DefinedAt = Callable[[str, int, str, LineSpan | None], CodeDefinition | None]
"""Finds the definition of a name by its (path, line, name, lines that do not count)."""

_FIELDS = {
    "Index": (("documents", 2, "Document"),),
    "Document": (("relative_path", 1, "string"), ("occurrences", 2, "Occurrence"), ("position_encoding", 6, "int32")),
    "Occurrence": (("range", 1, "int32*"), ("symbol", 2, "string"), ("symbol_roles", 3, "int32")),
}
_DEFINES = 1
"""The bit of `symbol_roles` that says that the symbol is defined here."""
_UTF8, _UTF16 = 1, 2
"""Units in which the columns of a document count; else code points."""


class ScipNames:
    """The occurrences of an index file; UsageError: it cannot be read, DatasetError: it is not an index."""

    def __init__(self, path: Path, files: tuple[SourceFile, ...], defined_at: DefinedAt) -> None:
        self._files = {file.path: file for file in files}
        self._defined_at = defined_at
        self._symbols: dict[tuple[str, int, int], tuple[str, str]] = {}
        self._defined: dict[tuple[str, str], tuple[str, int, str]] = {}
        for document in _read(path).documents:
            file = self._files.get(document.relative_path)
            if file is not None and file.plain:  # an indexer counts newlines alone
                self._add(file, document)

    def _add(self, file: SourceFile, document: Any) -> None:
        lines = file.text.splitlines()
        for occurrence in document.occurrences:
            if len(occurrence.range) not in (3, 4) or not 0 <= occurrence.range[0] < len(lines):
                continue
            first, *rest = occurrence.range
            line = lines[first]
            start = _column(line, rest[0], document.position_encoding)
            end = _column(line, rest[-1], document.position_encoding)
            # Only a name without a receiver may differ from its definition's: an import may rename it.
            member = line[start:end] if line[:start].endswith(".") else ""
            self._symbols[file.path, first, start] = occurrence.symbol, member
            if occurrence.symbol_roles & _DEFINES:
                self._defined.setdefault(_key(file.path, occurrence.symbol), (file.path, first, line[start:end]))

    def resolve(self, path: str, line: int, column: int, target_span: LineSpan) -> tuple[CodeDefinition, ...]:
        """The definition that the name at a position (0-based) means; none if the index has none in these files.

        An attribute that an index takes for a class, as scip-python does with those in `__slots__`, has none either.
        """
        symbol, member = self._symbols.get((path, line, column), ("", ""))
        occurrence = self._defined.get(_key(path, symbol)) if symbol else None
        if occurrence is None:
            return ()
        file, line, name = occurrence
        if member and member != name:
            return ()
        definition = self._defined_at(file, line, name, target_span if file == path else None)
        return (definition,) if definition else ()


def _key(path: str, symbol: str) -> tuple[str, str]:
    """The key of a symbol: one that is local to a file is another one in another file."""
    return (path if symbol.startswith("local ") else "", symbol)


def _column(line: str, column: int, encoding: int) -> int:
    """Convert a column to characters."""
    if line.isascii() or encoding not in (_UTF8, _UTF16):
        return column
    name, width = ("utf-8", 1) if encoding == _UTF8 else ("utf-16-le", 2)
    return len(line.encode(name, "surrogatepass")[: column * width].decode(name, "ignore"))


def _read(path: Path) -> Any:
    with os_errors_as(UsageError, f"{path} cannot be read", "name a SCIP index file"):
        raw = path.read_bytes()
    from google.protobuf.message import DecodeError

    index = _message()()
    try:
        index.ParseFromString(raw)
    except DecodeError as error:
        raise DatasetError(f"{path} is not a SCIP index ({error}); make it again with the indexer") from error
    if not index.documents:
        raise DatasetError(f"{path} is not a SCIP index: it has no document; make it again with the indexer")
    return index


@cache
def _message() -> Any:
    """The message class of an index, built from `_FIELDS`."""
    require("reading a SCIP index", "google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="scip.proto", package="scip", syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for label, number, kind in fields:
            many = kind.endswith("*") or kind in _FIELDS
            field = message.field.add(name=label, number=number)
            field.label = field_type.LABEL_REPEATED if many else field_type.LABEL_OPTIONAL
            if kind in _FIELDS:
                field.type, field.type_name = field_type.TYPE_MESSAGE, f".scip.{kind}"
            else:
                field.type = field_type.TYPE_STRING if kind == "string" else field_type.TYPE_INT32
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("scip.Index"))
