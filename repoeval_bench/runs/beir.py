"""Export runs as data sets for the loaders of BEIR, of Hugging Face's `datasets`, and through it of MTEB.

A data set is a folder:

    README.md            names the files below as the configurations `corpus`, `queries` and `default` (the judgements)
    corpus.jsonl         {"_id", "title", "text"}
    queries.jsonl        {"_id", "text"}
    qrels/test.jsonl     {"query-id", "corpus-id", "score"}, read by `datasets` and MTEB
    qrels/test.tsv       the same, read by BEIR
    top_ranked.jsonl     {"query-id", "corpus-ids"}: the documents that a query may see, if not the whole corpus

MTEB ranks only the documents that `top_ranked` names. BEIR's loader does not read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_named
from repoeval_bench.core.words import count
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.runner import plan_run
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.trec import as_field, format_qrels

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.source import Chunk
    from repoeval_bench.runs.view import RunView

OTHER_FOLDER = "another folder with -o"

Title = Literal["none", "path"]
"""The title of a document: empty, or repository/path. Loaders embed it before the text."""

_FILES = {
    "corpus": ("corpus", "corpus.jsonl"),
    "queries": ("queries", "queries.jsonl"),
    "qrels": ("test", "qrels/test.jsonl"),
    "top_ranked": ("test", "top_ranked.jsonl"),
}
"""Kind of file -> (its split, its path)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Data sets that were written: their names, and counts of documents and queries.

    `scored` counts the queries with a relevant document, `restricted` those that may not see the whole corpus of their
    data set. `left_out` are the repositories in which no query has a relevant document, which no loader can score.
    """

    sets: tuple[str, ...]
    documents: int
    queries: int
    scored: int
    restricted: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool:
    """The documents and queries of all runs (by repository and id), their judgements, and the excluded documents."""

    protocol: Protocol
    documents: dict[str, dict[str, Chunk]] = field(default_factory=dict)
    queries: dict[str, dict[str, str]] = field(default_factory=dict)
    gains: dict[str, dict[str, float]] = field(default_factory=dict)
    excluded: dict[str, set[str]] = field(default_factory=dict)

    def add(self, run: RunView, benchmark: Benchmark) -> None:
        """Cut the run's chunks again, and add them with its judgements."""
        config = run.manifest.config
        if config is None:
            raise UsageError(f"{run.run_id} was imported, so its texts are not available")
        chunker = None if config.choices.documents == "windows" else config.chunker
        planned = plan_run(benchmark, chunker, protocol=self.protocol, skip_errors=config.skip_errors)
        fingerprint = run.metrics.dataset.fingerprint  # of the part that the protocol scores
        if planned.benchmark.fingerprint != fingerprint:
            raise UsageError(
                f"{run.run_id} ran on data {fingerprint}, this is {planned.benchmark.label}; name the run's with "
                "--source and --queries, and export runs of other tasks one by one"
            )
        if planned.corpus.own:
            raise UsageError(f"protocol {self.protocol.name} gives queries documents of their own; BEIR has none")
        qrels = run.qrels()
        known = {chunk.chunk_id for chunk in planned.corpus}
        if lost := {chunk_id for gains in qrels.values() for chunk_id in gains} - known:
            raise ResultError(
                f"{run.run_id} judged {count(len(lost), 'chunk')} that are cut no more; evaluate it again"
            )
        for repo, chunks in planned.corpus.chunks.items():
            documents = self.documents.setdefault(repo, {})
            for chunk in chunks:
                if documents.setdefault(chunk.chunk_id, chunk).embed_text != chunk.embed_text:
                    raise UsageError(
                        f"{chunk.chunk_id} is embedded with another header or text in {run.run_id} than in the runs "
                        "before it; export these runs one by one"
                    )
        for query in planned.queries:
            query_id = as_field(query.query_id, "query id")  # one word, as in the run's TREC files
            self.queries.setdefault(query.repo, {})[query_id] = query.text
            self.gains.setdefault(query_id, {}).update(qrels[query.query_id])
        excluded = excluded_chunks(planned.benchmark.tasks, planned.corpus.chunks, self.protocol.exclusion)
        for query_id, chunk_ids in excluded.items():
            self.excluded.setdefault(as_field(query_id, "query id"), set()).update(chunk_ids)


