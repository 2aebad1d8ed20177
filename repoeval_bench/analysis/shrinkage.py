"""Own means shrunk towards those of other repositories, to choose a candidate and to state its expected loss.

A few files of your own say little about close candidates, and other repositories say nothing of what is special about
yours. So each candidate's own mean is moved towards the mean that other repositories lead to expect: the less certain
the own mean, the further. Here x are the own means minus their mean over the k candidates, and pi is what the prior
expects of x. tau is the standard deviation of a repository's own x around pi, and V the covariance of x over files:

    s^2   = trace(V) / (k - 1)
    B     = tau^2 / (tau^2 + s^2)
    score = pi + B (x - pi)
    theta ~ N(score, B V)           what the candidates would score on all files like these

That is the James-Stein estimate with a known prior: normal prior, normal means, one weight for all candidates. It has
the form of Efron and Morris (1975, "Data analysis using Stein's estimator and its generalizations") and of Fay and
Herriot (1979). V is CR2 (`robust_covariance`), smoothed. The choice has the highest score, and so the least expected
loss. The loss of candidate a is max theta - theta_a.

`ReferenceSets.prior` makes the prior, from scores of chunkers at sizes on sets of other repositories. Any other
candidate is a mixture of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from repoeval_bench.analysis.sign_flips import FloatArray
from repoeval_bench.analysis.statistics import Sample, robust_covariance
from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.query_scores import DIGITS
from repoeval_bench.runs.records import Record

SMOOTHING = 20
"""Files for which the prior's covariance counts beside that of the own ones."""

# A candidate this close to the highest score may be chosen because it is cheaper.
CLOSE = 0.005

# The least share of the choice's tokens that a cheaper candidate saves.
# Matched sizes differ by up to as much.
SAVED = 0.1

# A probability near 1/2 then has a Monte-Carlo error of 0.005.
DRAWS = 10_000
"""Draws of the true scores."""

OTHER = "other"
"""The set for languages that no other set has: the mean of all sets."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prior:
    """The expected scores of k candidates on a repository that was not measured.

    `mean` is float64 (k,), the expected score of each candidate less that of all. `deviation` (k,) is tau, the standard
    deviation of a repository's own around it. `noise` (k, k) is the covariance of one query's scores around its
    repository's mean.
    """

    mean: FloatArray
    deviation: FloatArray
    noise: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """The scores of k candidates given their own measurements, all minus their mean over the candidates.

    `own`, `prior` and `score` are float64 (k,), `covariance` (k, k) that of the true scores around `score`. `weight` is
    B of each, (k,); of several combined ones it is the mean. `tokens` is what a query costs that reads the candidate's
    chunks, None where it is not known.
    """

    names: tuple[str, ...]
    tokens: tuple[float | None, ...]
    own: FloatArray
    prior: FloatArray
    score: FloatArray
    covariance: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidate:
    """A candidate's scores, minus their mean over the candidates, and its loss if it is chosen and not the best."""

    name: str
    tokens: float | None
    """The tokens of its chunks that a query reads."""
    own: float
    prior: float
    score: float
    to_choice: tuple[float, float]
    """The 95 % interval of its true score less that of the choice."""
    expected_loss: float
    """How much better the best candidate is expected to be, from 0 to 1."""
    probability: float
    """The probability that it is the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The candidates by expected loss, the choice first."""

    candidates: tuple[RankedCandidate, ...]

    @property
    def choice(self) -> RankedCandidate:
        """The candidate with the least expected loss; of equal ones the cheapest."""
        return self.candidates[0]

    @property
    def cheaper(self) -> RankedCandidate | None:
        """The best of those that cost about the least; None where none is close to the choice and saves tokens.

        A candidate counts within `CLOSE` of the highest score and with at least `SAVED` fewer tokens than the choice.
        Those with at most `SAVED` more tokens than the cheapest one cost about the same.
        """
        least, most = round(self.choice.score - CLOSE, DIGITS), (1 - SAVED) * (self.choice.tokens or 0.0)
        near = [
            (candidate.tokens, candidate)
            for candidate in self.candidates
            if candidate.score >= least and candidate.tokens is not None and candidate.tokens <= most
        ]
        fewest = min((tokens for tokens, _ in near), default=0.0)
        return next((candidate for tokens, candidate in near if tokens <= (1 + SAVED) * fewest), None)

    def candidate(self, name: str) -> RankedCandidate:
        """The candidate of this name; a KeyError where there is none."""
        return {candidate.name: candidate for candidate in self.candidates}[name]


