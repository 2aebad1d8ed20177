"""Proxies of completion that need no model: what the lines that were read supply of those to be written.

Neither is completion. Lines of the task's file that the prompt shows, and the lines to be written themselves, supply
nothing: the one is known, and nobody has the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from repoeval_bench.metrics.context import ChunkPlace, Completion, Context, completion_of
from repoeval_bench.metrics.definition import Definition
from repoeval_bench.metrics.ngrams import BREAK, TokenArray, TokenLines, bits_per_token
from repoeval_bench.metrics.reading import BUDGETS, Lines, first_reads, share_within
from repoeval_bench.metrics.sources import Sources

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged import FloatArray, Judged

IDENTIFIER_RECALL = "identifier_recall"

LACKING = "identifiers_lacking"
"""The fact of a query that `identifiers_lacking` counts, in runs that are scored by `identifier_recall`."""

_BREAK = np.full(1, BREAK, dtype=np.int32)


def identifier_recall(judged: Judged, budget: int) -> FloatArray:
    """Identifiers read within the budget, over those to be written that the prompt lacks: float64 (n_queries,)."""
    limit = max(budget, BUDGETS[-1])
    return share_within(judged.once(("identifiers", limit), lambda: _identifier_ends(judged, limit)), budget)


def identifiers_lacking(context: Context) -> dict[str, int]:
    """query_id -> how many identifiers are to be written that its prompt lacks: with 0, `identifier_recall` is 0."""
    asked = {query_id: completion.task for query_id, completion in (context.completions or {}).items()}
    wanted = Sources.of(context.sources or {}).lacking(asked.values())
    return {query_id: len(wanted[task.task_id]) for query_id, task in asked.items()}


def ngram_bits(judged: Judged, budget: int) -> FloatArray:
    """Bits per token to be written that the lines read within the budget save: float64 (n_queries,)."""
    budgets = BUDGETS if budget in BUDGETS else (budget,)
    saved: FloatArray = judged.once(("ngrams", budgets), lambda: _bits_saved(judged, budgets))
    return saved[:, budgets.index(budget)]


def _identifier_ends(judged: Judged, limit: int) -> list[FloatArray]:
    """For each query the nws spent when each identifier that its prompt lacks was read; infinite if it was not."""
    reader = _Reader.of(judged, limit)
    completions = {query_id: completion_of(judged.context, query_id) for query_id in judged.query_ids}
    wanted = reader.sources.lacking(completion.task for completion in completions.values())
    ends = []
    for query_id, completion in completions.items():
        tokens, spent = reader.read(judged.read(query_id), completion)
        spent = np.append(spent, np.inf)
        first = [np.append(np.flatnonzero(tokens == name), -1)[0] for name in wanted[completion.task.task_id]]
        ends.append(spent[np.array(first, dtype=np.int64)])
    return ends


def _bits_saved(judged: Judged, budgets: Sequence[int]) -> FloatArray:
    """Bits per token that reading up to each budget saves: float64 (n_queries, n_budgets)."""
    reader = _Reader.of(judged, max(budgets))
    saved = np.zeros((judged.n_queries, len(budgets)))
    for i, query_id in enumerate(judged.query_ids):
        completion = completion_of(judged.context, query_id)
        prompt, grams, n_before = reader.sources.to_write(completion.task)
        if len(grams.text[0]) == n_before:
            continue
        tokens, spent = reader.read(judged.read(query_id), completion)
        ends = np.append(0, np.searchsorted(spent, budgets, side="right")) + len(prompt)
        bits = bits_per_token(grams, n_before, np.concatenate([prompt, tokens]), ends.tolist())
        saved[i] = bits[0] - bits[1:]
    return saved


class _Reader(NamedTuple):
    """Reads rankings as tokens, up to `limit` nws."""

    sources: Sources
    lines: Lines
    limit: int

    @classmethod
    def of(cls, judged: Judged, limit: int) -> Self:
        context = judged.context
        return cls(Sources.of(context.sources or {}), Lines.of(context.line_nws or {}), limit)

    def read(self, ranking: Iterable[ChunkPlace], completion: Completion) -> tuple[TokenArray, FloatArray]:
        """The tokens of the lines that a ranking reads, and the nws spent when each was read: one array each.

        Lines that say nothing new are left out. There is a break before each line that does not follow the one before.
        """
        pieces, sizes, ends = [np.zeros(0, dtype=np.int32)], [], []
        known = completion.known
        texts: dict[str, TokenLines] = {}
        last = None
        for file, line, end in first_reads(ranking, self.lines, self.limit):
            if file == known.file and known.lines.start <= line < known.lines.end:
                continue
            if file not in texts:
                texts[file] = self.sources.token_lines(file)
            tokens, starts = texts[file]
            piece = tokens[starts[line] : starts[line + 1]]
            if last != (file, starts[line]):
                piece = np.append(_BREAK, piece)
            last = file, starts[line + 1]
            pieces.append(piece)
            sizes.append(len(piece))
            ends.append(end)
        return np.concatenate(pieces), np.repeat(np.array(ends, dtype=np.float64), sizes)


_at_budget = partial(
    Definition,
    cutoff="must",
    unit="nws",
    needs=frozenset({"ranking", "places", "line_nws", "completions", "sources"}),
)

DEFINITIONS = (
    _at_budget(
        name=IDENTIFIER_RECALL,
        aliases=("idr",),
        meaning="A proxy of completion: share of the identifiers to be written, and not in the prompt, that are read "
        "before the budget of B non-whitespace characters is spent.",
        formula="|identifiers of the ground truth, not in the prompt, in the lines read| / |identifiers of the ground "
        "truth, not in the prompt|; each once, keywords and built-in names left out; 0 where there are none",
        range="0..1; its ceiling depends on the chunker and B",
        source="this project's protocol",
        avoid="what a model writes is known: score that; a name that was read need not be understood",
        compute=identifier_recall,
        ceiling="identifiers",
    ),
    _at_budget(
        name="ngram_bits",
        aliases=("bits",),
        meaning="A proxy of completion: bits per token of the ground truth that an n-gram model of the prompt saves by "
        "learning from the lines read before the budget of B non-whitespace characters is spent too.",
        formula="H(prompt) - H(prompt and lines read), H = mean over the ground truth's tokens of -log2 p_6; p_0 = "
        "2^-16, p_k = (c(history, token) / c(history) + p_(k-1)) / 2 with the k - 1 tokens before as history, p_(k-1) "
        "where c(history) = 0. Tokens are words and signs, case kept, and an end of each non-blank line; c(history) is "
        "how often a token followed it, all tokens for k = 1; no history crosses a gap between lines read; the ground "
        "truth's first ones begin with the prompt's last 5 tokens. Every step: docs/measures.md",
        range="bits, 0 where nothing is read; below 0 where what is read misleads",
        source="Hellendoorn and Devanbu 2017 (Jelinek-Mercer with weight 1/2, order 6; without their nested caches)",
        avoid="what a model writes is known: score that; a copy is worth much here, a definition's meaning nothing",
        compute=ngram_bits,
        ceiling="ngrams",
    ),
)