def export_beir(
    runs: Sequence[RunView], benchmark: Benchmark, folder: Path, *, pooled: bool = False, title: Title = "none"
) -> Exported:
    """Write the documents, queries and judgements of runs as data sets below `folder`.

    There is one for each repository, or a single `pooled` one, with the documents of all runs side by side. A README.md
    in `folder` makes the data sets of the repositories the subsets of one. Texts are not stored with a run, so they are
    cut again from `benchmark`. UsageError if that is not the benchmark of the runs, or if the runs have several
    protocols.
    """
    first = runs[0].metrics.protocol
    pool = _Pool(protocol=Protocol.parse(first))
    for run in runs:
        if run.metrics.protocol != first:
            raise UsageError(
                f"{run.run_id} answers protocol {run.metrics.protocol}, {runs[0].run_id} {first}; export runs of one "
                "protocol together"
            )
        pool.add(run, benchmark)
    pooled = pooled or pool.protocol.scope == "pooled"
    scored = {
        repo: [query_id for query_id in queries if pool.gains[query_id]] for repo, queries in pool.queries.items()
    }
    skipped = () if pooled else tuple(repo for repo in pool.documents if not scored.get(repo))
    members = [repo for repo in pool.documents if repo not in skipped]
    if not any(scored.values()):
        raise UsageError(
            "no query of these runs has a relevant document; no loader reads a data set without judgements"
        )
    sets = {"": members} if pooled else {repo: [repo] for repo in members}
    restricted = {name: _write(folder / name, pool, repos, title) for name, repos in sets.items()}
    about = _about(runs, title)
    for name, number in restricted.items():
        write_named(folder / name / "README.md", _readme({"": number > 0}, about), OTHER_FOLDER)
    if not pooled:
        subsets = {name: number > 0 for name, number in restricted.items()}
        write_named(folder / "README.md", _readme(subsets, about), OTHER_FOLDER)
    return Exported(
        sets=tuple(name or folder.name for name in sets),
        documents=sum(len(pool.documents[repo]) for repo in members),
        queries=sum(len(pool.queries.get(repo, ())) for repo in members),
        scored=sum(map(len, scored.values())),
        restricted=sum(restricted.values()),
        left_out=skipped,
    )


def _write(folder: Path, pool: _Pool, repos: Sequence[str], title: Title) -> int:
    """Write the files of one data set; return the number of its queries that may not see all of its documents."""
    queries = {query_id: repo for repo in repos for query_id in pool.queries.get(repo, ())}
    documents = [chunk for repo in repos for chunk in pool.documents[repo].values()]
    # A query without a relevant document has no row: for loaders, an id without a document is an error.
    relevant = {query_id: gains for query_id in queries if (gains := pool.gains[query_id])}
    rows = [line.split(" ") for line in format_qrels(relevant)[0].splitlines()]
    by_repository = pool.protocol.scope == "repository" and len(repos) > 1
    restricted = len(queries) if by_repository else sum(query_id in pool.excluded for query_id in queries)
    files: dict[str, Any] = {
        "corpus.jsonl": jsonl(
            {"_id": chunk.chunk_id, "title": chunk.file if title == "path" else "", "text": chunk.embed_text}
            for chunk in documents
        ),
        "queries.jsonl": jsonl(
            {"_id": query_id, "text": pool.queries[repo][query_id]} for query_id, repo in queries.items()
        ),
        "qrels/test.jsonl": jsonl(
            {"query-id": query_id, "corpus-id": chunk_id, "score": int(gain)} for query_id, _, chunk_id, gain in rows
        ),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{query_id}\t{chunk_id}\t{gain}\n" for query_id, _, chunk_id, gain in rows),
    }
    if restricted:
        files["top_ranked.jsonl"] = _top_ranked(pool, queries, repos)
    for name, content in files.items():
        write_named(folder / name, content, OTHER_FOLDER)
    return restricted


def _top_ranked(pool: _Pool, queries: Mapping[str, str], repos: Sequence[str]) -> Iterator[str]:
    """Yield a row for each query with the documents that it may see: its repository's, or all, less excluded ones."""
    for query_id, repo in queries.items():
        own = repos if pool.protocol.scope == "pooled" else (repo,)
        excluded = pool.excluded.get(query_id, ())
        seen = [chunk_id for own_repo in own for chunk_id in pool.documents[own_repo] if chunk_id not in excluded]
        yield jsonl([{"query-id": query_id, "corpus-ids": seen}])


def _readme(subsets: Mapping[str, bool], about: str) -> str:
    """Return the data set's card: a configuration for each subset ("" for the whole) and kind of file."""
    configs = []
    for name, restricted in subsets.items():
        for kind, (split, path) in _FILES.items():
            if kind == "top_ranked" and not restricted:
                continue
            config = f"{name}-{kind}" if name else "default" if kind == "qrels" else kind
            files = [{"split": split, "path": f"{name}/{path}" if name else path}]
            configs.append({"config_name": config, "data_files": files})
    card = yaml.safe_dump({"configs": configs}, sort_keys=False, allow_unicode=True)
    return f"---\n{card}---\n{about}"


def _about(runs: Sequence[RunView], title: Title) -> str:
    chunkers = ", ".join(f"`{run.metrics.chunker}`" for run in runs)
    titles = "repository/path, which readers embed before the text" if title == "path" else "empty"
    return (
        f"# {runs[0].metrics.dataset.label}\n\n"
        f"Documents are the chunks of {chunkers}, queries and judgements those of protocol "
        f"`{runs[0].metrics.protocol}`. A document's title is {titles}.\n"
    )
