"""Export a run as a data set for the loaders of BEIR, of Hugging Face's `datasets`, and through it of MTEB.

A data set is a folder:

    README.md            names the files below as the configurations `corpus`, `queries` and `default` (the judgements)
    corpus.jsonl         {"_id", "title", "text"}; titles are empty
    queries.jsonl        {"_id", "text"}
    qrels/test.jsonl     {"query-id", "corpus-id", "score"}, read by `datasets` and MTEB
    qrels/test.tsv       the same, read by BEIR
    top_ranked.jsonl     {"query-id", "corpus-ids"}: the documents that a query may see, if not the whole corpus

MTEB ranks only the documents that `top_ranked` names. BEIR's loader does not read it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_named
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.words import count
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.replay import same_data, stored_config
from repoeval_bench.runs.runner import plan_run
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.trec import as_field, format_qrels
from repoeval_bench.runs.view import RunView

OTHER_FOLDER = "another folder with -o"

# Kind of file -> (its split, its path).
_FILES = {
    "corpus": ("corpus", "corpus.jsonl"),
    "queries": ("queries", "queries.jsonl"),
    "qrels": ("test", "qrels/test.jsonl"),
    "top_ranked": ("test", "top_ranked.jsonl"),
}


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


def export_beir(run: RunView, benchmark: Benchmark, folder: Path) -> Exported:
    """Write the documents, queries and judgements of a run as data sets below `folder`, one for each repository.

    A README.md in `folder` makes them the subsets of one. Under scope `pooled` there is a single data set. UsageError:
    `benchmark` is not that of the run.
    """
    config = stored_config(run)
    protocol = Protocol.parse(config.protocol)
    chunker = None if protocol.documents == "windows" else config.chunker
    # Texts are not stored with a run, so they are cut again.
    planned = plan_run(benchmark, chunker, protocol=protocol, skip_errors=config.skip_errors)
    same_data(run, planned.benchmark)
    if planned.corpus.own:
        raise UsageError(f"protocol {protocol.name} gives queries documents of their own; BEIR has none")
    qrels = run.qrels()
    known = {chunk.chunk_id for chunk in planned.corpus}
    if lost := {chunk_id for gains in qrels.values() for chunk_id in gains} - known:
        raise ResultError(f"{run.run_id} judged {count(len(lost), 'chunk')} that are no longer made; evaluate it again")
    if not any(qrels.values()):
        raise UsageError("no query of this run has a relevant document; no loader reads a data set without judgements")
    is_pooled = protocol.scope == "pooled"
    scored = {query.repo for query in planned.queries if qrels[query.query_id]}
    members = [repo for repo in planned.corpus.chunks if is_pooled or repo in scored]
    excluded = excluded_chunks(planned.benchmark.tasks, planned.corpus.chunks, protocol.exclusion)
    restricted = {}
    for name, repos in {"": members}.items() if is_pooled else {repo: [repo] for repo in members}.items():
        documents = [chunk for repo in repos for chunk in planned.corpus.chunks[repo]]
        texts = {query.query_id: query.text for query in planned.queries if query.repo in repos}
        restricted[name] = _write(folder / name, documents, texts, qrels, excluded)
    about = f"# {run.metrics.dataset.label}\n\nDocuments are the chunks of `{config.chunker}`, queries and judgements "
    about += f"those of protocol `{protocol.name}`.\n"
    for name, number in restricted.items():
        write_named(folder / name / "README.md", _readme({"": number > 0}, about), OTHER_FOLDER)
    if not is_pooled:
        subsets = {name: number > 0 for name, number in restricted.items()}
        write_named(folder / "README.md", _readme(subsets, about), OTHER_FOLDER)
    return Exported(
        sets=tuple(name or folder.name for name in restricted),
        documents=sum(len(planned.corpus.chunks[repo]) for repo in members),
        queries=sum(query.repo in members for query in planned.queries),
        scored=sum(map(bool, qrels.values())),
        restricted=sum(restricted.values()),
        left_out=tuple(repo for repo in planned.corpus.chunks if repo not in members),
    )


def _write(
    folder: Path,
    documents: Sequence[Chunk],
    queries: Mapping[str, str],
    qrels: Qrels,
    excluded: Mapping[str, frozenset[str]],
) -> int:
    """Write the files of one data set; return the number of its queries that may not see all of its documents."""
    fields = {query_id: as_field(query_id, "query id") for query_id in queries}  # one word, as in a run's TREC files
    # A query without a relevant document has no row: for loaders, an id without a document is an error.
    rows = [
        line.split(" ")
        for line in format_qrels({query_id: qrels[query_id] for query_id in queries if qrels[query_id]})[0].splitlines()
    ]
    restricted = sum(query_id in excluded for query_id in queries)
    files: dict[str, Any] = {
        # Loaders embed a title before the text.
        "corpus.jsonl": jsonl({"_id": chunk.chunk_id, "title": "", "text": chunk.embed_text} for chunk in documents),
        "queries.jsonl": jsonl({"_id": fields[query_id], "text": text} for query_id, text in queries.items()),
        "qrels/test.jsonl": jsonl(
            {"query-id": query_id, "corpus-id": chunk_id, "score": int(gain)} for query_id, _, chunk_id, gain in rows
        ),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{query_id}\t{chunk_id}\t{gain}\n" for query_id, _, chunk_id, gain in rows),
    }
    if restricted:
        ids = [chunk.chunk_id for chunk in documents]
        files["top_ranked.jsonl"] = (
            jsonl(
                [{"query-id": fields[query_id], "corpus-ids": [i for i in ids if i not in excluded.get(query_id, ())]}]
            )
            for query_id in queries
        )
    for name, content in files.items():
        write_named(folder / name, content, OTHER_FOLDER)
    return restricted


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