def shrink(
    sample: Sample, prior: Prior, names: Sequence[str], tokens: Sequence[float | None] | None = None
) -> Posterior:
    """Shrink the means of a sample, a column for each candidate and a cluster for each file, towards the prior.

    `names` are those of the columns, each once.
    """
    k = len(names)
    own = _centred(sample.mean())
    expected = _centred(prior.mean)
    covariance = smoothed_covariance(sample, prior.noise)
    error = float(np.trace(covariance)) / max(1, k - 1)
    variance = prior.deviation**2
    both = variance + error
    weight = np.divide(variance, both, out=np.ones(k), where=both > 0)
    root = np.sqrt(weight)
    return Posterior(
        names=tuple(names),
        tokens=tuple(tokens or [None] * k),
        own=own,
        prior=expected,
        score=expected + weight * (own - expected),
        covariance=root[:, None] * covariance * root,
        weight=weight,
    )


def smoothed_covariance(sample: Sample, noise: FloatArray) -> FloatArray:
    """The covariance of the means less their mean over the columns, with that of other repositories for 20 files.

    `noise` is float64 (k, k), that of one query.
    """
    queries = sample.n_groups**2 / sum(1 / counts.sum() for _, counts in sample.members())
    expected = _centred(_centred(noise).T) / queries
    # A single file says nothing of how files vary: NaN.
    own = _centred(_centred(robust_covariance(sample)).T)
    if not np.isfinite(own).all():
        return np.asarray(expected, dtype=np.float64)
    # The covariance of few files is uncertain.
    others = sample.n_clusters - 1
    share = others / (others + SMOOTHING)
    return np.asarray(share * own + (1 - share) * expected, dtype=np.float64)


def from_prior(prior: Prior, names: Sequence[str]) -> Posterior:
    """Return what the prior alone says of candidates, in its order: each varies around it by its deviation."""
    return restricted_to(
        Posterior(
            names=tuple(names),
            tokens=(None,) * len(names),
            own=prior.mean,
            prior=prior.mean,
            score=prior.mean,
            covariance=np.diag(prior.deviation**2),
            weight=np.zeros(len(names)),
        ),
        names,
    )


def with_unmeasured(posterior: Posterior, prior: Prior, name: str) -> Posterior:
    """Add a candidate without own scores: its score is the prior's, and varies by the prior's deviation.

    `prior` is that of the posterior's candidates, in their order, and of this one, the last. Scores stay relative to
    the mean over the measured candidates.
    """
    index = len(posterior.names)
    expected = prior.mean[index] - prior.mean[:index].mean()
    covariance = np.zeros((index + 1, index + 1))
    covariance[:index, :index] = posterior.covariance
    covariance[index, index] = prior.deviation[index] ** 2
    return replace(
        posterior,
        names=(*posterior.names, name),
        tokens=(*posterior.tokens, None),
        own=np.append(posterior.own, expected),
        prior=np.append(posterior.prior, expected),
        score=np.append(posterior.score, expected),
        covariance=covariance,
        weight=np.append(posterior.weight, 0.0),
    )


def combine(posteriors: Sequence[tuple[str, Posterior]]) -> Posterior:
    """One posterior of the candidates that all have: the mean over questions of the mean over a question's own.

    Each comes with the question that it answers, a protocol; several of one question are of several retrievers.
    """
    names = [name for name in posteriors[0][1].names if all(name in posterior.names for _, posterior in posteriors)]
    if not names:
        raise UsageError("no candidate has a score in every setting; leave out the setting in which they failed")
    by_question: dict[str, list[Posterior]] = {}
    for question, posterior in posteriors:
        by_question.setdefault(question, []).append(restricted_to(posterior, names))
    # Retrievers share their queries, so their errors are taken to be the same.
    questions = [_mean(group, independent=False) for group in by_question.values()]
    return _mean(questions, independent=True)


