"""Run folders: `results/<run id>/`, written atomically, read back by every command and report.

manifest.json      what ran: configuration, dataset, counts, versions, when (the only time beside timings.jsonl)
metrics.json       means over queries (micro), over repositories (macro), and per repository; the same of the ceilings
per_query.jsonl    every query's value and ceiling of every measure, with its text's SHA-256, its file (the cluster of
                   the statistics) and the facts of its task that segments are made of
run.trec           the ranking, qrels.trec the judgements: readable by trec_eval and ir_measures
retrieved.jsonl    the run log: a query, its text and its top k with file and lines; rows of `runlog.LogRow`
timings.jsonl      seconds per step and milliseconds per query
*.jsonl.gz         sources, chunk boundaries and what the model read of each query; see `inside`

A second identical run writes the same bytes but for timings.jsonl and the manifest's `created`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import readable, sha256_text, write_atomic
from repoeval_bench.core.spec import Spec, short_hash
from repoeval_bench.runs.inspection import read_inside
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.query_scores import ScoredQueries
from repoeval_bench.runs.trec import format_qrels, format_run, read_qrels, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark, Query
    from repoeval_bench.core.run import Fact, Qrels, Run
    from repoeval_bench.core.source import Chunk
    from repoeval_bench.metrics import RunScores
    from repoeval_bench.metrics.judged import Rankings
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.config import RunConfig
    from repoeval_bench.runs.inspection import Inside

MANIFEST = "manifest.json"
METRICS = "metrics.json"
PER_QUERY = "per_query.jsonl"
RETRIEVED = "retrieved.jsonl"
RUN = "run.trec"
QRELS = "qrels.trec"
TIMINGS = "timings.jsonl"

EMBED_STEP = "embed"
"""The step in which the vectors of all of a command's runs are computed; each of these runs states it whole."""
"""The step of timings.jsonl whose row also counts the texts that were `encoded` in it, and the tokens that a server
says they are."""

SCHEMA = 1

