"""`export-beir`: a run's documents, queries and judgements in the layout that BEIR and MTEB read."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.options import dataset_options, json_option, runs_folder, say
from repoeval_bench.cli.output import FOLDER
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_named
from repoeval_bench.core.source import encode_id
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.runs.experiment import plan_run
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.trec import format_qrels

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.runs.planning import Plan
    from repoeval_bench.runs.view import RunView


@click.command("export-beir", short_help="Write a run's corpus, queries and qrels as BEIR and MTEB read them.")
@run_argument()
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    required=True,
    metavar="FOLDER",
    help="Where to write: one folder per repository.",
)
@runs_folder
@json_option
@dataset_options
def export_beir_command(*, run: str, output: Path, out: Path, as_json: bool, **options: Any) -> None:
    """Write FOLDER/REPOSITORY/{corpus.jsonl, queries.jsonl, qrels/test.tsv} for RUN.

    A query sees its own repository only, so each repository is a data set of its own. Texts are not stored with a
    run: they are cut again from the data, which must be that of the run.
    """
    stored = find_run(run, out)
    config = stored.manifest.config
    if config is None:
        raise UsageError(f"{stored.run_id} was imported, so its texts are not available")
    benchmark = load_benchmark(**options, notify=say)
    fingerprint = stored.metrics.dataset.fingerprint
    if benchmark.fingerprint != fingerprint:
        raise UsageError(
            f"{stored.run_id} ran on data {fingerprint}, this is {benchmark.label}; name the run's with --source, "
            "--level, --context, --repos and --limit"
        )
    chunker = None if config.protocol.documents == "windows" else config.chunker
    planned = plan_run(benchmark, chunker, protocol=stored.metrics.protocol, skip_errors=config.skip_errors)
    if planned.documents.own:
        raise UsageError(f"protocol {stored.metrics.protocol} gives queries documents of their own; BEIR has none")
    for path, text in _files(stored, planned).items():
        write_named(output / path, text, "another folder with -o")
    repositories = list(planned.documents.chunks)
    say(f"wrote {len(repositories)} data sets into {output}")
    if as_json:
        print_json({"written": str(output), "run": stored.run_id, "repositories": repositories})


def _files(stored: RunView, planned: Plan) -> dict[str, str]:
    qrels = stored.qrels()
    known = {chunk.chunk_id for chunk in planned.documents}
    if lost := {chunk_id for gains in qrels.values() for chunk_id in gains} - known:
        raise ResultError(f"{stored.run_id} judged {len(lost)} chunks that are cut otherwise now; evaluate it again")
    queries = defaultdict(list)
    for query in planned.queries:
        queries[query.repo].append(query)
    files = {}
    for repo, chunks in planned.documents.chunks.items():
        rows = ({"_id": chunk.chunk_id, "title": f"{repo}/{chunk.path}", "text": chunk.embed_text} for chunk in chunks)
        asked = queries[repo]
        files[f"{repo}/corpus.jsonl"] = jsonl(rows)
        files[f"{repo}/queries.jsonl"] = jsonl({"_id": encode_id(q.query_id), "text": q.text} for q in asked)
        # A query without a relevant chunk has no row here: BEIR's readers take an id without a document for an error.
        text, _ = format_qrels({q.query_id: gains for q in asked if (gains := qrels[q.query_id])})
        lines = [line.split(" ") for line in text.splitlines()]
        files[f"{repo}/qrels/test.tsv"] = "query-id\tcorpus-id\tscore\n" + "".join(
            f"{query_id}\t{chunk_id}\t{gain}\n" for query_id, _, chunk_id, gain in lines
        )
    return files
