"""The data that a page looks up when a query is opened; its script shows it as text and never as markup.

files      file -> its lines, for each file that is shown and whose source a run kept
queries    file, gold (also in other files), text, scores of every run, what each retrieved, each run's chunks of the
           file with their ranks, and the definitions that are needed with the rank of the first chunk that has each
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repoeval_bench.protocols.uses import distance
from repoeval_bench.report.html.tables import PageRun
from repoeval_bench.report.text import heading
from repoeval_bench.runs.inspection import DefinitionRow, Inspection, QueryGoldRow, read_inspection
from repoeval_bench.runs.log import Retrieved, first_rank

# Retrieved chunks that are listed for each query; a query without a relevant one among them is missed.
TOP = 10

# Characters of a line that are shown; a minified file has lines of a megabyte.
LINE = 400

_LONG = re.compile(rf"([^\n]{{{LINE}}})[^\n]+")


def payload(
    runs: Sequence[PageRun], measures: Sequence[str], looks: Sequence[int], *, text: bool = True
) -> dict[str, Any]:
    """Everything about single queries.

    `looks` are the numbers of the runs' colours. Without `text` there is no code, no query and no subject of a commit.
    """
    # All runs were asked the same queries of the same code.
    kept = next((run.stored.inspection for run in runs if run.stored.inspection), None)
    golds, sources = kept.queries if kept else {}, kept.sources if kept and text else {}
    # One run after another: the chunks and the log of a large history take 200 MB of each.
    shown = [_shown_by(run, golds) for run in runs]
    columns = [[run.scores.values.get(name) for name in measures] for run in runs]
    queries = []
    for row, query_id in enumerate(runs[0].scores.query_ids):
        query = _query(query_id, golds.get(query_id), [of_run[query_id] for of_run in shown])
        if not text:
            query.pop("text", None)
            if commit := query.get("asked"):
                query["asked"] = [*commit[:2], ""]
        query["repo"] = runs[0].scores.repos[row]
        query["scores"] = [
            [None if column is None else round(float(column[row]), 4) for column in of_run] for of_run in columns
        ]
        queries.append(query)
    return {
        "runs": [{"name": run.name, "short": run.short, "look": look} for run, look in zip(runs, looks, strict=True)],
        "measures": [heading(name) for name in measures],
        "queries": queries,
        "files": {
            name: [*map(_cut, sources[name].text.splitlines())] for name in sorted(_named(queries)) if name in sources
        },
    }


def _named(queries: Sequence[dict[str, Any]]) -> set[str]:
    """Return the files that queries, their gold and their hits are in."""
    names = {hit[0] for query in queries for top in query["top"] for hit in top}
    for query in queries:
        names |= {query.get("file"), *(place[0] for place in query.get("elsewhere", ()))}
        names |= {definition[3] for definition in query.get("definitions", ())}
    return names - {None}


def _cut(text: str) -> str:
    return _LONG.sub(lambda line: f"{line[1]} … {len(line[0]):,} characters", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryResults:
    """The results of one run for a query, as the page shows them."""

    text: str | None
    top: list[list[Any]]
    first: int
    relevant: int
    lane: list[list[Any]] | None
    of_definitions: list[int | None]


def _shown_by(run: PageRun, golds: Mapping[str, QueryGoldRow]) -> dict[str, _QueryResults]:
    inspection = read_inspection(run.stored.folder)
    logged = {row.query_id: row for row in run.stored.log_rows()}
    qrels = run.stored.qrels()
    shown = {}
    for query_id in run.scores.query_ids:
        row, relevant, gold = logged.get(query_id), qrels.get(query_id, {}), golds.get(query_id)
        ranked = [*row.ranked] if row else []
        shown[query_id] = _QueryResults(
            text=row.query if row else None,
            top=[_hit(hit, relevant) for hit in ranked[:TOP]],
            first=next((rank for rank, hit in enumerate(ranked, start=1) if hit.chunk_id in relevant), 0),
            relevant=len(relevant),
            lane=_lane(inspection, query_id, gold.file, ranked, relevant) if inspection and gold else None,
            of_definitions=[first_rank(needed.places, ranked) for needed in gold.definitions] if gold else [],
        )
    return shown


def _query(query_id: str, gold: QueryGoldRow | None, shown: Sequence[_QueryResults]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": query_id,
        "top": [of_run.top for of_run in shown],
        "first": [of_run.first for of_run in shown],
        "relevant": [of_run.relevant for of_run in shown],
    }
    text = next((of_run.text for of_run in shown if of_run.text is not None), None)
    if gold is None:
        return entry if text is None else entry | {"text": ["", _cut(text), ""]}
    # The page shows one file of a query whole, and what of its gold is in others as excerpts.
    entry |= {
        "file": gold.file,
        "gold": [[start, end] for file, start, end in gold.gold if file == gold.file],
        "elsewhere": [[file, start, end] for file, start, end in gold.gold if file != gold.file],
        "body": gold.body,
        "lanes": [of_run.lane for of_run in shown],
    }
    if gold.definitions:
        ranks = zip(*(of_run.of_definitions for of_run in shown), strict=True)
        entry["definitions"] = [
            _definition(needed, gold.file, [*of_one]) for needed, of_one in zip(gold.definitions, ranks, strict=True)
        ]
    if gold.commit:
        entry["asked"] = [gold.commit.commit, gold.commit.date, gold.commit.subject]
    if text is not None:
        start, end = gold.read
        entry["text"] = [_cut(text[:start]), _cut(text[start:end]), _cut(text[end:])]
        if (start, end) != (0, len(text)):
            entry["share"] = round((end - start) / len(text), 4)
    return entry


def _definition(needed: DefinitionRow, own: str, ranks: list[int | None]) -> list[Any]:
    """Return [name, kind, tier, file, [[first line, end line], …], distance, [rank of the first chunk with it, …]]."""
    file, lines = needed.gold[0][0], [[start, end] for _, start, end in needed.gold]
    return [needed.name, needed.kind, needed.tier, file, lines, distance(own, file), ranks]


def _hit(hit: Retrieved, relevant: Collection[str]) -> list[Any]:
    """Return [file, first line, end line, relevant, score]; the chunk's id is the file of one without."""
    place = (hit.chunk_id, None, None) if hit.file is None else (hit.file, hit.start_line, hit.end_line)
    return [*place, hit.chunk_id in relevant, round(hit.score, 3)]


def _lane(
    inspection: Inspection, query_id: str, file: str, ranked: Iterable[Retrieved], relevant: Collection[str]
) -> list[list[Any]]:
    """Return [first line, end line, rank, relevant] of each chunk of the query's file.

    The rank is 0 where the chunk was not retrieved.
    """
    ranks = {hit.chunk_id: rank for rank, hit in enumerate(ranked, start=1)}
    return [
        [chunk.lines.start, chunk.lines.end, ranks.get(chunk.chunk_id, 0), chunk.chunk_id in relevant]
        for chunk in inspection.own.get(query_id) or inspection.chunks.get(file, ())
    ]
