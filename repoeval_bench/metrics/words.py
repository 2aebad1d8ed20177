"""Texts as words: what two texts share, where nobody has said which of them is relevant."""

from __future__ import annotations

from collections import Counter

from repoeval_bench.core.terms import words


def token_f1(text: str, expected: str) -> float:
    """Harmonic mean of precision and recall over the two multisets of tokens; 0 where they share none."""
    left, right = Counter(words(text)), Counter(words(expected))
    shared = (left & right).total()
    return 2 * shared / (left.total() + right.total()) if shared else 0.0


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared tokens over the tokens of either; 0 for two empty sets."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0
