"""What made the page's numbers: configuration, counts, versions, and the commands that make them again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench.dataset.repoeval import DEFAULT, combination_of
from repoeval_bench.metrics import EVAL_MEASURES
from repoeval_bench.runs.config import DEPTH, NO_EMBEDDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.report.html_run import PageRun
    from repoeval_bench.runs.store import StoredRun

COUNTS = {
    "queries": "queries",
    "queries_truncated": "queries cut by the model",
    "queries_tokens": "tokens of the queries",
    "queries_tokens_lost": "tokens of the queries that the model does not read",
    "queries_without_relevant": "queries with no relevant chunk",
    "queries_not_in_log": "queries the log lacks",
    "queries_without_gold": "logged queries without gold",
    "queries_no_answer": "queries that no chunk answers, not scored",
    "chunks": "chunks",
    "chunks_truncated": "chunks cut by the model",
    "chunks_tokens": "tokens of the chunks",
    "chunks_tokens_lost": "tokens of the chunks that the model does not read",
    "chunks_duplicate": "chunks whose text stands elsewhere too",
    "chunks_merged": "documents merged into an identical one",
    "pairs": "pairs of query and chunk that the reranker read",
    "pairs_truncated": "pairs of query and chunk cut by the reranker",
    "files": "files",
    "files_skipped": "files the chunker failed on, left out",
    "files_undecodable": "files that are no UTF-8, left out",
    "lines_uncovered": "non-blank lines in no chunk",
}
"""Counts of a run in words, in the order they are shown; a count that is not here is shown by its own name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the table: a value for each run; `same` where all have it."""

    name: str
    values: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether one value stands for all runs."""
        return len(set(self.values)) == 1


@dataclass(frozen=True, slots=True)
class Artefacts:
    """Facts, counts and versions of the runs, the files they left out, and the commands that make the page again."""

    facts: tuple[Fact, ...]
    counts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    left_out: tuple[str, ...]
    commands: tuple[str, ...]


def artefacts(runs: Sequence[PageRun], command: Sequence[str]) -> Artefacts:
    """Everything about the runs that is no score; `command` are the words that make the page from them."""
    stored = [run.stored for run in runs]
    names: list[str] = list(dict.fromkeys(name for run in stored for name in run.metrics["counts"]))
    counts = [name for name in COUNTS if name in names] + [name for name in names if name not in COUNTS]
    packages = list(dict.fromkeys(name for run in stored for name in run.manifest.get("versions", {})))
    left_out = dict.fromkeys(
        str(each) for run in stored for key in ("skipped", "undecodable") for each in run.manifest.get(key, ())
    )
    return Artefacts(
        _table(stored),
        tuple(
            Fact(COUNTS.get(name, name), tuple(_number(run.metrics["counts"].get(name)) for run in stored))
            for name in counts
        ),
        tuple(
            Fact(name, tuple(str(run.manifest.get("versions", {}).get(name, "")) for run in stored))
            for name in packages
        ),
        tuple(left_out),
        (*dict.fromkeys(map(_command, stored)), shlex.join(command)),
    )


def _table(stored: Sequence[StoredRun]) -> tuple[Fact, ...]:
    rows = [_facts(run) for run in stored]
    names = dict.fromkeys(name for row in rows for name in row)
    facts = (Fact(name, tuple(row.get(name, "") for row in rows)) for name in names)
    return tuple(fact for fact in facts if any(fact.values))


def _facts(run: StoredRun) -> dict[str, str]:
    metrics, manifest = run.metrics, run.manifest
    config: dict[str, Any] = manifest.get("config") or {}
    code = manifest.get("code") or {}
    identity = config.get("embedder_identity") or {}
    sizes = metrics.get("chunk_nws") or {}
    return {
        "run": run.run_id,
        "made": str(manifest.get("created") or ""),
        "dataset": metrics["dataset"]["label"],
        "fingerprint": metrics["dataset"]["fingerprint"],
        "definition": str(config.get("pack") or ""),
        "protocol": metrics["protocol"],
        **{f"protocol: {key}": str(value) for key, value in (config.get("protocol") or {}).items() if key != "name"},
        "chunker": metrics["chunker"],
        "mean chunk size (nws)": f"{sizes['mean']:.0f}" if sizes else "",
        "retriever": metrics["retriever"],
        "depth k": str(metrics["k"]),
        "embedder": metrics["embedder"],
        **{f"embedder: {key}": str(value) for key, value in identity.items()},
        "commit": f"{code.get('commit') or ''}{' with changes' if code.get('dirty') else ''}",
    }


def _number(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _command(run: StoredRun) -> str:
    """What a person types to make the run again, from the root of a checkout."""
    manifest, metrics = run.manifest, run.metrics
    if imported := manifest.get("imported"):
        return shlex.join(["repoeval-bench", "import-run", imported["log"], "--gold", imported["gold"]])
    config = manifest.get("config") or {}
    words = ["repoeval-bench", "eval"]
    if (config.get("protocol") or {}).get("documents") != "windows":
        words += ["--chunker", metrics["chunker"]]
    words += ["--protocol", metrics["protocol"], "--retriever", metrics["retriever"]]
    if metrics["embedder"] != NO_EMBEDDER:
        words += ["--embedder", metrics["embedder"]]
    if metrics["k"] != DEPTH:
        words += ["--k", str(metrics["k"])]
    measures = config.get("measures") or []
    if tuple(measures) != EVAL_MEASURES:
        words += [word for name in measures for word in ("--metrics", name)]
    if config.get("skip_errors"):
        words.append("--skip-errors")
    return shlex.join([*words, *_dataset(metrics["dataset"])])


def _dataset(dataset: dict[str, Any]) -> list[str]:
    """Options that select the data; of a set of one's own and of a part the source has to be named by the reader."""
    combination = combination_of(str(dataset["name"])) or DEFAULT
    options = []
    for name in ("level", "context", "tokenizer"):
        if (value := getattr(combination, name)) != getattr(DEFAULT, name):
            options += [f"--{name}", value]
    if dataset.get("tasks") != dataset.get("whole_tasks"):
        options += ["--repos", " ".join(dataset.get("repositories", ())), "--limit", str(dataset["tasks"])]
    return options
