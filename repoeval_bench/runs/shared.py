"""What a run is given before a chunker takes part: the same for all chunkers of a comparison, so made once for all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.metrics import Lines
from repoeval_bench.protocols.leak import gold_in_query
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.runs.inspection import pack_sources
from repoeval_bench.runs.judgements import count_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from repoeval_bench.core.benchmark import Benchmark, Query
    from repoeval_bench.core.run import Fact
    from repoeval_bench.protocols.protocol import Protocol


@dataclass(frozen=True)
class Given:
    """The tasks that a protocol selects, their files, the queries made of them, and what is known of each.

    `facts` is task_id -> fact -> value. The rest is made on first use.
    """

    benchmark: Benchmark
    protocol: Protocol
    queries: tuple[Query, ...]
    facts: Mapping[str, Mapping[str, Fact]]

    @cached_property
    def lines(self) -> Lines:
        """`repo/path` -> non-whitespace characters of each line."""
        return Lines.of(count_lines(self.benchmark))

    @cached_property
    def gold_in_query(self) -> Mapping[str, float]:
        """query_id -> share of its gold's non-blank lines that stand in the query."""
        gold = {task.task_id: gold_of(task, self.protocol) for task in self.benchmark.tasks}
        return gold_in_query(self.queries, self.benchmark.files, gold)

    @cached_property
    def sources(self) -> bytes:
        """Every file with its text, as a run keeps them."""
        return pack_sources(self.benchmark)
