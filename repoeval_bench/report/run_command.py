"""The command that makes a stored run again."""

import shlex
from dataclasses import asdict
from typing import Any

from repoeval_bench.dataset.repoeval import DEFAULT, task_set_of
from repoeval_bench.dataset.shipped import edition_of
from repoeval_bench.runs.parts import usual_measures
from repoeval_bench.runs.records import DatasetRecord
from repoeval_bench.runs.request import NO_EMBEDDER, DataRequest, shell_line
from repoeval_bench.runs.view import RunView


def run_command(run: RunView) -> str:
    """Return what a person types to make the run again, from the root of a checkout."""
    config, imported, metrics = run.manifest.config, run.manifest.imported, run.metrics
    if imported:
        return shlex.join(["repoeval-bench", "logs", "import", imported.log, "--gold", imported.gold])
    data, part = _data(metrics.dataset), metrics.dataset.part
    if part and part.sample:
        options = ["--tasks", str(part.sample.most), "--protocol", metrics.protocol, "--retriever", metrics.retriever]
        line = shlex.join([*options, *DataRequest(**data).words()])
        return f"# its tasks were drawn by: repoeval-bench recommend SOURCE {line}"
    assert config is not None, "a run that was not imported has one"
    shipped, embedded = edition_of(config.pack), metrics.embedder != NO_EMBEDDER
    request = config.request(
        measures=() if config.measures == usual_measures(config.choices.gold) else config.measures,
        allow_sparse_qrels=2 * metrics.counts.queries_without_relevant > metrics.counts.queries,
        source=shipped or "auto",
        **data,
    )
    line = shell_line(["eval", *request.words("protocol", "retriever", *(["embedder"] if embedded else []))])
    if shipped or metrics.dataset.source not in {"mirror", "pack", "folder"}:
        return line
    # The user's own source is not stored.
    return f"{line}  # and --source with the place of the {metrics.dataset.source} that holds {metrics.dataset.name}"


def _data(dataset: DatasetRecord) -> dict[str, Any]:
    """Return the fields that select the data; the reader names the source of a set of one's own."""
    data: dict[str, Any] = asdict(task_set_of(dataset.name) or DEFAULT)
    if part := dataset.part:
        data |= {"repos": part.repositories or None, "limit": part.limit, "tests": part.tests}
    return data
