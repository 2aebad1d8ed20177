"""Judges of relevance, in order of trust: explicit ids, a benchmark's own rule, overlap of words.

A strategy is a small object. `score_items` tries them in order for each item, and reports which one judged it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.terms import dice, words
from repoeval_bench.metrics.given import check_entries
from repoeval_bench.metrics.judged_run import Context
from repoeval_bench.metrics.measure import DEFAULT_MEASURES, Measure
from repoeval_bench.metrics.scoring import RunScores, score_run


@dataclass(frozen=True, slots=True)
class Item:
    """A question of a benchmark: its id, the text that is expected back if there is one, and what else it carries.

    `metadata` is looked at for `relevantChunkIds` and `relevantIds`: a list of ids, or a mapping id -> gain.
    """

    query_id: str
    expected: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as a strategy sees it; `document_id` names the document it was cut from, where that matters."""

    chunk_id: str
    text: str = ""
    document_id: str = ""


@dataclass(frozen=True, slots=True)
class ItemJudgement:
    """The judgement of one item: chunk_id -> gain, who said so, and whether all chunks were judged."""

    # Where only the retrieved ones were, the number of relevant chunks, and with it IDCG, is under-estimated.

    gains: Mapping[str, float]
    strategy: Literal["qrels", "rule", "token-f1"]
    complete: bool


class Strategy(Protocol):
    """Judges an item, or leaves it to the next strategy by giving None."""

    def judge(self, item: Item, retrieved: Sequence[Passage], corpus: Sequence[Passage] | None) -> ItemJudgement | None:
        """Return what is relevant to `item`: in the `corpus` if it is given, else in what was `retrieved`."""


@dataclass(frozen=True, slots=True)
class ExplicitRelevance:
    """Ids that somebody has written down: qrels, or an item's `relevantChunkIds` or `relevantIds`, in this order.

    `relevantIds` may name chunks or documents; a document means each of its chunks. An id without a chunk stays
    relevant and counts as not retrieved. An empty list means that nothing is relevant; without a list the item is left
    to the next strategy.
    """

    qrels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def judge(self, item: Item, retrieved: Sequence[Passage], corpus: Sequence[Passage] | None) -> ItemJudgement | None:
        """Return the gains as written; complete unless a document's chunks are known from the retrieved ones only."""
        if item.query_id in self.qrels:
            return ItemJudgement(self.qrels[item.query_id], "qrels", complete=True)
        if (chunk_gains := _gains(item, "relevantChunkIds")) is not None:
            return ItemJudgement(chunk_gains, "qrels", complete=True)
        if (id_gains := _gains(item, "relevantIds")) is None:
            return None
        gains: dict[str, float] = {}
        answered: set[str] = set()
        by_document = False
        for passage in retrieved if corpus is None else corpus:
            named = passage.chunk_id if passage.chunk_id in id_gains else passage.document_id
            if named in id_gains:
                gains[passage.chunk_id] = id_gains[named]
                answered.add(named)
                by_document |= named != passage.chunk_id
        gains.update({key: gain for key, gain in id_gains.items() if key not in answered})
        return ItemJudgement(gains, "qrels", complete=corpus is not None or not by_document)


@dataclass(frozen=True, slots=True)
class RuleRelevance:
    """A benchmark's own rule: `is_relevant(item, passage)` gives a truth value or a gain."""

    is_relevant: Callable[[Item, Passage], float]

    def judge(self, item: Item, retrieved: Sequence[Passage], corpus: Sequence[Passage] | None) -> ItemJudgement | None:
        """Every passage the rule accepts; complete where the whole corpus is given."""
        passages = retrieved if corpus is None else corpus
        gains = {passage.chunk_id: float(self.is_relevant(item, passage)) for passage in passages}
        return ItemJudgement({key: gain for key, gain in gains.items() if gain}, "rule", complete=corpus is not None)


@dataclass(frozen=True, slots=True)
class TokenF1Relevance:
    """Overlap of words with the expected text: a retrieved chunk is relevant from a token F1 of `threshold` on."""

    threshold: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise MetricError(f"the token-F1 threshold is {self.threshold}; choose one above 0, at most 1")

    def judge(self, item: Item, retrieved: Sequence[Passage], corpus: Sequence[Passage] | None) -> ItemJudgement | None:  # noqa: ARG002
        """Return the retrieved passages that reach the threshold; never complete, as only these are looked at."""
        if not item.expected.strip():
            return None
        expected = Counter(words(item.expected))
        close = (p.chunk_id for p in retrieved if dice(Counter(words(p.text)), expected) >= self.threshold)
        return ItemJudgement(dict.fromkeys(close, 1.0), "token-f1", complete=False)


def judge_item(
    item: Item, retrieved: Sequence[Passage], strategies: Sequence[Strategy], corpus: Sequence[Passage] | None = None
) -> ItemJudgement:
    """Return the judgement of the first strategy that gives one; a MetricError where none does."""
    for strategy in strategies:
        if (judgement := strategy.judge(item, retrieved, corpus)) is not None:
            return judgement
    raise MetricError(f"{item.query_id!r} has no relevance; give relevantIds, a rule, or an expected text")


def score_items(
    items: Iterable[Item],
    retrieved: Mapping[str, Sequence[Passage]],
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    strategies: Sequence[Strategy] = (ExplicitRelevance(), TokenF1Relevance()),
    corpus: Sequence[Passage] | None = None,
    context: Context | None = None,
) -> RunScores:
    """Judge every item and score what was retrieved for it (query_id -> passages, best first).

    The result says which strategies were used, how often, with which threshold, and how many queries were judged on
    what was retrieved alone. A query that `retrieved` lacks scores 0. Two items of one id are a MetricError.
    """
    judgements: dict[str, ItemJudgement] = {}
    for item in items:
        if item.query_id in judgements:
            raise MetricError(f"two items have the id {item.query_id!r}; ids are unique")
        judgements[item.query_id] = judge_item(item, retrieved.get(item.query_id, ()), strategies, corpus)
    run = {
        query_id: [(passage.chunk_id, float(-rank)) for rank, passage in enumerate(passages)]
        for query_id, passages in retrieved.items()
    }
    qrels = {query_id: judgement.gains for query_id, judgement in judgements.items()}
    scores = score_run(run, qrels, measures, context)
    counts: Counter[str] = Counter(judgement.strategy for judgement in judgements.values())
    thresholds = [strategy.threshold for strategy in strategies if isinstance(strategy, TokenF1Relevance)]
    return replace(
        scores,
        strategy_counts=MappingProxyType(dict(counts)),
        threshold=thresholds[0] if thresholds and counts["token-f1"] else None,
        partly_judged=sum(not judgement.complete for judgement in judgements.values()),
    )


def _gains(item: Item, key: str) -> dict[str, float] | None:
    relevant = item.metadata.get(key)
    if relevant is None:
        return None
    if isinstance(relevant, Mapping):
        gains = {str(name): gain for name, gain in relevant.items()}
        check_entries(item.query_id, "gain", gains, gains.values())
        return {name: float(gain) for name, gain in gains.items()}
    if isinstance(relevant, str):
        raise MetricError(f"{item.query_id!r}: {key} is {relevant!r}; give a list of ids, or a mapping id -> gain")
    return {str(name): 1.0 for name in relevant}
