"""The data that a page looks up when a query is opened: as little as possible, compressed, and never as markup.

files      name, text (lines cut), syntax, cut lines; no text where no run kept its sources
chunks     run -> file -> [first line, end line, …] of the chunks it was cut into
queries    file, gold (also in other files), scores of every run, what each retrieved, the ranks of the file's own
           chunks, and the definitions that are needed with the rank of the first chunk that has each
bm25       run -> query -> BM25's ten best chunks, for queries that some run missed
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repoeval_bench.protocols.uses import distance
from repoeval_bench.report.html.code import cut_lines, position, syntax
from repoeval_bench.runs.log import first_rank

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun
    from repoeval_bench.runs.inspection import DefinitionRow, Inspection, StoredChunk

TOP = 10
"""Retrieved chunks that are listed for each query; a query without a relevant one among them is missed."""


def compressed(content: Mapping[str, Any]) -> str:
    """Content as base64 of gzip of JSON: one word that no HTML parser takes for markup."""
    raw = json.dumps(content, separators=(",", ":")).encode("ascii")
    return base64.b64encode(gzip.compress(raw, compresslevel=9, mtime=0)).decode("ascii")


def payload(runs: Sequence[PageRun], bm25: Sequence[PageRun | None], measures: Sequence[str]) -> dict[str, Any]:
    """Everything about single queries; `bm25` has for each run the BM25 run over the same chunks, if one is stored."""
    inspections = [run.stored.inspection for run in runs]
    files = _Files(next(filter(None, inspections), None))
    columns = [[_column(run, name) for name in measures] for run in runs]
    queries = []
    for row, query_id in enumerate(runs[0].scores.query_ids):
        query = _query(query_id, runs, inspections, files)
        query["repo"] = runs[0].scores.repos[row]
        query["scores"] = [[column and round(column[row], 4) for column in of_run] for of_run in columns]
        queries.append(query)
    missed = {query["id"] for query in queries if not all(any(hit[3] for hit in top) for top in query["top"])}
    bm25_hits = [
        None
        if peer is None
        else {query_id: _top(peer, query_id, files) for query_id in sorted(missed) if query_id in peer.log}
        for peer in bm25
    ]
    # Files are numbered while queries are made, so their content comes last.
    chunks = [
        None if inspection is None else [_lanes(inspection.chunks.get(name, ())) for name in files.names]
        for inspection in inspections
    ]
    return {
        "runs": [{"name": run.name, "short": run.short} for run in runs],
        "measures": list(measures),
        "queries": queries,
        "bm25": bm25_hits,
        "files": files.content(),
        "chunks": chunks,
    }


class _Files:
    """Numbers files as they are met."""

    def __init__(self, inspection: Inspection | None) -> None:
        self._sources = inspection.sources if inspection else {}
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, list[str]] = {}
        self._opened = {query.file for query in inspection.queries.values()} if inspection else set()

    @property
    def names(self) -> list[str]:
        return list(self._numbers)

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def lines(self, name: str) -> list[str]:
        if name not in self._lines:
            self._lines[name] = cut_lines(self._sources[name].text)[0] if name in self._sources else []
        return self._lines[name]

    def content(self) -> list[dict[str, Any]]:
        entries = []
        for name in self._numbers:
            entry: dict[str, Any] = {"name": name}
            if name in self._sources:
                lines, cut = cut_lines(self._sources[name].text)
                # Excerpts of other files go without colours: lexing all of them takes longer than all the rest.
                entry |= {"text": "\n".join(lines), "syntax": syntax(lines, name) if name in self._opened else ""}
                if cut:
                    entry["cut"] = cut
            entries.append(entry)
        return entries


def _query(
    query_id: str, runs: Sequence[PageRun], inspections: Sequence[Inspection | None], files: _Files
) -> dict[str, Any]:
    tops = [_top(run, query_id, files) for run in runs]
    entry: dict[str, Any] = {
        "id": query_id,
        "top": tops,
        "first": [_first(run, query_id) for run in runs],
        "relevant": [len(run.qrels.get(query_id, {})) for run in runs],
    }
    inspection = next((inspected for inspected in inspections if inspected and query_id in inspected.queries), None)
    text = next((logged for run in runs if (logged := run.log.get(query_id, (None, ()))[0]) is not None), None)
    if inspection is None:
        return entry if text is None else entry | {"text": cut_lines(text)[0]}
    stored = inspection.queries[query_id]
    # The page shows one file of a query whole, and what of its gold is in others as excerpts.
    here = [[start, end] for file, start, end in stored.gold if file == stored.file]
    entry |= {
        "file": files.number(stored.file),
        "gold": here,
        "elsewhere": [[files.number(file), start, end] for file, start, end in stored.gold if file != stored.file],
        "body": stored.body,
        "ranks": [
            _ranks(run, query_id, stored.file, inspected) for run, inspected in zip(runs, inspections, strict=True)
        ],
    }
    if stored.definitions:
        entry["definitions"] = [
            _definition(inspected, stored.file, query_id, runs, files) for inspected in stored.definitions
        ]
    if stored.commit:
        entry["asked"] = [stored.commit.commit, stored.commit.date, stored.commit.subject]
    owns = [inspected.own.get(query_id) if inspected else None for inspected in inspections]
    if any(owns):
        entry["own"] = [None if own is None else _lanes(own) for own in owns]
    if text is None:
        return entry
    starts = (here[0][0] if here else -1, stored.body[0])
    return entry | _text(text, *starts, stored.read, files.lines(stored.file))


def _definition(needed: DefinitionRow, own: str, query_id: str, runs: Sequence[PageRun], files: _Files) -> list[Any]:
    """Return [name, kind, tier, file, [[first line, end line], …], distance, [rank of the first chunk with it, …]]."""
    file, lines = needed.gold[0][0], [[start, end] for _, start, end in needed.gold]
    ranks = [first_rank(needed.places, run.top(query_id)) for run in runs]
    return [needed.name, needed.kind, needed.tier, files.number(file), lines, distance(own, file), ranks]


def _text(text: str, gold: int, body: int, read: tuple[int, int], source: Sequence[str]) -> dict[str, Any]:
    """The query's text, as lines of the file if it is part of it, and the part that was read (None for all)."""
    lines = cut_lines(text)[0]
    entry: dict[str, Any] = {"text": lines}
    for start in (gold, body - len(lines)):
        if start >= 0 and list(source[start : start + len(lines)]) == lines:
            entry["text"] = [start, start + len(lines)]
            break
    if read != (0, len(text)):
        entry["read"] = [number for end in read for number in position(text, end)]
        entry["share"] = round((read[1] - read[0]) / len(text), 4)
    return entry


