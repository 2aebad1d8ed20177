"""A setting that `recommend` chose, as a file keeps it, and the result of its test on later commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.core.strict_yaml import Strict

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison

FEWEST = 60
"""Questions of later commits below which nothing is decided."""


class ChosenEvidence(Strict):
    """The result of one protocol and retriever: the scores of the choice and of its opponent, if that was measured."""

    protocol: str
    retriever: str
    measure: str
    questions: int
    files: int
    mean: float
    opponent_mean: float | None = None


class ChosenSetting(Strict):
    """A chosen setting: no code, subjects, names or paths of the source are in it.

    `opponent` is the shipped default, or the runner-up where that is the choice. `commit` is the source's, "" where it
    has none. `embedder` is "" for a retriever without vectors. `tests` is a key of `core.benchmark.TESTS`.
    `extensions` are the endings that were read beside those of the ten languages.
    """

    version: Literal[1] = 1
    spec: str
    opponent: str
    retriever: str
    embedder: str = ""
    tests: Literal["out", "index", "all"] = "all"
    extensions: tuple[str, ...] = ()
    expected_loss: float
    loss_95: float | None = None
    date: str
    commit: str = ""
    tool: str
    evidence: list[ChosenEvidence] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """The test of a chosen setting on later commits; `comparison` is None below `FEWEST` questions.

    It is the choice minus its opponent. `since` is the commit or the date after which commits ask.
    """

    chosen: ChosenSetting
    since: str
    questions: int
    files: int
    notes: tuple[str, ...]
    comparison: Comparison | None

    @property
    def holds(self) -> bool:
        """Return False only where the opponent is significantly better."""
        return self.comparison is None or self.comparison.verdict.outcome is not Outcome.WORSE