_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""How a line is written; `json.dumps` would make a new one for each."""

IDENTITY = (
    "dataset",
    "protocol",
    "chunker",
    "embedder",
    "retriever",
    "k",
    "counts",
    "micro",
    "macro",
    "per_repo",
)
"""What every metrics.json holds; a file without one of them is not ours, or broken."""

MADE_HERE = (*IDENTITY, "chunk_nws")
"""What that of a run made here holds; an imported run's chunk sizes are not known."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run, as the pipeline hands it over to be written.

    `corpus` is what the chunker made, `documents` what was ranked in the end and judged. `leak` is diagnostic ->
    query_id -> share, `facts` task_id -> fact -> value. `chunk_tokens` are sizes in the model's tokens, None where no
    model was asked. `inside` are the files to look into, name -> content. `first_stage` names what a reranker ranked
    again: its retriever, how deep (k_raw), and the id of the run that stops there.
    `index_cost` are the index's vectors, tokens and bytes (None where nothing was embedded), `encoded` how many texts
    were encoded and not cached before, `usage` what that used, as an embedding server counts it.
    """

    config: RunConfig
    benchmark: Benchmark
    corpus: Corpus
    documents: Corpus
    queries: tuple[Query, ...]
    qrels: Qrels
    run: Run
    scores: RunScores
    ceilings: RunScores
    leak: Mapping[str, Mapping[str, float]]
    facts: Mapping[str, Mapping[str, Fact]]
    counts: dict[str, int | None]
    chunk_tokens: dict[str, float] | None
    seconds: dict[str, float]
    inside: Mapping[str, bytes]
    index_cost: Mapping[str, int | None] | None
    encoded: int
    usage: Mapping[str, int]
    first_stage: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class StoredRun:
    """A run folder. Files are read on first use; a missing or broken one is a ResultError."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The run in a folder; a ResultError where its manifest is broken, or is another version's."""
        run = cls(folder)
        _ = run.manifest
        return run

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.folder.name

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Content of manifest.json; a ResultError where another version wrote the folder."""
        content = self._json(MANIFEST)
        if (schema := content.get("schema")) != SCHEMA:
            raise ResultError(
                f"{self.folder} is of schema {schema}, and this version reads {SCHEMA}; run the evaluation again"
            )
        return content

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Content of metrics.json."""
        content = self._json(METRICS)
        required = IDENTITY if content.get("imported") else MADE_HERE
        missing = [key for key in required if key not in content]
        if missing:
            raise ResultError(f"{self.folder / METRICS} holds no {missing[0]}; run the evaluation again")
        return content

    @cached_property
    def scored(self) -> ScoredQueries:
        """per_query.jsonl as columns: query_id, repo, path, n_relevant, facts, metrics of each row.

        A ResultError where metrics.json holds other means than theirs: nobody could say which of the two is true.
        """
        try:
            scored = ScoredQueries.from_rows(self.rows(PER_QUERY))
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{self.folder / PER_QUERY} lacks {error}; run the evaluation again") from error
        if wrong := scored.other_means(*(self.metrics[key] for key in ("micro", "macro", "per_repo"))):
            raise ResultError(
                f"{self.folder}: {METRICS} and {PER_QUERY} say different things of {', '.join(wrong)}; "
                "run the evaluation again"
            )
        return scored

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of one of the folder's JSONL files, read as they are asked for."""
        try:
            with (self.folder / name).open(encoding="utf-8") as stream:
                for number, line in enumerate(stream, start=1):
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise ResultError(
                            f"{self.folder / name}:{number} is broken ({error}); run the evaluation again"
                        ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise ResultError(f"{self.folder / name} cannot be read ({error}); run the evaluation again") from error

    def ranked_ids(self) -> dict[str, tuple[str, ...]]:
        """query_id -> the chunk ids it was given, best first, from the run log."""
        return {
            row["query_id"]: tuple(entry["chunk_id"] for entry in sorted(row["topk"], key=itemgetter("rank")))
            for row in self.rows(RETRIEVED)
        }

    @cached_property
    def inside(self) -> Inside | None:
        """Sources, chunk boundaries and queries; None where the run has none of them."""
        return read_inside(self.folder)

    def latencies(self) -> dict[str, list[float]]:
        """Step -> milliseconds of each query whose time is known, from timings.jsonl."""
        found: dict[str, list[float]] = defaultdict(list)
        for of_query in self.latency_by_query().values():
            for step, milliseconds in of_query.items():
                found[step].append(milliseconds)
        return dict(found)

    def latency_by_query(self) -> dict[str, dict[str, float]]:
        """query_id -> step -> milliseconds, for each query whose time is known, from timings.jsonl."""
        return {row["query_id"]: row["latency_ms"] for row in self.rows(TIMINGS) if "latency_ms" in row}

    def qrels(self) -> Qrels:
        """query_id -> chunk_id -> gain, gains as they were before they were written as whole numbers."""
        return read_qrels(self.folder / QRELS, self.manifest["qrels_gain_factor"])

    def rankings(self) -> Rankings:
        """query_id -> ranked (chunk_id, score), from run.trec: ids as TREC files spell them, as in `qrels`."""
        return read_run(self.folder / RUN).rankings

    def text(self, name: str) -> str:
        """The text of one of the folder's files."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ResultError(f"{self.folder / name} cannot be read ({error}); run the evaluation again") from error

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads(self.text(name))
        except ValueError as error:
            raise ResultError(f"{self.folder / name} is broken ({error}); run the evaluation again") from error
        if not isinstance(content, dict):
            raise ResultError(f"{self.folder / name} holds no object; run the evaluation again")
        return content


_SHOWN = 3
"""Run ids that an error names; a folder may hold hundreds."""


def find_run(name: str, results: Path) -> StoredRun:
    """A run by folder, by id, or by the unambiguous beginning or end of its id; another version's is a ResultError."""
    for folder in (Path(name), results / name):
        if (folder / MANIFEST).is_file():
            return StoredRun.open(folder)
    known = sorted(path.parent.name for path in results.glob(f"*/{MANIFEST}"))
    matches = [run_id for run_id in known if name and (run_id.startswith(name) or run_id.endswith(name))]
    if len(matches) == 1:
        return StoredRun.open(results / matches[0])
    if matches:
        raise UsageError(f"{name!r} fits {len(matches)} runs in {results}: {_few(matches)}; give more of the id")
    if not known:
        raise UsageError(f"no run {name!r}: {results} holds no run yet; make one with repoeval-bench eval")
    # An id is long: a piece of it is nearer than whatever else shares letters with it.
    near = sorted((run_id for run_id in known if name and name in run_id), key=len)
    near += [run_id for run_id in get_close_matches(name, known, n=_SHOWN, cutoff=0) if run_id not in near]
    near += [run_id for run_id in known if run_id not in near]
    raise UsageError(
        f"unknown run {name!r}; {results} holds {len(known)}, the nearest first: {_few(near)}; "
        "give a folder, an id, or the beginning or the end of one"
    )


def _few(run_ids: Sequence[str]) -> str:
    """The first ids, and how many are left out."""
    more = len(run_ids) - _SHOWN
    return ", ".join(run_ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def save(outcome: Outcome, results: Path, *, created: str) -> StoredRun:
    """Write a run folder; the manifest comes last, so that a folder without one is not a run.

    `created` is an ISO 8601 time. A folder that cannot be written is a ResultError.
    """
    folder = results / outcome.config.run_id
    run_text = format_run(outcome.run.rankings, outcome.config.chunker)
    qrels_text, gain_factor = format_qrels(outcome.qrels)
    manifest = {
        "schema": SCHEMA,
        "run_id": outcome.config.run_id,
        "created": created,
        "dataset": _dataset(outcome),
        "config": outcome.config.as_dict(),
        "first_stage": outcome.first_stage,
        "counts": outcome.counts,
        "skipped": list(outcome.corpus.skipped),
        "undecodable": list(outcome.benchmark.undecodable),
        "qrels_gain_factor": gain_factor,
        "index_version": index_version(outcome),
        "index": outcome.index_cost,
        "as_of": None,  # RepoEval's queries have no date
        "code": code_state(),
        "versions": versions(),
    }
    files: dict[str, str | bytes | Iterable[str]] = {
        METRICS: pretty(_metrics(outcome)),
        PER_QUERY: jsonl(_per_query(outcome)),
        RUN: run_text,
        QRELS: qrels_text,
        RETRIEVED: "".join(_retrieved(outcome)),
        TIMINGS: jsonl(_timings(outcome)),
        **outcome.inside,
    }
    return write_folder(folder, files, manifest)


def write_folder(
    folder: Path, files: Mapping[str, str | bytes | Iterable[str]], manifest: Mapping[str, Any]
) -> StoredRun:
    """Write a run's files (name -> content, or its pieces), its manifest last.

    A ResultError where they cannot be written.
    """
    try:
        (folder / MANIFEST).unlink(missing_ok=True)
        for name, text in files.items():
            write_atomic(folder / name, text)
        write_atomic(folder / MANIFEST, pretty(manifest))
    except OSError as error:
        raise ResultError(f"the run folder {folder} cannot be written ({error}); choose another with --out") from error
    return StoredRun(folder)


def current(folder: Path) -> StoredRun | None:
    """The run in a folder if it is there and this very code, with these very packages, made it; else None."""
    if not (folder / MANIFEST).is_file():
        return None
    try:
        run = StoredRun.open(folder)
    except ResultError:  # another version's, or broken: it is made again
        return None
    state = code_state()
    made_by_this_code = run.manifest.get("code") == state and not state["dirty"]
    return run if made_by_this_code and run.manifest.get("versions") == versions() else None


def check_writable(results: Path) -> None:
    """Fail before hours of work, not after: raise a ResultError unless files can be made in `results`."""
    # Nothing is left behind: the probe goes where the folder will be made.
    folder = next(path for path in (results, *results.absolute().parents) if path.exists())
    try:
        write_atomic(folder / f".{results.name}.writable", "")
        (folder / f".{results.name}.writable").unlink()
    except OSError as error:
        raise ResultError(
            f"the results folder {results} cannot be written ({error}); choose another with --out"
        ) from error


def index_version(outcome: Outcome) -> str:
    """Hash of what the index was built from: dataset, chunker, embedder."""
    config = outcome.config
    parts = (config.fingerprint, config.chunker, config.embedder_identity)
    return short_hash(json.dumps(parts, sort_keys=True, default=dict), 12)


def _dataset(outcome: Outcome) -> dict[str, Any]:
    benchmark = outcome.benchmark
    return {
        "name": benchmark.name,
        "fingerprint": benchmark.fingerprint,
        "label": benchmark.label,
        "level": benchmark.level,
        "source": benchmark.source,
        "tasks": len(benchmark.tasks),
        "whole_tasks": benchmark.whole_tasks,
        "repositories": list(benchmark.files),
        "whole_repositories": benchmark.whole_repos,
    }


def _metrics(outcome: Outcome) -> dict[str, Any]:
    config = outcome.config
    repos = [query.repo for query in outcome.queries]
    ceilings = means({name: values.tolist() for name, values in outcome.ceilings.values.items()}, repos)
    leak = means({name: list(values.values()) for name, values in outcome.leak.items()}, repos)
    return {
        "run_id": config.run_id,
        "dataset": _dataset(outcome),
        "protocol": config.protocol.name,
        "headline": config.protocol.headline,
        "headline_measure": config.protocol.headline_measure,
        "chunker": config.chunker,
        "embedder": config.embedder,
        "retriever": config.retriever,
        "k": config.k,
        "counts": outcome.counts,
        "chunk_nws": outcome.corpus.sizes(),
        "chunk_tokens": outcome.chunk_tokens,
        **means({name: values.tolist() for name, values in outcome.scores.values.items()}, repos),
        "ceilings": ceilings,
        "leak": {mean: leak[mean] for mean in ("micro", "macro")},
    }


def means(values: Mapping[str, list[float]], repos: list[str]) -> dict[str, Any]:
    """Means per measure: over queries (`micro`), over repositories (`macro`), and `per_repo`.

    `values` has one value per query for each measure, `repos` each query's repository.
    """
    order = list(dict.fromkeys(repos))
    micro: dict[str, float] = {}
    macro: dict[str, float] = {}
    per_repo: dict[str, dict[str, float]] = {repo: {} for repo in order}
    for name, column in values.items():
        by_repo: dict[str, list[float]] = defaultdict(list)
        for repo, value in zip(repos, column, strict=True):
            by_repo[repo].append(value)
        for repo in order:
            per_repo[repo][name] = sum(by_repo[repo]) / len(by_repo[repo])
        micro[name] = sum(column) / len(column) if column else 0.0
        macro[name] = sum(per_repo[repo][name] for repo in order) / len(order) if order else 0.0
    return {"micro": micro, "macro": macro, "per_repo": per_repo}


def _per_query(outcome: Outcome) -> Iterable[dict[str, Any]]:
    columns = {name: values.tolist() for name, values in outcome.scores.values.items()}
    ceilings = {name: values.tolist() for name, values in outcome.ceilings.values.items()}
    position = {query_id: i for i, query_id in enumerate(outcome.scores.query_ids)}
    hashes = {query.query_id: sha256_text(query.text) for query in outcome.queries}
    for task in outcome.benchmark.tasks:
        row = position[task.task_id]
        yield {
            "query_id": task.task_id,
            "repo": task.repo,
            "path": task.path,
            "query_sha256": hashes[task.task_id],
            "n_relevant": len(outcome.qrels[task.task_id]),
            "facts": outcome.facts[task.task_id],
            "metrics": {name: column[row] for name, column in columns.items()},
            "ceilings": {name: column[row] for name, column in ceilings.items()},
            "leak": {name: shares[task.task_id] for name, shares in outcome.leak.items()},
        }


def _retrieved(outcome: Outcome) -> Iterator[str]:
    """The lines of the run log. What of them can break the contract is held against it: a chunk's place once."""
    # Reading a run needs no contract, and the contract takes its time to be imported.
    from repoeval_bench.runs.log import check_row

    config = outcome.config
    spec = Spec.parse(config.chunker)
    chunks = {chunk.chunk_id: chunk for chunk in outcome.documents}
    places: dict[str, str] = {}
    # The id is a hash of the whole configuration.
    system, k_raw = config.run_id, max(config.k, (outcome.first_stage or {}).get("k_raw", 0))
    last = {
        "index_version": index_version(outcome),
        "chunker": {"algo": f"{spec.name}:{spec.target}" if spec.target else spec.name, "parameters": spec.params},
    }
    last_text = _json(last)
    for query in outcome.queries:
        ranking = outcome.run.rankings[query.query_id]
        # Tokens are the model's; where none was asked, none are known.
        tokens = outcome.facts[query.query_id].get("query_tokens")
        first = {
            "query_id": query.query_id,
            "query": readable(query.text),
            **({} if tokens is None else {"query_tokens": tokens}),
            "query_sha256": sha256_text(query.text),
            "system": system,
            "k_raw": k_raw,
        }
        new = [_place(chunks[chunk_id]) for chunk_id, _ in ranking if chunk_id not in places]
        check_row({**first, "topk": [{"rank": 1, **place, "score": 0.0} for place in new], **last})
        places.update((place["chunk_id"], _json(place)[1:-1]) for place in new)
        # A chunk is written as often as it is retrieved, a hundred thousand lines in all: its text is made once.
        topk = ", ".join(
            [
                f'{{"rank": {rank}, {places[chunk_id]}, "score": {float.__repr__(score)}}}'
                for rank, (chunk_id, score) in enumerate(ranking, start=1)
            ]
        )
        yield f'{_json(first)[:-1]}, "topk": [{topk}], {last_text[1:]}\n'


def _place(chunk: Chunk) -> dict[str, Any]:
    return {
        "chunk_id": chunk.chunk_id,
        "file": f"{chunk.repo}/{chunk.path}",
        "start_line": chunk.lines.start,
        "end_line": chunk.lines.end,
    }


def _timings(outcome: Outcome) -> Iterable[dict[str, Any]]:
    for step, seconds in outcome.seconds.items():
        # With warm vectors nothing is encoded, and the step's seconds say nothing of the model's speed.
        encoded = {"encoded": outcome.encoded, **outcome.usage} if step == EMBED_STEP else {}
        yield {"step": step, "seconds": round(seconds, 4), **encoded}
    steps = {"retrieve": outcome.run.latency_ms, "rerank": outcome.run.rerank_ms}
    for query_id in outcome.run.latency_ms:
        latency = {step: round(spent[query_id], 4) for step, spent in steps.items() if query_id in spent}
        yield {"query_id": query_id, "latency_ms": latency}


def pretty(content: Mapping[str, Any]) -> str:
    """JSON as it is stored: indented, UTF-8, with a final line end."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON lines."""
    return "".join(_json(row) + "\n" for row in rows)


def _json(content: Mapping[str, Any]) -> str:
    return _ENCODER.encode(content)
