"""The evidence of candidates' runs, question by question, and the choice with what it may cost. It runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.choosing import READ, leads_of
from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.analysis.shrinkage import (
    Decision,
    Posterior,
    Prior,
    combine,
    decide,
    restricted_to,
    shrink,
    with_unmeasured,
)
from repoeval_bench.analysis.statistics import SEED, Sample
from repoeval_bench.chunkers.registry import of_size, snippet_of
from repoeval_bench.core.registry import rows
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.runs.query_scores import QueryScores, together
from repoeval_bench.runs.request import EMBEDDER, RunRequest

if TYPE_CHECKING:
    from repoeval_bench.analysis.reference_sets import ReferenceSets
    from repoeval_bench.core.parts import Snippet
    from repoeval_bench.runs.records import Headline
    from repoeval_bench.runs.view import RunView


SIZES = (500, 1000, 2000)
"""Non-whitespace characters of `fixed`, whose mean chunk every chunker is given."""

BASELINE = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedChunker:
    """A chunker as it was named, at a size in nws (None where it has none), and its full spec at that size."""

    name: str
    size: int | None
    spec: str

    @property
    def label(self) -> str:
        """`ast at 1,000`, or the chunker alone where it has no size."""
        return self.name if self.size is None else f"{self.name} at {self.size:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The scores of the candidates under one protocol and retriever; candidates are named by their labels.

    `means` are of the protocol's headline `measure`, from 0 to 1, `over` queries or repositories. `tokens` is the size
    of the first `READ` chunks for a query, by the rule `code` (docs/packs.md). `cut` is the share of a candidate's
    chunks that the embedding model does not read whole; None by a retriever without a model. `better` and `worse` are
    the candidates that differ significantly from the choice, adjusted over all pairs of runs.
    """

    request: RunRequest
    measure: str
    over: Headline
    clustered_by: str
    n_queries: int
    n_files: int
    n_clusters: int
    means: Mapping[str, float]
    tokens: Mapping[str, float | None]
    cut: Mapping[str, float | None]
    runs: Mapping[str, RunView]
    posterior: Posterior
    better: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()

    @property
    def protocol(self) -> str:
        """The protocol's name."""
        return self.request.protocol

    @property
    def retriever(self) -> str:
        """The retriever's spec."""
        return self.request.retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A candidate in another framework: the Python to paste, and whether its chunks were measured on this code."""

    label: str
    snippet: Snippet
    expected_loss: float
    loss_95: float | None
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recommendation:
    """A candidate to use, what it costs if another is better, and the evidence.

    `decision` ranks all candidates by their expected loss over the evidence; None where no protocol has enough queries.
    `by_retriever` has what each retriever alone would choose. `candidates` maps labels to candidates. `setups` has one
    for each framework, that of the choice first. `language` is that of most of the code. `few` has the number of
    queries of each protocol that has too few to decide. `skipped` has a line for everything else that was not run,
    `n_failed` the number of runs that failed.
    """

    data: str
    language: str
    evidence: tuple[Evidence, ...]
    decision: Decision | None
    by_retriever: Mapping[str, str]
    candidates: Mapping[str, SizedChunker]
    setups: tuple[Setup, ...]
    few: Mapping[str, int]
    skipped: tuple[str, ...]
    n_failed: int
    runs: tuple[RunView, ...]

    @property
    def choice(self) -> SizedChunker | None:
        """The candidate to use; None where there is too little data."""
        return None if self.decision is None else self.candidates[self.decision.choice.name]

    @property
    def relies_on_others(self) -> bool:
        """True where the scores of other repositories weigh more than those of these files."""
        own = [weight for evidence in self.evidence for weight in evidence.posterior.weight]
        return bool(sum(own) < 0.5 * len(own))

    def mean(self, label: str, protocol: str | None = None) -> float:
        """Return a candidate's score, the mean over the evidence, or over that of one protocol."""
        scores = [evidence.means[label] for evidence in self.evidence if protocol in (None, evidence.protocol)]
        return sum(scores) / len(scores)

    def tokens(self, label: str) -> float | None:
        """Return the tokens of a candidate's first `READ` chunks for a query, the mean over the evidence."""
        costs = [cost for evidence in self.evidence if (cost := evidence.tokens.get(label)) is not None]
        return sum(costs) / len(costs) if costs else None

    def __repr__(self) -> str:
        return f"<Recommendation {self.choice.label if self.choice else 'without a choice'}>"


