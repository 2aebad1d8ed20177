"""The origin of a page's numbers: configuration, counts, versions, and the commands that make them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.text import COUNTS

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the table: a value for each run; `same` where all have it."""

    name: str
    values: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Return whether all runs have the same value."""
        return len(set(self.values)) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefacts:
    """Facts, counts and versions of the runs, the files they left out, and the commands that make the page again."""

    facts: tuple[Fact, ...]
    counts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    skipped: tuple[str, ...]
    commands: tuple[str, ...]


def artefacts(runs: Sequence[PageRun], command: Sequence[str]) -> Artefacts:
    """Everything about the runs except scores; `command` are the words that make the page from them."""
    stored = [run.stored for run in runs]
    counts = [run.counts.as_json() for run in stored]
    names = dict.fromkeys([*COUNTS, *(name for row in counts for name in row)])
    skipped = dict.fromkeys(file for run in stored for file in (*run.manifest.skipped, *run.manifest.undecodable))
    return Artefacts(
        facts=_table([_facts(run) for run in stored]),
        counts=_table([{COUNTS.get(name, name): _number(row.get(name)) for name in names} for row in counts]),
        versions=_table([{name: str(version) for name, version in run.manifest.versions.items()} for run in stored]),
        skipped=tuple(skipped),
        commands=(*dict.fromkeys(map(run_command, stored)), shlex.join(command)),
    )


def _table(rows: Sequence[Mapping[str, str]]) -> tuple[Fact, ...]:
    """A fact for each key that has a value in any row."""
    names = dict.fromkeys(name for row in rows for name in row)
    facts = (Fact(name, tuple(row.get(name, "") for row in rows)) for name in names)
    return tuple(fact for fact in facts if any(fact.values))


def _facts(run: RunView) -> dict[str, str]:
    metrics, manifest = run.metrics, run.manifest
    config, sizes, code = manifest.config, metrics.chunk_nws, manifest.code
    choices = config.protocol.as_json() if config else {}
    return {
        "run": run.run_id,
        "made": manifest.created,
        "dataset": metrics.dataset.label,
        "fingerprint": metrics.dataset.fingerprint,
        "definition": config.pack if config else "",
        "protocol": metrics.protocol,
        **{f"protocol: {key}": value for key, value in choices.items() if key != "name"},
        "chunker": metrics.chunker,
        "mean chunk in characters": f"{sizes.mean:.0f}" if sizes else "",
        "retriever": metrics.retriever,
        "depth k": str(metrics.k),
        "embedder": metrics.embedder,
        **{f"embedder: {key}": str(value) for key, value in (config.embedder_identity if config else {}).items()},
        "commit": f"{code.commit or ''}{' with changes' if code.dirty else ''}",
    }


def _number(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
