"""Facts of a user's own, for the commands that split queries by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.analysis.user_facts import read_facts
from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from repoeval_bench.runs.query_scores import QueryScores

facts_option = click.option("--facts", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                            help="Facts of your own: CSV or JSONL with query_id and one value per fact.")  # fmt: skip


def with_facts(scored: QueryScores, path: Path | None) -> tuple[QueryScores, tuple[str, ...]]:
    """The queries with the facts of a file, and those facts' names; a name that is taken is a UsageError."""
    if path is None:
        return scored, ()
    brought = read_facts(path, scored.query_ids)
    if taken := sorted(set(brought) & {*scored.facts, "repo", scored.clustered_by}):
        raise UsageError(f"{path}: {', '.join(taken)} is a fact of the run already; give it another name")
    return replace(scored, facts={**scored.facts, **brought}), tuple(brought)
