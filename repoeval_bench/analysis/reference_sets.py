"""Scores of chunkers on other repositories, from which the priors of `shrinkage` are made.

A reference set has scores of chunkers at sizes. Any other candidate is a mixture of these. A chunker that the set lacks
could be any of its chunkers. A size between two of its sizes could be either, the nearer the likelier (in octaves). A
size an octave or more beyond its sizes could be any of them. A mixture's mean is the mean of its parts. Its variance
adds the variance between the parts, so an unknown candidate follows its own scores more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.shrinkage import Prior
from repoeval_bench.runs.records import Record

if TYPE_CHECKING:
    from repoeval_bench.analysis.sign_flips import FloatArray

OTHER = "other"
"""The set for languages that no other set has: the mean of all sets."""


class ReferenceQuestion(Record):
    """Means of the candidates, in their order, by one protocol and retriever, minus the mean over them.

    A mean is None where it was not measured. `retriever` is `bm25`, or `dense` by the bundled model. `tau` is the
    standard deviation of a repository's own means around `means`.
    """

    protocol: str
    retriever: str
    tau: float
    means: tuple[float | None, ...]


class ReferenceSet(Record):
    """The scores on one set of repositories, in these languages."""

    name: str
    languages: tuple[str, ...]
    repositories: int
    questions: tuple[ReferenceQuestion, ...]


class ShownBound(Record):
    """The 95 % bound of the loss held on `held` of so many `packages` of a language, which are in no reference set."""

    language: str
    protocols: tuple[str, ...]
    retriever: str
    held: int
    packages: int


class ReferenceSets(Record):
    """All reference sets, with the commands that made them; `candidates` are chunkers at sizes in characters.

    `noise` is protocol -> the lower triangle of the covariance of one query's scores, row by row. `bounds` are the
    cases in which the bound of the loss was shown to hold.
    """

    commands: tuple[str, ...]
    candidates: tuple[tuple[str, int], ...]
    noise: Mapping[str, tuple[tuple[float, ...], ...]]
    sets: tuple[ReferenceSet, ...]
    bounds: tuple[ShownBound, ...] = ()

    def of_language(self, language: str) -> ReferenceSet:
        """Return the set that has the language, else that of other languages."""
        by_language = {name: of_set for of_set in self.sets for name in of_set.languages}
        return by_language.get(language) or next(of_set for of_set in self.sets if of_set.name == OTHER)

    def prior(
        self, language: str, protocol: str, retriever: str, candidates: Sequence[tuple[str, int | None]]
    ) -> Prior:
        """The prior of candidates, each a chunker and its size in characters, None where it has none.

        For a protocol or retriever without scores, all means are 0, and the deviation is the largest that the set's
        candidates have from 0. Scores by BM25 do not hold for a model, nor the other way round.
        """
        questions = self.of_language(language).questions
        matches = [
            question for question in questions if (question.protocol, question.retriever) == (protocol, retriever)
        ]
        if not matches:
            near = [question for question in questions if question.protocol == protocol] or questions
            widest = max(
                float(np.hypot(question.tau, np.std([m for m in question.means if m is not None]))) for question in near
            )
            nothing = (0.0,) * len(self.candidates)
            matches = [near[0].model_copy(update={"means": nothing, "tau": widest})]
        noise = self.noise.get(protocol) or next(iter(self.noise.values()))
        prior = prior_of(matches[0], _square(noise), self.candidates, candidates)
        return replace(prior, is_bounded=self._is_bounded(language, protocol, retriever, candidates))

    def _is_bounded(
        self, language: str, protocol: str, retriever: str, candidates: Sequence[tuple[str, int | None]]
    ) -> bool:
        """True where the bound of the loss was shown to hold, which it was for the sets' own chunkers alone."""
        shown = {(bound.language, name, bound.retriever) for bound in self.bounds for name in bound.protocols}
        known = {name for name, _ in self.candidates}
        return (language, protocol, retriever) in shown and known.issuperset(name for name, _ in candidates)


def prior_of(
    question: ReferenceQuestion,
    noise: FloatArray,
    known: Sequence[tuple[str, int]],
    candidates: Sequence[tuple[str, int | None]],
) -> Prior:
    """The prior of candidates from what is `known` of chunkers at sizes, each candidate as a mixture of these.

    `noise` is float64 (n_known, n_known), of one query.
    """
    measured = {key: mean for key, mean in zip(known, question.means, strict=True) if mean is not None}
    of_means = np.array([_shares([*measured], name, size) for name, size in candidates])
    means = np.array([*measured.values()])
    mean = of_means @ means
    shares = np.array([_shares(known, name, size) for name, size in candidates])
    mixed = shares @ noise @ shares.T
    # The own part of each mixture, which it shares with no other candidate.
    own = shares @ np.diag(noise) - np.diag(mixed)
    return Prior(
        mean=mean,
        deviation=np.sqrt(question.tau**2 + np.maximum(0, of_means @ means**2 - mean**2)),
        noise=mixed + np.diag(own),
    )


def _shares(known: Sequence[tuple[str, int]], name: str, size: int | None) -> FloatArray:
    """Return the shares of the known candidates in the mixture, float64 (n_known,), 1 in all."""
    sizes = sorted({bin_size for _, bin_size in known})
    of_size = dict.fromkeys(sizes, 1 / len(sizes))
    if size is not None:
        near = float(np.clip(size, sizes[0], sizes[-1]))
        beyond = min(1.0, abs(log2(size / near)))
        steps = np.interp(log2(near), [log2(bin_size) for bin_size in sizes], range(len(sizes)))
        of_size = {
            bin_size: beyond * share + (1 - beyond) * max(0.0, 1 - abs(steps - position))
            for position, (bin_size, share) in enumerate(of_size.items())
        }
    is_same = [other == name for other, _ in known]
    is_known = any(is_same)
    names = len({other for other, _ in known})
    return np.array(
        [
            of_size[bin_size] * (same if is_known else 1 / names)
            for same, (_, bin_size) in zip(is_same, known, strict=True)
        ]
    )


def _square(rows: Sequence[Sequence[float]]) -> FloatArray:
    """The symmetric matrix of which these are the rows up to the diagonal."""
    square = np.zeros((len(rows), len(rows)))
    for index, row in enumerate(rows):
        square[index, : index + 1] = square[: index + 1, index] = row
    return square
