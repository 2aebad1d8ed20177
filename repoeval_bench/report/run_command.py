"""The command that makes a stored run again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from repoeval_bench.dataset.repoeval import DEFAULT, combination_of
from repoeval_bench.dataset.shipped import edition_of
from repoeval_bench.runs.config import DEPTH, NO_EMBEDDER
from repoeval_bench.runs.parts import usual_measures

if TYPE_CHECKING:
    from repoeval_bench.runs.records import DatasetRecord
    from repoeval_bench.runs.view import RunView


def run_command(run: RunView) -> str:
    """Return what a person types to make the run again, from the root of a checkout."""
    config, imported, metrics = run.manifest.config, run.manifest.imported, run.metrics
    if imported:
        return shlex.join(["repoeval-bench", "logs", "import", imported.log, "--gold", imported.gold])
    part = metrics.dataset.part
    if part and part.sample:
        options = ["--tasks", str(part.sample.most), "--protocol", metrics.protocol, "--retriever", metrics.retriever]
        options += _dataset(metrics.dataset)
        return f"# its tasks were drawn by: repoeval-bench recommend SOURCE {shlex.join(options)}"
    words = ["repoeval-bench", "eval"]
    if config and edition_of(config.pack):
        words += ["--source", config.pack]
    if config is None or config.protocol.documents != "windows":
        words += ["--chunker", metrics.chunker]
    words += ["--protocol", metrics.protocol, "--retriever", metrics.retriever]
    if metrics.embedder != NO_EMBEDDER:
        words += ["--embedder", metrics.embedder]
    if metrics.expand:
        words += ["--set", f"expand={metrics.expand}"]
    if metrics.k != DEPTH:
        words += ["--k", str(metrics.k)]
    if config and config.measures != usual_measures(config.protocol.gold):
        words += [word for name in config.measures for word in ("-m", name)]
    if config and config.skip_errors:
        words += ["--set", "skip_errors"]
    if 2 * metrics.counts.queries_without_relevant > metrics.counts.queries:
        words += ["--set", "few_gold"]
    return shlex.join([*words, *_dataset(metrics.dataset)]) + _source_note(run)


def _source_note(run: RunView) -> str:
    """A comment where the data came from a place of one's own, which is not stored."""
    config, source = run.manifest.config, run.metrics.dataset.source
    if source not in {"mirror", "pack", "folder"} or (config and edition_of(config.pack)):
        return ""
    return f"  # and --source with the place of the {source} that holds {run.metrics.dataset.name}"


def _dataset(dataset: DatasetRecord) -> list[str]:
    """Options that select the data; the reader names the source of a set of one's own."""
    combination = combination_of(dataset.name) or DEFAULT
    options = []
    for name in ("level", "context", "tokenizer"):
        if (value := getattr(combination, name)) != getattr(DEFAULT, name):
            options += ["--set", f"{name}={value}"]
    if dataset.part and dataset.part.repositories:
        options += ["--repos", " ".join(dataset.part.repositories)]
    if dataset.part and dataset.part.limit is not None:
        options += ["--limit", str(dataset.part.limit)]
    return options