def decide(posterior: Posterior, rng: np.random.Generator, draws: int = DRAWS) -> Decision:
    """Rank the candidates by what choosing each would cost, from draws of what they would score."""
    # Columns in another order get the same draws.
    by_name = sorted(range(len(posterior.names)), key=lambda i: posterior.names[i])
    noise = rng.standard_normal((draws // 2, len(by_name))) @ _root(posterior.covariance[np.ix_(by_name, by_name)])
    # With its mirror image the mean over draws is the score, so the choice does not depend on the draws.
    drawn = np.round(posterior.score[by_name] + np.concatenate([noise, -noise]), DIGITS)
    true = drawn[:, np.argsort(by_name)]
    losses = true.max(axis=1, keepdims=True) - true
    first = losses == 0

    def position(i: int) -> tuple[float, float, str]:
        tokens, name = posterior.tokens[i], posterior.names[i]
        return -round(float(posterior.score[i]), DIGITS), float("inf") if tokens is None else tokens, name

    order = sorted(range(len(posterior.names)), key=position)
    low, high = np.quantile(true - true[:, order[:1]], (0.025, 0.975), axis=0).tolist()
    ranked = [
        RankedCandidate(
            name=posterior.names[i],
            tokens=posterior.tokens[i],
            own=float(posterior.own[i]),
            prior=float(posterior.prior[i]),
            score=float(posterior.score[i]),
            to_choice=(low[i], high[i]),
            expected_loss=float(losses[:, i].mean()),
            probability=float((first[:, i] / first.sum(axis=1)).mean()),
        )
        for i in order
    ]
    return Decision(candidates=tuple(ranked))


def _centred(values: FloatArray) -> FloatArray:
    """The rows less their mean."""
    return np.asarray(values - values.mean(axis=0), dtype=np.float64)


def _root(covariance: FloatArray) -> FloatArray:
    """The symmetric square root, which does not depend on the order of rows."""
    values, vectors = np.linalg.eigh(covariance)
    # Rounding leaves an eigenvalue of 0 just below it.
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T, dtype=np.float64)


def restricted_to(posterior: Posterior, names: Sequence[str]) -> Posterior:
    """Return the posterior of these candidates alone, minus their own mean."""
    index = [posterior.names.index(name) for name in names]
    return replace(
        posterior,
        names=tuple(names),
        tokens=tuple(posterior.tokens[i] for i in index),
        own=_centred(posterior.own[index]),
        prior=_centred(posterior.prior[index]),
        score=_centred(posterior.score[index]),
        covariance=_centred(_centred(posterior.covariance[np.ix_(index, index)]).T),
        weight=posterior.weight[index],
    )


def _mean(posteriors: Sequence[Posterior], *, independent: bool) -> Posterior:
    """The mean of posteriors of the same candidates, whose errors are independent or go together."""
    n = len(posteriors)
    if independent:
        covariance = np.sum([array.covariance for array in posteriors], axis=0) / n**2
    else:
        root = np.mean([_root(array.covariance) for array in posteriors], axis=0)
        covariance = root @ root
    costs = list(zip(*(array.tokens for array in posteriors), strict=True))
    return Posterior(
        names=posteriors[0].names,
        tokens=tuple(None if None in row else sum(row) / n for row in costs),
        covariance=covariance,
        **{
            name: np.mean([getattr(array, name) for array in posteriors], axis=0)
            for name in ("own", "prior", "score", "weight")
        },
    )


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


class ReferenceEdits(Record):
    """Label of a candidate -> the share of an edited file that is embedded again, a mean over other repositories."""

    repositories: int
    shares: Mapping[str, float]


class ReferenceSets(Record):
    """All reference sets, with the commands that made them.

    `candidates` are chunkers, or a chunker with a header (`ast:header=stem`), at sizes in characters.

    `noise` is protocol -> the lower triangle of the covariance of one query's scores, row by row.
    """

    commands: tuple[str, ...]
    candidates: tuple[tuple[str, int], ...]
    noise: Mapping[str, tuple[tuple[float, ...], ...]]
    sets: tuple[ReferenceSet, ...]
    edits: ReferenceEdits

    def of_language(self, language: str) -> ReferenceSet:
        """Return the set that has the language, else that of other languages."""
        by_language = {name: of_set for of_set in self.sets for name in of_set.languages}
        return by_language.get(language) or next(of_set for of_set in self.sets if of_set.name == OTHER)

    def prior(
        self, language: str, protocol: str, retriever: str, candidates: Sequence[tuple[str, int | None]]
    ) -> Prior:
        """The prior of candidates, each a chunker and its size in characters, None where it has none.

        For a protocol or retriever without scores, all means are 0, and the deviation is the largest that the set's
        candidates have from 0.
        """
        questions = self.of_language(language).questions
        matches = [
            question for question in questions if (question.protocol, question.retriever) == (protocol, retriever)
        ]
        # Scores by BM25 do not hold for a model, nor the other way round.
        if not matches:
            near = [question for question in questions if question.protocol == protocol] or questions
            widest = max(
                float(np.hypot(question.tau, np.std([m for m in question.means if m is not None]))) for question in near
            )
            nothing = (0.0,) * len(self.candidates)
            matches = [near[0].model_copy(update={"means": nothing, "tau": widest})]
        noise = self.noise.get(protocol) or next(iter(self.noise.values()))
        return prior_of(matches[0], _square(noise), self.candidates, candidates)


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
    # A mixture's mean is the mean of its parts. Its variance adds the variance between the parts, so an unknown
    # candidate follows its own scores more.
    mean = of_means @ means
    headers = np.array([_header_shares([*measured], name, size) for name, size in candidates]) @ means
    of_headers = np.array([_header_shares(known, name, size) for name, size in candidates])
    shares = np.array([_shares(known, name, size) for name, size in candidates])
    mixed = shares @ noise @ shares.T
    # The own part of each mixture and of a header, which it shares with no other candidate.
    own = shares @ np.diag(noise) - np.diag(mixed) + np.diag(of_headers @ noise @ of_headers.T)
    return Prior(
        mean=mean + headers,
        deviation=np.sqrt(question.tau**2 + np.maximum(0, of_means @ means**2 - mean**2)),
        noise=mixed + np.diag(own),
    )


def _shares(known: Sequence[tuple[str, int]], name: str, size: int | None) -> FloatArray:
    """Return the shares of the known candidates in the mixture, float64 (n_known,), 1 in all."""
    sizes = sorted({bin_size for _, bin_size in known})
    of_size = dict.fromkeys(sizes, 1 / len(sizes))
    # A size between two of the known ones could be either, the nearer the likelier (in octaves). A size an octave or
    # more beyond them could be any of them.
    if size is not None:
        near = float(np.clip(size, sizes[0], sizes[-1]))
        beyond = min(1.0, abs(log2(size / near)))
        steps = np.interp(log2(near), [log2(bin_size) for bin_size in sizes], range(len(sizes)))
        of_size = {
            bin_size: beyond * share + (1 - beyond) * max(0.0, 1 - abs(steps - position))
            for position, (bin_size, share) in enumerate(of_size.items())
        }
    names = {other for other, _ in known}
    name = name if name in names else name.partition(":")[0]
    # A chunker that is not known could be any of those that are, without a header.
    parts = {name} if name in names else {other for other in names if ":" not in other}
    return np.array([of_size[bin_size] / len(parts) if other in parts else 0.0 for other, bin_size in known])


def _header_shares(known: Sequence[tuple[str, int]], name: str, size: int | None) -> FloatArray:
    """Return what makes the mean lead of a candidate's header over none, float64 (n_known,), 0 in all.

    That is its lead on the chunkers that were measured with it; one that was not measured leads by nothing.
    """
    names = {other for other, _ in known}
    header = name.partition(":")[2]
    headed = [other for other in names if header and name not in names and other.endswith(f":{header}")]
    leads = [_shares(known, other, size) - _shares(known, other.partition(":")[0], size) for other in headed]
    return np.asarray(np.mean(leads, axis=0) if leads else np.zeros(len(known)))


def _square(rows: Sequence[Sequence[float]]) -> FloatArray:
    """The symmetric matrix of which these are the rows up to the diagonal."""
    square = np.zeros((len(rows), len(rows)))
    for index, row in enumerate(rows):
        square[index, : index + 1] = square[: index + 1, index] = row
    return square
