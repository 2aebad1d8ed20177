"""The data that a page looks up when a query is opened; its script shows it as text and never as markup.

files      file -> its lines, for each file that is shown and whose source a run kept
queries    file, gold (also in other files), text, scores of every run, what each retrieved, each run's chunks of the
           file with their ranks, and the definitions that are needed with the rank of the first chunk that has each
"""

import re
from collections.abc import Sequence
from typing import Any

from repoeval_bench.core.source import SourceFile
from repoeval_bench.protocols.uses import distance
from repoeval_bench.report.html.tables import PageRun
from repoeval_bench.report.text import heading
from repoeval_bench.runs.inspection import DefinitionRow
from repoeval_bench.runs.log import first_rank

# Retrieved chunks that are listed for each query; a query without a relevant one among them is missed.
TOP = 10

# Characters of a line that are shown; a minified file has lines of a megabyte.
LINE = 400

_LONG = re.compile(rf"([^\n]{{{LINE}}})[^\n]+")


def payload(
    runs: Sequence[PageRun],
    measures: Sequence[str],
    looks: Sequence[int] = (),
    *,
    text: bool = True,
) -> dict[str, Any]:
    """Everything about single queries.

    `looks` are the numbers of the runs' colours, by default their positions. Without `text` there is no code, no query
    and no subject of a commit.
    """
    sources = next((run.stored.inspection.sources for run in runs if text and run.stored.inspection), {})
    columns = [[_column(run, name) for name in measures] for run in runs]
    queries = []
    for row, query_id in enumerate(runs[0].scores.query_ids):
        query = _query(query_id, runs)
        if not text:
            query.pop("text", None)
            if commit := query.get("asked"):
                query["asked"] = [*commit[:2], ""]
        query["repo"] = runs[0].scores.repos[row]
        query["scores"] = [[column and round(column[row], 4) for column in of_run] for of_run in columns]
        queries.append(query)
    return {
        "runs": [
            {"name": run.name, "short": run.short, "look": look}
            for run, look in zip(runs, looks or range(len(runs)), strict=True)
        ],
        "measures": [heading(name) for name in measures],
        "queries": queries,
        "files": {name: _lines(sources[name]) for name in sorted(_shown(queries)) if name in sources},
    }


def _shown(queries: Sequence[dict[str, Any]]) -> set[str]:
    """Return the files that queries, their gold and their hits are in."""
    names = {hit[0] for query in queries for top in query["top"] for hit in top}
    for query in queries:
        names |= {query.get("file"), *(place[0] for place in query.get("elsewhere", ()))}
        names |= {definition[3] for definition in query.get("definitions", ())}
    return names - {None}


def _lines(source: SourceFile) -> list[str]:
    return [_cut(line) for line in source.text.splitlines()]


def _cut(text: str) -> str:
    return _LONG.sub(lambda line: f"{line[1]} … {len(line[0]):,} characters", text)


def _query(query_id: str, runs: Sequence[PageRun]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": query_id,
        "top": [_top(run, query_id) for run in runs],
        "first": [_first(run, query_id) for run in runs],
        "relevant": [len(run.qrels.get(query_id, {})) for run in runs],
    }
    inspections = (run.stored.inspection for run in runs)
    inspection = next((inspected for inspected in inspections if inspected and query_id in inspected.queries), None)
    text = next((logged for run in runs if (logged := run.log.get(query_id, (None, ()))[0]) is not None), None)
    if inspection is None:
        return entry if text is None else entry | {"text": ["", _cut(text), ""]}
    stored = inspection.queries[query_id]
    # The page shows one file of a query whole, and what of its gold is in others as excerpts.
    entry |= {
        "file": stored.file,
        "gold": [[start, end] for file, start, end in stored.gold if file == stored.file],
        "elsewhere": [[file, start, end] for file, start, end in stored.gold if file != stored.file],
        "body": stored.body,
        "lanes": [_lane(run, query_id, stored.file) for run in runs],
    }
    if stored.definitions:
        entry["definitions"] = [_definition(needed, stored.file, query_id, runs) for needed in stored.definitions]
    if stored.commit:
        entry["asked"] = [stored.commit.commit, stored.commit.date, stored.commit.subject]
    if text is not None:
        start, end = stored.read
        entry["text"] = [_cut(text[:start]), _cut(text[start:end]), _cut(text[end:])]
        if (start, end) != (0, len(text)):
            entry["share"] = round((end - start) / len(text), 4)
    return entry


def _definition(needed: DefinitionRow, own: str, query_id: str, runs: Sequence[PageRun]) -> list[Any]:
    """Return [name, kind, tier, file, [[first line, end line], …], distance, [rank of the first chunk with it, …]]."""
    file, lines = needed.gold[0][0], [[start, end] for _, start, end in needed.gold]
    ranks = [first_rank(needed.places, run.top(query_id)) for run in runs]
    return [needed.name, needed.kind, needed.tier, file, lines, distance(own, file), ranks]


def _top(run: PageRun, query_id: str) -> list[list[Any]]:
    """Return [file, first line, end line, relevant, score] of each hit; the chunk's id is the file of one without."""
    relevant, rows = run.qrels.get(query_id, {}), []
    for hit in run.top(query_id, TOP):
        place = (hit.chunk_id, None, None) if hit.file is None else (hit.file, hit.start_line, hit.end_line)
        rows.append([*place, hit.chunk_id in relevant, round(hit.score, 3)])
    return rows


def _first(run: PageRun, query_id: str) -> int:
    """Rank of the first relevant chunk, 0 where none was retrieved."""
    relevant = run.qrels.get(query_id, {})
    return next((rank for rank, chunk_id in enumerate(run.ranked(query_id), start=1) if chunk_id in relevant), 0)


def _lane(run: PageRun, query_id: str, file: str) -> list[list[Any]] | None:
    """Return [first line, end line, rank, relevant] of each chunk of the query's file.

    The rank is 0 where the chunk was not retrieved.
    """
    inspection = run.stored.inspection
    if inspection is None:
        return None
    chunks = inspection.own.get(query_id) or inspection.chunks.get(file, ())
    ranks = {chunk_id: rank for rank, chunk_id in enumerate(run.ranked(query_id), start=1)}
    relevant = run.qrels.get(query_id, {})
    return [
        [chunk.lines.start, chunk.lines.end, ranks.get(chunk.chunk_id, 0), chunk.chunk_id in relevant]
        for chunk in chunks
    ]


def _column(run: PageRun, measure: str) -> list[float] | None:
    values = run.scores.values.get(measure)
    return None if values is None else values.tolist()
