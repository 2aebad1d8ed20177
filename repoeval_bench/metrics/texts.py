"""Measures of what a model wrote for a task, against the lines that are there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.core.extras import require
from repoeval_bench.metrics.context import WrittenCompletion, look_up
from repoeval_bench.metrics.definition import measure

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun


_of_text = partial(
    measure,
    cutoff="none",
    needs=frozenset({"written"}),
    ceiling=None,
)


def _lines(text: str) -> list[str]:
    """The lines that are not blank, without the blanks around each."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def is_exact(written: str, truth: str) -> bool:
    r"""Return whether the first non-blank lines are those of the truth; lines beyond them do not count.

    >>> is_exact("  x = 1\n\n  y = 2\n", "x = 1\n")
    True
    """
    truth_lines = _lines(truth)
    return _lines(written)[: len(truth_lines)] == truth_lines


def similarity(written: str, truth: str) -> float:
    r"""Return 1 - Levenshtein distance in characters / length of the longer text, over the same lines as `is_exact`.

    >>> similarity("return a", "  return b\n")
    0.875
    """
    require("edit_similarity", "rapidfuzz")
    from rapidfuzz.distance import Levenshtein

    truth_lines = _lines(truth)
    truth_text = "\n".join(truth_lines)
    written_text = "\n".join(_lines(written)[: len(truth_lines)])
    longest = max(len(written_text), len(truth_text))
    return 1.0 - Levenshtein.distance(written_text, truth_text) / longest if longest else 1.0


def names_f1(written: frozenset[str], true: frozenset[str]) -> float:
    """Return 2 |both| / (|written| + |true|); 1 where neither has a name."""
    total = len(written) + len(true)
    return 2 * len(written & true) / total if total else 1.0


def _per_query(run: JudgedRun, k: int | None, value: Callable[[WrittenCompletion], float]) -> FloatArray:
    del k
    table = run.context.written
    values = (value(look_up("written", table, query_id, "query")) for query_id in run.query_ids)
    return np.fromiter(values, dtype=np.float64, count=run.n_queries)


@_of_text(
    name="exact_match",
    aliases=("em",),
    meaning="Whether the completion's lines are those of the ground truth. Blank lines, blanks around a line, and "
    "lines beyond the ground truth's number do not count.",
    formula="1 if the first n non-blank lines, stripped, are equal, n those of the ground truth, else 0",
    range="0 or 1",
    source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_EM of its code",
    avoid="many lines are to be written: few completions match them all, so use edit_similarity",
)
def exact_match(run: JudgedRun, k: int | None) -> FloatArray:
    """`is_exact` of each query."""
    return _per_query(run, k, lambda done: float(is_exact(done.text, done.truth)))


@_of_text(
    name="edit_similarity",
    aliases=("es", "edit_sim"),
    meaning="How little of the completion has to be edited to be the ground truth.",
    formula="1 - Levenshtein distance in characters / length of the longer, both the first n non-blank lines, "
    "stripped, n those of the ground truth",
    range="0..1; unrelated code is above 0",
    source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_ES of its code",
    avoid="the completion has to work, not to look similar: run its tests",
)
def edit_similarity(run: JudgedRun, k: int | None) -> FloatArray:
    """`similarity` of each query."""
    return _per_query(run, k, lambda done: similarity(done.text, done.truth))


@_of_text(
    name="identifier_f1",
    aliases=("id_f1", "identifier_match"),
    meaning="Harmonic mean of precision and recall of the completion's distinct identifiers.",
    formula="2 |both| / (|written| + |true|); keywords, built-in names, texts and comments left out; 1 where "
    "neither has one",
    range="0..1",
    source="Ding et al. 2023 (CrossCodeEval, arXiv 2310.11248), identifier match F1",
    avoid="the order of names matters: use edit_similarity",
)
def identifier_f1(run: JudgedRun, k: int | None) -> FloatArray:
    """`names_f1` of each query."""
    return _per_query(run, k, lambda done: names_f1(done.names, done.true_names))


TEXT_MEASURES = ("exact_match", "edit_similarity", "identifier_f1")
"""Measures of every completion."""