def evidence_of(
    request: RunRequest,
    finished: Sequence[tuple[SizedChunker, RunView]],
    tokens_per_nws: float,
    language: str,
    reference_sets: ReferenceSets,
) -> Evidence:
    """Return the evidence of one protocol and retriever from its `finished` runs, each with its candidate."""
    runs = [run for _, run in finished]
    labels = [candidate.label for candidate, _ in finished]
    measure, over = headline_measure(runs), runs[0].metrics.headline
    sample, scores = _sample(runs)
    costs = [READ * sizes.mean * tokens_per_nws if (sizes := run.metrics.chunk_nws) else None for run in runs]
    prior = _prior(reference_sets, language, request, [candidate for candidate, _ in finished])
    return Evidence(
        request=request,
        measure=measure,
        over=over,
        clustered_by=scores.cluster_kind,
        n_queries=len(scores),
        n_files=scores.n_files,
        n_clusters=sample.n_clusters,
        means={label: run.metrics.over(over)[measure] for label, run in zip(labels, runs, strict=True)},
        tokens=dict(zip(labels, costs, strict=True)),
        cut={label: _cut_share(run) for label, run in zip(labels, runs, strict=True)},
        runs=dict(zip(labels, runs, strict=True)),
        posterior=shrink(sample, prior, labels, costs),
    )


def provisional_choice(
    request: RunRequest, finished: Sequence[tuple[SizedChunker, RunView]], language: str, reference_sets: ReferenceSets
) -> str | None:
    """Return the label of the best candidate by these runs alone, None for too few queries or candidates."""
    candidates = [candidate for candidate, _ in finished]
    if len(candidates) < 2:
        return None
    sample, scores = _sample([run for _, run in finished])
    if len(scores) < FEWEST_TASKS:
        return None
    labels = [candidate.label for candidate in candidates]
    posterior = shrink(sample, _prior(reference_sets, language, request, candidates), labels, [None] * len(labels))
    return decide(posterior, _rng()).choice.name


def _sample(runs: Sequence[RunView]) -> tuple[Sample, QueryScores]:
    """Return the headline measure of runs, a column each, and the scores of the first."""
    measure = headline_measure(runs)
    joined = together([run.scores for run in runs])
    scores = joined[0]
    table = np.column_stack([of_run.values[measure] for of_run in joined])
    return Sample.of(table, scores.clusters, scores.repos, runs[0].metrics.headline), scores


def _prior(
    reference_sets: ReferenceSets, language: str, request: RunRequest, chunkers: Sequence[SizedChunker]
) -> Prior:
    """Return the prior of the chunkers; reference scores by vectors are those of the bundled model alone."""
    retriever, embedder = (Spec.parse(spec).name for spec in (request.retriever, request.embedder))
    ranked_by = embedder if request.needs_vectors and embedder != EMBEDDER else retriever
    candidates = [(Spec.parse(candidate.name).name, candidate.size) for candidate in chunkers]
    return reference_sets.prior(language, request.protocol, ranked_by, candidates)


def _cut_share(run: RunView) -> float | None:
    """Return the share of a run's chunks that the embedding model does not read whole; None without a model."""
    counts = run.metrics.counts
    return counts.chunks_truncated / counts.chunks if counts.chunks_truncated and counts.chunks else None


