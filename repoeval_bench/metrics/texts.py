"""Measures of what a model wrote for a task: against the lines that are there, or by the tests of the repository."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.extras import require
from repoeval_bench.metrics.context import look_up
from repoeval_bench.metrics.definition import Definition

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged import FloatArray, Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written for a task, and what is there; `names` and `true_names` are the identifiers of both.

    `passed`: whether the tests pass with it; None where they were not run.
    """

    text: str
    truth: str
    names: frozenset[str]
    true_names: frozenset[str]
    passed: bool | None = None


def _lines(text: str) -> list[str]:
    """The lines that are not blank, without the blanks around each."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def is_exact(written: str, truth: str) -> bool:
    r"""Whether the lines that are not blank are those of the truth; what is written beyond them does not count.

    >>> is_exact("  x = 1\n\n  y = 2\n", "x = 1\n")
    True
    """
    wanted = _lines(truth)
    return _lines(written)[: len(wanted)] == wanted


def similarity(written: str, truth: str) -> float:
    r"""1 - Levenshtein distance in characters / length of the longer text, over the same lines as `is_exact`.

    >>> similarity("return a", "  return b\n")
    0.875
    """
    require("edit_similarity", "rapidfuzz")
    from rapidfuzz.distance import Levenshtein

    wanted = _lines(truth)
    there = "\n".join(wanted)
    here = "\n".join(_lines(written)[: len(wanted)])
    longest = max(len(here), len(there))
    return 1.0 - Levenshtein.distance(here, there) / longest if longest else 1.0


def names_f1(written: frozenset[str], true: frozenset[str]) -> float:
    """2 |both| / (|written| + |true|); 1 where neither has a name."""
    both = len(written) + len(true)
    return 2 * len(written & true) / both if both else 1.0


def _each(judged: Judged, k: int | None, value: Callable[[Written], float]) -> FloatArray:
    del k
    table = judged.context.written
    found = (value(look_up("written", table, query_id, "query")) for query_id in judged.query_ids)
    return np.fromiter(found, dtype=np.float64, count=judged.n_queries)


def exact_match(judged: Judged, k: int | None) -> FloatArray:
    """`is_exact` of each query."""
    return _each(judged, k, lambda done: float(is_exact(done.text, done.truth)))


def edit_similarity(judged: Judged, k: int | None) -> FloatArray:
    """`similarity` of each query."""
    return _each(judged, k, lambda done: similarity(done.text, done.truth))


def identifier_f1(judged: Judged, k: int | None) -> FloatArray:
    """`names_f1` of each query."""
    return _each(judged, k, lambda done: names_f1(done.names, done.true_names))


def pass_at(judged: Judged, k: int | None) -> FloatArray:
    """Whether the tests pass, for each query; a MetricError for more than one sample, and where no test was run."""
    if k != 1:
        raise MetricError(f"pass@{k} needs {k} completions of a task, and greedy ones are one; write pass@1")

    def passed(done: Written) -> float:
        if done.passed is None:
            raise MetricError("pass@1 needs tests that were run; complete the run with --execute")
        return float(done.passed)

    return _each(judged, k, passed)


_of_text = partial(
    Definition,
    cutoff="none",
    needs=frozenset({"written"}),
    ceiling=None,
)

DEFINITIONS = (
    _of_text(
        name="exact_match",
        aliases=("em",),
        meaning="Whether the completion's lines are those of the ground truth: blank lines, blanks around a line and "
        "what is written beyond the ground truth's number of lines do not count.",
        formula="1 if the first n non-blank lines, stripped, are equal, n those of the ground truth, else 0",
        range="0 or 1",
        source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_EM of its code",
        avoid="the hole has many lines: hardly any is met by luck or skill, so use edit_similarity",
        compute=exact_match,
    ),
    _of_text(
        name="edit_similarity",
        aliases=("es", "edit_sim"),
        meaning="How little of the completion has to be edited to be the ground truth.",
        formula="1 - Levenshtein distance in characters / length of the longer, both the first n non-blank lines, "
        "stripped, n those of the ground truth",
        range="0..1; unrelated code is above 0",
        source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_ES of its code",
        avoid="it must work and not look alike: use pass@1",
        compute=edit_similarity,
    ),
    _of_text(
        name="identifier_f1",
        aliases=("id_f1", "identifier_match"),
        meaning="Harmonic mean of precision and recall of the completion's distinct identifiers.",
        formula="2 |both| / (|written| + |true|); keywords, built-in names, texts and comments left out; 1 where "
        "neither has one",
        range="0..1",
        source="Ding et al. 2023 (CrossCodeEval, arXiv 2310.11248), identifier match F1",
        avoid="the order of names matters: use edit_similarity",
        compute=identifier_f1,
    ),
    _of_text(
        name="pass",
        aliases=("pass_rate",),
        meaning="Whether the repository's tests that cover the hole pass with the completion in its place.",
        formula="1 if all of them pass within the time limit, else 0; one greedy completion, so k is 1",
        range="0 or 1",
        source="Chen et al. 2021 (Codex, arXiv 2107.03374) for k samples; here k = 1",
        avoid="few tasks have tests: its interval is wide, so look at edit_similarity beside it",
        compute=pass_at,
        cutoff="must",
        unit="sample",
    ),
)

TEXT_MEASURES = ("exact_match", "edit_similarity", "identifier_f1")
"""What every completion is scored by."""

PASSED = "pass@1"
"""What it is scored by where tests were run."""
