"""The tasks that a stored run is about, loaded again: their prompts and files are not in its folder as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.runs.parts import silent
from repoeval_bench.runs.planning import select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView


def benchmark_of(
    run: RunView,
    source: str = "auto",
    *,
    repos: Sequence[str] | None = None,
    limit: int | None = None,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> Benchmark:
    """The benchmark of a run that was made here, as far as its protocol scores it; its name says which task file.

    A UsageError where the run was imported, asks questions, or ran on other data.
    """
    config, dataset = run.manifest.config, run.manifest.dataset
    if config is None:
        raise UsageError(f"{run.run_id} was imported, so its tasks are not known; complete a run made with eval")
    if config.protocol.tasks != "completion":
        raise UsageError(
            f"protocol {config.protocol.name} asks questions, and nothing is to be completed; choose a run of another "
            "protocol"
        )
    protocol = Protocol.parse(config.protocol.name)
    _, level, context, tokenizer = dataset.name.rsplit("-", 3)
    found = load_benchmark(
        source,
        level=level,
        context=context,
        tokenizer=tokenizer,
        repos=repos,
        limit=limit,
        without=passed_over([protocol], level),
        home=home,
        notify=notify,
    )
    selected = select(found, protocol)
    if selected.fingerprint != dataset.fingerprint:
        raise UsageError(
            f"{run.run_id} ran on data {dataset.label}, this is {selected.label}; name the run's with --source, "
            "--repos and --limit"
        )
    return selected
