"""Run folders with chosen scores, as `eval` writes them: what statistics, segments and gates read."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from repoeval_bench.core.files import packed
from repoeval_bench.core.json_reader import opened
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.log import in_full, read_log
from repoeval_bench.runs.planning import Setting, make_chunkers, select
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.records import MANIFEST, RETRIEVED, SCHEMA, Manifest, Means, Metrics, QueryRow, TimeRow
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import make_runs
from repoeval_bench.runs.store import jsonl, write_folder
from repoeval_bench.runs.trec import as_field
from repoeval_bench.runs.view import RunView


class TwoRuns(NamedTuple):
    """Two runs of the mirror by BM25, `ast` and `fixed` at 400; the folder they are in, and a home that has the data."""

    ast: Path
    fixed: Path
    out: Path
    home: Path


CODE = {"commit": None, "dirty": None}

PROTOCOL = {
    "query": "full",
    "gold": "context",
    "relevance": "overlap",
    "repositories": "all",
    "headline": "micro",
    "documents": "chunks",
    "exclusion": "none",
    "scope": "repository",
}


def read_text(path: Path) -> str:
    """The text of a file of a run, unpacked."""
    with opened(path) as stream:
        return stream.read().decode("utf-8")


def page_data(html: str) -> Any:
    """What the script of a page looks up about queries."""
    (data,) = re.findall(r'id="data">([^<]+)<', html)
    return json.loads(gzip.decompress(base64.b64decode(data)))


def write_text(path: Path, text: str) -> None:
    """Write a file of a run, packed where its name says so."""
    path.write_bytes(b"".join(packed(text)) if path.suffix == ".gz" else text.encode())


def read_rows(path: Path) -> list[Any]:
    """The rows of a file of JSON Lines, unpacked; those of a run log in full."""
    if path.name == RETRIEVED:
        return [in_full(row, hits).as_json() for _, row, hits in read_log(path)]
    return [json.loads(line) for line in read_text(path).splitlines()]


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON Lines, packed where the name says so; a text is a row as it is; the path."""
    write_text(path, "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def change(path: Path, edit: Callable[[Any], object]) -> list[Any]:
    """Change a JSON file, or every row of JSON Lines, of which those go that `edit` gives False for; what is left."""
    rows = read_rows(path) if "jsonl" in path.name else [json.loads(path.read_text())]
    left = [row for row in rows if edit(row) is not False]
    write_rows(path, left)
    return left


def metrics(values: Mapping[str, Sequence[float]], repos: Sequence[str], **changed: Any) -> Metrics:
    """The content of metrics.json for these values; `changed` are its fields that are given."""
    means = Means.of({name: list(column) for name, column in values.items()}, repos)
    n = len(repos)
    usual = {"run_id": "made", "protocol": "context", "headline": "micro", "chunker": "made", "k": 100}
    nothing = {"dataset": {}, "counts": {}, "chunk_nws": {}, "ceilings": {}}
    content = {**usual, "embedder": "minilm", "retriever": "dense", **nothing, **means.as_json(), **changed}
    dataset = {"name": "made", "fingerprint": "0" * 12, "label": "made · 0", "tasks": n}
    content["dataset"] = dataset | content["dataset"]
    content["counts"] = {"queries": n, **content["counts"]}
    if content["chunk_nws"] is not None:
        content["chunk_nws"] = {"mean": 1.0, "median": 1, "p95": 1, "max": 1, **content["chunk_nws"]}
    if content["ceilings"] is not None:
        content["ceilings"] = {"micro": {}, "macro": {}, "per_repo": {}, **content["ceilings"]}
    return Metrics.model_validate_json(json.dumps(content))


def config(**changed: Any) -> dict[str, Any]:
    """The configuration of a made run; `choices` changes some of its protocol's."""
    content = {"dataset": "made", "fingerprint": "0" * 12, "chunker": "made", "retriever": "dense", "pack": "made@1"}
    content |= {"embedder": "minilm", "embedder_identity": {"precision": "fp32"}, "retriever_identity": {}}
    content |= {"k": 100, "measures": [], "skip_errors": False, **changed}
    return content | {"choices": PROTOCOL | content.get("choices", {})}


def query_scores(rows: Iterable[Mapping[str, Any]]) -> QueryScores:
    """The columns of such rows of per_query.jsonl.gz; one relevant chunk each unless they say otherwise."""
    return QueryScores.from_rows(QueryRow(**{"n_relevant": 1, **row}) for row in rows)


def write_run(
    folder: Path,
    values: Mapping[str, Sequence[float]],
    *,
    files: Sequence[str | tuple[str, ...]] | None = None,
    repos: Sequence[str] | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
    query_ids: Sequence[str] | None = None,
    latency: Sequence[float] = (),
    topk: Mapping[str, Sequence[str]] | None = None,
    qrels: Mapping[str, Mapping[str, float]] | None = None,
    **changed: Any,
) -> RunView:
    """A run whose query i has values[measure][i], is in files[i] of repos[i] (one, or all of a tuple), and has facts[i].

    `changed` are fields of its metrics.json.
    """
    n = len(next(iter(values.values())))
    ids = list(query_ids or (f"q{i:06d}" for i in range(n)))
    repos = list(repos or ["repo"] * n)
    gold = {query_id: (qrels or {}).get(query_id, {"c": 1.0}) for query_id in ids}
    ranked = {query_id: list((topk or {}).get(query_id, ["c"])) for query_id in ids}
    content = metrics(values, repos, **{"run_id": folder.name, "chunker": folder.name, **changed})
    manifest = {
        "schema": SCHEMA,
        "run_id": folder.name,
        "created": "2026-01-01T00:00:00+00:00",
        "dataset": content.dataset.as_json(),
        "counts": content.counts.as_json(),
        "qrels_gain_factor": 1,
        "index_version": "1",
        "code": CODE,
        "versions": {},
    }
    imported = {"log": "log.jsonl", "gold": "gold.jsonl", "gold_kind": "chunks", "pooled": False}
    manifest |= {"imported": imported} if content.imported else {"config": config()}
    return RunView(
        write_folder(
            folder,
            manifest=Manifest.model_validate_json(json.dumps(manifest)),
            metrics=content,
            queries=(
                QueryRow(
                    query_id=query_id,
                    repo=repos[i],
                    path=None if not files or isinstance(files[i], tuple) else files[i],
                    gold_files=files[i] if files and isinstance(files[i], tuple) else (),
                    n_relevant=len(gold[query_id]),
                    facts=dict(facts[i]) if facts else {},
                    measures={name: float(column[i]) for name, column in values.items()},
                )
                for i, query_id in enumerate(ids)
            ),
            timings=[
                TimeRow(step="judge", seconds=1.0),
                *(TimeRow(query_id=q, latency_ms={"retrieve": ms}) for q, ms in zip(ids, latency, strict=False)),
            ],
            qrels="".join(
                f"{as_field(query_id, 'query id')} 0 {chunk} {int(gain)}\n"
                for query_id, gains in gold.items()
                for chunk, gain in (gains or {"none": 0}).items()
            ),
            log=jsonl(_log_row(folder.name, query_id, chunks) for query_id, chunks in ranked.items()),
        )
    )


def write_runs(folder: Path, columns: Mapping[str, Mapping[str, Sequence[float]]], **options: Any) -> list[RunView]:
    """A run for each name, of its values by measure; `options` are those of `write_run` for all of them."""
    return [write_run(folder / name, values, **options) for name, values in columns.items()]


def write_carried_pair(folder: Path) -> list[RunView]:
    """Two runs, `b` and `c`, of which `c` leads significantly, but not without one file."""
    plain = np.array([0.3 + 0.01 * (i * 7 % 13) for i in range(80)])
    lead = plain + np.random.default_rng(37).normal(0.015, 0.03, 40)[np.arange(80) // 2]
    files = [f"f{i // 2}" for i in range(80)]
    columns = {"b": {"ndcg@10": plain}, "c": {"ndcg@10": lead}}
    return write_runs(folder, columns, files=files, headline_measure="ndcg@10")


def _log_row(system: str, query_id: str, chunks: Sequence[str]) -> dict[str, Any]:
    topk = [{"rank": rank, "chunk_id": chunk, "score": -rank} for rank, chunk in enumerate(chunks, 1)]
    usual = {"index_version": "1", "chunker": {"algo": "made", "parameters": {}}}
    return {"query_id": query_id, "system": system, "k_raw": 100, "topk": topk, **usual}


def edit(run: RunView, name: str, **changed: Any) -> RunView:
    """Change fields of a run's manifest.json or metrics.json; the run, to be read anew."""
    path = run.folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return RunView(run.folder)


def set_config(run: RunView, **changed: Any) -> RunView:
    """Change what a run's manifest states of its configuration; the run, to be read anew."""
    return edit(run, MANIFEST, config=config(**changed))


def make_together(benchmark, chunkers, out, *, embedder=None, executor=IN_PROCESS, home=None, **fields):
    """Yield the run of each chunker, or its error; `embedder` is an object."""
    request = RunRequest(**fields)
    setting = Setting(request=request, selected=select(benchmark, request.resolved_protocol()), embedder=embedder)
    cutters = make_chunkers(benchmark, chunkers, request)
    rows = make_runs([setting], cutters, results_at(out), reuse=False, home=home, executor=executor)
    return ((row.runs | row.failed)[request.setting] for row in rows)