def _top(run: PageRun, query_id: str, files: _Files) -> list[list[Any]]:
    """Return [file, first line, end line, relevant, score] of each hit; the chunk's id is the file of one without."""
    relevant, rows = run.qrels.get(query_id, {}), []
    for hit in run.top(query_id, TOP):
        file = hit.chunk_id if hit.file is None else files.number(hit.file)
        lines = (None, None) if hit.file is None else (hit.start_line, hit.end_line)
        rows.append([file, *lines, int(hit.chunk_id in relevant), round(hit.score, 3)])
    return rows


def _first(run: PageRun, query_id: str) -> int:
    """Rank of the first relevant chunk, 0 where none was retrieved."""
    relevant = run.qrels.get(query_id, {})
    return next((rank for rank, chunk_id in enumerate(run.ranked(query_id), start=1) if chunk_id in relevant), 0)


def _ranks(run: PageRun, query_id: str, file: str, inspection: Inspection | None) -> list[int] | None:
    """For each chunk of the query's file 2 x its rank (0 where it was not retrieved), plus 1 where it is relevant."""
    if inspection is None:
        return None
    ranks = {chunk_id: rank for rank, chunk_id in enumerate(run.ranked(query_id), start=1)}
    relevant = run.qrels.get(query_id, {})
    seen = inspection.own.get(query_id) or inspection.chunks.get(file, ())
    return [2 * ranks.get(chunk.chunk_id, 0) + (chunk.chunk_id in relevant) for chunk in seen]


def _lanes(chunks: Iterable[StoredChunk]) -> list[int]:
    return [end for chunk in chunks for end in (chunk.lines.start, chunk.lines.end)]


def _column(run: PageRun, measure: str) -> list[float] | None:
    values = run.scores.values.get(measure)
    return None if values is None else values.tolist()
