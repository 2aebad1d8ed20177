"""Measures of what a model wrote for a task, against the lines that are there."""

from collections.abc import Callable
from functools import partial

from repoeval_bench.core.extras import require
from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun, WrittenCompletion, look_up

_of_text = partial(measure, cutoff="none", needs=frozenset({"written"}), ceiling=None)


def _lines(done: WrittenCompletion) -> tuple[list[str], list[str]]:
    """The non-blank lines of the ground truth, stripped, after as many of the completion."""
    written, truth = ([line.strip() for line in text.splitlines() if line.strip()] for text in (done.text, done.truth))
    return written[: len(truth)], truth


def _per_query(run: JudgedRun, k: int | None, value: Callable[[WrittenCompletion], float]) -> FloatArray:
    del k
    return run.per_query(lambda query_id: value(look_up("written", run.context.written, query_id, "query")))


@_of_text(
    aliases=("em",),
    formula="1 if the first n non-blank lines, stripped, are equal, n those of the ground truth, else 0",
    range="0 or 1",
    source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_EM of its code",
    avoid="many lines are to be written: few completions match them all, so use edit_similarity",
)
def exact_match(run: JudgedRun, k: int | None) -> FloatArray:
    """Equality of the completion's lines with the ground truth's.

    Blank lines and spaces around lines are ignored. Only as many lines are compared as the ground truth has.
    """

    def value(done: WrittenCompletion) -> float:
        written, truth = _lines(done)
        return float(written == truth)

    return _per_query(run, k, value)


@_of_text(
    aliases=("es", "edit_sim"),
    formula="1 - Levenshtein distance in characters / length of the longer, both the first n non-blank lines, "
    "stripped, n those of the ground truth",
    range="0..1; unrelated code is above 0",
    source="Zhang et al. 2023 (RepoCoder, arXiv 2303.12570), compute_ES of its code",
    avoid="the completion has to work, not to look similar: run its tests",
)
def edit_similarity(run: JudgedRun, k: int | None) -> FloatArray:
    """One minus the Levenshtein distance between completion and ground truth, as a share of the longer length."""
    require("edit_similarity", "rapidfuzz")
    from rapidfuzz.distance import Levenshtein

    def value(done: WrittenCompletion) -> float:
        written, truth = map("\n".join, _lines(done))
        longest = max(len(written), len(truth))
        return 1.0 - Levenshtein.distance(written, truth) / longest if longest else 1.0

    return _per_query(run, k, value)


@_of_text(
    aliases=("id_f1", "identifier_match"),
    formula="2 |both| / (|written| + |true|); keywords, built-in names, texts and comments left out; 1 where "
    "neither has one",
    source="Ding et al. 2023 (CrossCodeEval, arXiv 2310.11248), identifier match F1",
    avoid="the order of names matters: use edit_similarity",
)
def identifier_f1(run: JudgedRun, k: int | None) -> FloatArray:
    """Harmonic mean of precision and recall of the completion's distinct identifiers."""

    def value(done: WrittenCompletion) -> float:
        total = len(done.names) + len(done.true_names)
        return 2 * len(done.names & done.true_names) / total if total else 1.0

    return _per_query(run, k, value)


TEXT_MEASURES = ("exact_match", "edit_similarity", "identifier_f1")
"""Measures of every completion."""