def conclude(
    data: str,
    language: str,
    evidence: Sequence[Evidence],
    *,
    reference_sets: ReferenceSets,
    candidates: Mapping[str, SizedChunker],
    skipped: Sequence[str],
    n_failed: int,
    runs: Sequence[RunView],
) -> Recommendation:
    """Choose the candidate with the least expected loss over the evidence, where it has `FEWEST_TASKS` queries.

    Protocols count the same, and within a protocol the retrievers. Evidence with fewer queries decides nothing.
    """
    enough = [question for question in evidence if question.n_queries >= FEWEST_TASKS]
    few = {question.protocol: question.n_queries for question in evidence if question not in enough}
    decision: Decision | None = None
    by_retriever: dict[str, str] = {}
    setups: tuple[Setup, ...] = ()
    all_candidates = dict(candidates)
    if enough:
        posterior = combine([(question.protocol, question.posterior) for question in enough])
        decision = decide(posterior, _rng())
        for retriever in dict.fromkeys(question.retriever for question in enough):
            own = combine(
                [(question.protocol, question.posterior) for question in enough if question.retriever == retriever]
            )
            by_retriever[retriever] = decide(own, _rng()).choice.name
        others = _unmeasured(candidates)
        all_candidates |= {candidate.label: candidate for candidate in others}
        setups = _setups(decision, posterior, language, enough, all_candidates, others, reference_sets=reference_sets)
        enough = [_with_tests(question, decision.choice.name) for question in enough]
    return Recommendation(
        data=data,
        language=language,
        evidence=tuple(enough),
        decision=decision,
        by_retriever=by_retriever,
        candidates=all_candidates,
        setups=setups,
        few=few,
        skipped=tuple(skipped),
        n_failed=n_failed,
        runs=tuple(runs),
    )


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _with_tests(evidence: Evidence, choice: str) -> Evidence:
    """Add the candidates that are significantly better or worse than the choice, adjusted over all pairs."""
    runs, labels = [*evidence.runs.values()], [*evidence.runs]
    scores = together([run.scores for run in runs])
    pairs = leads_of(runs, scores, labels, labels.index(choice), measure=evidence.measure)
    outcome = {pair.treatment: pair.verdict.outcome for pair in pairs}
    return replace(
        evidence,
        better=frozenset(label for label, said in outcome.items() if said is Outcome.BETTER),
        worse=frozenset(label for label, said in outcome.items() if said is Outcome.WORSE),
    )


def _unmeasured(candidates: Mapping[str, SizedChunker]) -> list[SizedChunker]:
    """Return the candidates of frameworks that were not tried here, at the sizes of the others."""
    measured = {candidate.name for candidate in candidates.values()}
    sizes = sorted({candidate.size for candidate in candidates.values() if candidate.size is not None}) or list(SIZES)
    unmeasured = []
    for row in rows("chunker"):
        if row.pasted and row.name not in measured:
            unmeasured += [SizedChunker(name=row.name, size=size, spec=of_size(row.name, size)) for size in sizes]
    return unmeasured


def _setups(
    decision: Decision,
    posterior: Posterior,
    language: str,
    evidence: Sequence[Evidence],
    candidates: Mapping[str, SizedChunker],
    unmeasured: Sequence[SizedChunker],
    *,
    reference_sets: ReferenceSets,
) -> tuple[Setup, ...]:
    """Return the choice's setup, and for each other framework that of its candidate with the least expected loss."""
    ranked = [(one, True) for one in decision.candidates]
    measured = [candidates[name] for name in posterior.names]
    for candidate in unmeasured:
        parts = []
        for question in evidence:
            prior = _prior(reference_sets, language, question.request, [*measured, candidate])
            parts.append(
                (
                    question.protocol,
                    with_unmeasured(restricted_to(question.posterior, posterior.names), prior, candidate.label),
                )
            )
        ranked.append((decide(combine(parts), _rng()).candidate(candidate.label), False))
    ranked.sort(key=lambda pair: (pair[0].name != decision.choice.name, pair[0].expected_loss))
    setups: dict[str, Setup] = {}
    for one, is_measured in ranked:
        snippet = snippet_of(candidates[one.name].spec, language)
        if snippet.framework not in setups:
            setups[snippet.framework] = Setup(
                label=one.name,
                snippet=snippet,
                expected_loss=one.expected_loss,
                loss_95=one.loss_95,
                measured=is_measured,
            )
    return tuple(setups.values())
