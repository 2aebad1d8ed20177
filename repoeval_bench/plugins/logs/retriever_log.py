"""Retrievers of LlamaIndex and LangChain, with a run log of what they return. Neither library is imported here.

Both give texts with metadata, and no lines. The place of a text is found in the sources: at the offset that it names,
or where the file holds it once. A text that is not found, or that its file holds twice without an offset, has no place;
it stays in the ranking and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from repoeval_bench.core.errors import UsageError, os_reason
from repoeval_bench.core.files import sha256_text, write_named
from repoeval_bench.core.source import SourceFile, chunk_id_at, count_nws
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.plugins.logs.import_formats import NOT_STATED
from repoeval_bench.plugins.logs.import_lines import find_sources
from repoeval_bench.runs.log import ChunkerOfLog, Latency, LogRow, Retrieved
from repoeval_bench.runs.store import jsonl

_PATHS = ("file_path", "source", "file_name")
"""Metadata that name a text's file, the surest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A result of a library: its text, what it embedded, metadata, an id, an offset in the file, a score."""

    text: str
    embedded: str
    metadata: Mapping[str, Any]
    given_id: str | None
    start: int | None
    score: float | None


class LoggedRetriever:
    """A retriever whose `retrieve` (LlamaIndex) or `invoke` (LangChain) returns what it did, and writes a row of a log.

    `log` is a new file, one row for each query, as `logs import` reads it. `sources` is the folder that the files are
    in; the log names them as they are below it. `k` is how deep the retriever is asked to rank. A query that is asked
    again is not logged again. Under a row's `extra` are the numbers of texts that are `not_placed` and `repeated` (a
    text that was ranked above already is dropped), and `scores` where they are 1/rank, because the library gives
    none or they rise. A log that exists, more texts than `k`, or an object that is neither library's, is a UsageError.
    """

    def __init__(
        self,
        retriever: Any,
        log: Path | str,
        *,
        sources: Path | str,
        k: int,
        system: str | None = None,
        chunker: str = NOT_STATED,
        index_version: str = NOT_STATED,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._retriever = retriever
        self._log = Path(log)
        self._sources = _Sources(Path(sources))
        self._k = k
        self._system = system or type(retriever).__name__
        self._chunker = ChunkerOfLog(algo=chunker, parameters={})
        self._index_version = index_version
        self._clock = clock
        self._asked: set[str] = set()
        try:
            self._log.touch(exist_ok=False)
        except FileExistsError:
            raise UsageError(f"{log} exists; name another file, or remove it") from None
        except OSError as error:
            raise UsageError(f"{log} cannot be written ({os_reason(error)}); name another file") from error

    def retrieve(self, query: Any, *, query_id: str | None = None, **options: Any) -> Any:
        """Return LlamaIndex's answer to a text or a QueryBundle; the id is the text where none is given."""
        return self._call(self._retriever.retrieve, query, getattr(query, "query_str", query), query_id, options)

    def invoke(self, query: str, *args: Any, query_id: str | None = None, **options: Any) -> Any:
        """Return what LangChain's `invoke` gives for a text; the id is the text where none is given."""
        return self._call(
            lambda text, **more: self._retriever.invoke(text, *args, **more), query, query, query_id, options
        )

    def _call(
        self, retrieve: Callable[..., Any], query: Any, text: str, query_id: str | None, options: Mapping[str, Any]
    ) -> Any:
        started = self._clock()
        result = retrieve(query, **options)
        row = self._row(query_id or text, text, list(result), (self._clock() - started) * 1000)
        if row.query_id not in self._asked:
            self._asked.add(row.query_id)
            with self._log.open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(jsonl([row.model_dump(exclude_none=True)]))
        return result

    def _row(self, query_id: str, query: str, results: Sequence[Any], milliseconds: float) -> LogRow:
        if len(results) > self._k:
            raise UsageError(
                f"{self._system} returned {len(results)} texts for {query_id!r}; give k={len(results)} or more"
            )
        ranked: dict[str, tuple[dict[str, Any], float | None]] = {}
        for text in map(_text_of, results):
            chunk = self._sources.place(text)
            ranked.setdefault(chunk["chunk_id"], (chunk, text.score))
        scores = [score for _, score in ranked.values()]
        fall = all(score is not None and math.isfinite(score) for score in scores) and all(
            above >= below for above, below in pairwise(score or 0.0 for score in scores)
        )
        counts = {
            "not_placed": sum("start_line" not in chunk for chunk, _ in ranked.values()),
            "repeated": len(results) - len(ranked),
        }
        extra: dict[str, Any] = {name: number for name, number in counts.items() if number}
        return LogRow(
            query_id=query_id,
            system=self._system,
            k_raw=self._k,
            topk=[
                Retrieved(rank=rank, score=score if fall and score is not None else 1 / rank, **chunk)
                for rank, (chunk, score) in enumerate(ranked.values(), start=1)
            ],
            index_version=self._index_version,
            chunker=self._chunker,
            latency_ms=Latency(retrieve=round(milliseconds, 4)),
            query=query,
            extra=extra | ({} if fall else {"scores": "1/rank"}) or None,
        )


def write_corpus(texts: Iterable[Any], path: Path | str, *, sources: Path | str) -> tuple[int, int]:
    """Write every text of an index (LlamaIndex's nodes, LangChain's documents) with its place, for `--corpus`.

    Returns (how many were written, how many have no place in the sources and were left out). A text that is there twice
    is written once.
    """
    known = _Sources(Path(sources))
    places = {chunk["chunk_id"]: chunk for chunk in (known.place(_text_of(text)) for text in texts)}
    results = [chunk for chunk in places.values() if "start_line" in chunk]
    write_named(Path(path), jsonl(results))
    return len(results), len(places) - len(results)


class _Sources:
    """The files that texts were cut from, read when they are first asked for."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root} is not a folder; name the one that the indexed files are in")
        self._root = root.resolve()
        self._files: dict[str, SourceFile | None] = {}

    def place(self, given: _Text) -> dict[str, Any]:
        """A chunk of the log: id, file, lines and header, as far as they are known.

        Without lines its id is the library's, or a hash of the text.
        """
        text = given.text.replace("\r\n", "\n")
        header_nws = count_nws(given.embedded) - count_nws(given.text)
        result: dict[str, Any] = {"header_nws": header_nws} if header_nws > 0 else {}
        name = self._name(given.metadata)
        if name:
            result["file"] = name
        file = self._file(name) if name else None
        start = _start(file.text, text, given.start) if file else None
        if name is None or file is None or start is None:
            return {"chunk_id": given.given_id or sha256_text(text)[:16], **result}
        chars = CharSpan(start, start + len(text))
        lines = file.lines_of(chars)
        chunk_id = chunk_id_at(name, chars.start, chars.end)
        return {"chunk_id": chunk_id, "start_line": lines.start, "end_line": lines.end, **result}

    def _name(self, metadata: Mapping[str, Any]) -> str | None:
        """The file that metadata name, as it is below the folder; None where it is not there."""
        for key in _PATHS:
            if isinstance(said := metadata.get(key), str) and said:
                for path in (self._root / said, Path(said).absolute()):
                    result = path.resolve()
                    if result.is_relative_to(self._root) and result.is_file():
                        return result.relative_to(self._root).as_posix()
        return None

    def _file(self, name: str) -> SourceFile | None:
        if name not in self._files:
            self._files[name] = find_sources(self._root, [name]).get(name)
        return self._files[name]


def _start(whole: str, text: str, named: int | None) -> int | None:
    """Return where a file holds a text: at the named offset, or at the only place; None where neither is."""
    if not text:
        return None
    if named is not None and whole.startswith(text, named):
        return named
    first = whole.find(text)
    return first if first >= 0 and whole.find(text, first + 1) < 0 else None


def _text_of(given: Any) -> _Text:
    """A node of LlamaIndex, with or without its score, or a document of LangChain."""
    if isinstance(text := getattr(given, "page_content", None), str):
        start = given.metadata.get("start_index")
        return _Text(
            text=text,
            embedded=text,
            metadata=given.metadata,
            given_id=given.id,
            start=start if type(start) is int else None,
            score=None,
        )
    node = getattr(given, "node", given)
    if not callable(getattr(node, "get_content", None)):
        raise UsageError(
            f"{type(given).__name__} is neither a node of LlamaIndex nor a document of LangChain; log it as JSONL"
        )
    return _Text(
        text=node.get_content(metadata_mode="none"),
        embedded=node.get_content(metadata_mode="embed"),
        metadata=node.metadata,
        given_id=node.node_id,
        start=getattr(node, "start_char_idx", None),
        score=getattr(given, "score", None),
    )
