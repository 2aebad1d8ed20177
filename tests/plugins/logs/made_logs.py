"""Judged logs made of a few words: what the sections of a retrieval team's page are tested on."""

import json

from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.runs.log import LogRow
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.records import QueryRow
from support.runs import read_rows

MEASURES = ("ndcg@5", "recall@5", "recall@2", "precision@2", "hit@1", "mrr", "ap", "f1@3", "rprec", "rbp")


def chunks(ids, **fields):
    """Ranked chunks; `fields` is field -> chunk_id -> value."""
    return [
        {"rank": i, "chunk_id": c, "score": 1.0 / i, **{f: by[c] for f, by in fields.items() if c in by}}
        for i, c in enumerate(ids, start=1)
    ]


def log_row(query_id, topk, **fields):
    """A row of the contract as JSON has it."""
    fields_ = {"system": "s", "k_raw": 10, "index_version": "1", "chunker": {"algo": "fixed", "parameters": {}}}
    return {"query_id": query_id, "topk": topk, **fields_, **fields}


def row(query_id, ids, **fields):
    """A row of the contract that ranks `ids`."""
    topk = ids if ids and isinstance(ids[0], dict) else chunks(ids)
    return LogRow.model_validate(log_row(query_id, topk, **fields))


def judged(rows, gold, *, conversations=None, measures=MEASURES):
    """A judged log of `rows`; `gold` is query_id -> gains or relevant ids, which names the scored queries."""
    qrels = {q: g if isinstance(g, dict) else dict.fromkeys(g, 1.0) for q, g in gold.items()}
    scored = QueryScores.from_rows(
        QueryRow(
            query_id=q,
            n_relevant=len(qrels[q]),
            measures=dict.fromkeys(measures, 0.0),
            cluster=conversations[q] if conversations else None,
            cluster_by="conversation" if conversations else None,
        )
        for q in qrels
    )
    return JudgedLog.of(scored, rows, qrels)


def by_name(section):
    """Figure name -> figure."""
    return {figure.name: figure for figure in section.figures}


def schema():
    """The JSON Schema of a log's rows, as docs/run-log.schema.json has it."""
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **LogRow.model_json_schema()}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def own_gold(folder):
    """The gold of a run made here, as rows of a gold file."""
    return [
        {"query_id": query["query_id"], "file": file, "start_line": start, "end_line": end}
        for query in read_rows(folder / "queries.jsonl.gz")
        for file, start, end in query["gold"]
    ]
