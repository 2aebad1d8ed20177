"""The evidence of candidates' runs, question by question, and the choice with what it may cost. It runs nothing."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.comparison import leads
from repoeval_bench.analysis.records import Outcome
from repoeval_bench.analysis.shrinkage import (
    Decision,
    Posterior,
    Prior,
    RankedCandidate,
    ReferenceSets,
    combine,
    decide,
    from_prior,
    restricted_to,
    shrink,
    with_unmeasured,
)
from repoeval_bench.analysis.statistics import Sample, seeded
from repoeval_bench.analysis.verdicts import READ, leads_of
from repoeval_bench.chunkers.registry import CHUNKERS, of_size, row_of, snippet_of
from repoeval_bench.core.parts import Snippet
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.records import Headline, Record
from repoeval_bench.runs.request import EMBEDDER, RunRequest
from repoeval_bench.runs.view import RunView

SIZES = (500, 1000, 2000)
"""Non-whitespace characters of `fixed`, whose mean chunk every chunker is given."""

BASELINE = "fixed"

PURPOSES: Mapping[str, tuple[str, ...]] = {
    "both": ("uses", "docstring"),
    "completion": ("uses",),
    "search": ("docstring",),
}
"""Purpose of the chunks -> the protocols that test it, which all count the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedChunker:
    """A chunker as it was named, at a size in nws (None where it has none), and its full spec at that size.

    `like` is the size at which the chunks of `fixed` are as large, of a candidate without a matched size.
    """

    name: str
    size: int | None
    spec: str
    like: int | None = None

    @property
    def label(self) -> str:
        """`ast at 1,000`, or the chunker alone where it has no size."""
        return self.name if self.size is None else f"{self.name} at {self.size:,}"


# The chunker to use where nothing can be measured, and its `max_nws` for each character that a chunk of `fixed` has.
DEFAULT, PER_CHARACTER = "ast", 1.26

HEADER = "stem"
"""The kind of header that is tried before the chunks of `ast`, and before those of the current chunker."""


def with_header(spec: str) -> str | None:
    """Return a spec with this header; None for one that has a header already, or can have none."""
    parsed = Spec.parse(spec)
    row = row_of(parsed)
    # An option `header` of another package's chunker is its own.
    if "header" in parsed.params or row.part is None or row.origin:
        return None
    headed = str(Spec(parsed.name, parsed.target, {**parsed.params, "header": HEADER}))
    # The commas of a command (`exec:`) are its own, too.
    return headed if "header" in Spec.parse(headed).params else None


class Evidence(Record):
    """The scores of the candidates under one protocol and retriever; candidates are named by their labels.

    `means` are of the protocol's headline `measure`, from 0 to 1, `over` queries or repositories. `tokens` is the size
    of the first `READ` chunks for a query, by the rule `code` (docs/data.md). `cut` is the share of a candidate's
    chunks that the embedding model does not read whole; None by a retriever without a model. `runs` are the ids of the
    runs. `own_weight` is the share of the candidates' own scores in the decision, and other repositories have the rest.
    `better` and `worse` are the candidates that differ significantly from the choice, adjusted over all pairs of runs.
    """

    protocol: str
    retriever: str
    embedder: str
    measure: str
    over: Headline = Field(alias="mean_over")
    clustered_by: str
    n_queries: int = Field(alias="queries")
    n_files: int = Field(alias="files")
    n_clusters: int = Field(alias="clusters")
    means: Mapping[str, float]
    tokens: Mapping[str, float | None]
    cut: Mapping[str, float | None]
    runs: Mapping[str, str]
    own_weight: float
    better: tuple[str, ...] = Field(default=(), alias="significantly_better_than_choice")
    worse: tuple[str, ...] = Field(default=(), alias="significantly_worse_than_choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Evidence with what it was computed from: the request, the runs in the order of the labels, and the posterior."""

    evidence: Evidence
    request: RunRequest
    runs: tuple[RunView, ...]
    posterior: Posterior


class Gain(Record):
    """A candidate's score less that of the current chunker under a protocol, the mean over the retrievers.

    `ci` is the 95 % interval over clusters, None for too few of them.
    """

    protocol: str
    difference: float
    ci: tuple[float, float] | None


class Current(Record):
    """The candidate that is used now, and what the choice gains on it; no gains if it is the choice."""

    label: str
    gains: tuple[Gain, ...] = ()
    header_gains: tuple[Gain, ...] = ()
    """What its own chunks gain by a header of the kind `HEADER`; none if the choice is just that, or was not tried."""

    @property
    def is_worse(self) -> bool:
        """True where the choice is significantly better by a protocol, and significantly worse by none."""
        ends = [gain.ci for gain in self.gains if gain.ci]
        return any(low > 0 for low, _ in ends) and not any(high < 0 for _, high in ends)


class RetrieverScore(Record):
    """A retriever's mean, and its difference to the first retriever with the 95 % interval; None of the first."""

    retriever: str
    mean: float
    difference: float | None = None
    ci: tuple[float, float] | None = None


class Reading(Record):
    """The share that is found in so many chunks of mean size, and what they cost in tokens."""

    chunks: int
    share: float
    tokens: float | None


class RetrieverChoice(Record):
    """A candidate by several retrievers on the questions of one protocol, and what reading more of the `best` finds."""

    label: str
    protocol: str
    best: str
    scores: tuple[RetrieverScore, ...]
    readings: tuple[Reading, ...] = ()


class GoldLead(Record):
    """The mean of the choice less that of a rival, by each gold of protocol `commits`: lines, exact, definitions."""

    rival: str
    differences: Mapping[str, float]

    @property
    def turned(self) -> dict[str, float]:
        """The differences whose sign is not that of the deciding gold, the first one, as far as 0.1 points show it."""
        (_, decided), *others = self.differences.items()
        return {gold: one for gold, one in others if one * decided < 0 and abs(one) >= 0.0005}


class Cost(Record):
    """A candidate's cost: an index of the code, its vectors by the embedder, and an edit.

    `vector_bytes` is None where the vectors' width is not known. `edited` is the share of the characters of edited
    files that is in new chunks, and `edit_tokens` are the tokens of these chunks per edit; None where not measured.
    """

    chunks: int
    vector_bytes: int | None
    edited: float | None = None
    edit_tokens: float | None = None


class Default(Record):
    """The chunker to use where nothing was measured, and its expected loss on repositories like these.

    `repositories` is the number of those that show it, ranked by `retrievers`, `language` what they are written in, ""
    for any.
    """

    label: str
    retrievers: tuple[str, ...]
    language: str
    repositories: int
    expected_loss: float
    lead: float | None = None
    """Its mean score there less that of the current chunker; None where that has none."""
    of_size: bool = False
    """Whether the size of the current chunker is known; else `lead` is over all sizes."""


class Setup(Record):
    """A candidate in another framework: the Python to paste for files in one language."""

    framework: str
    imports: str
    code: str
    use: str
    language: str
    candidate: str
    spec: str
    expected_loss: float
    measured: bool
    """Whether its chunks were measured on this code."""


class AboutCode(Record):
    """The code of a recommendation, and what was measured beside the scores; JSON has the same fields."""

    data: str
    files: Mapping[str, int]
    """Files that were read, by language."""
    languages: Mapping[str, float]
    """Shares of the code, the largest first."""
    unread: Mapping[str, int] = {}
    """Kind of code that is not read -> its number of files."""
    tests: Literal["out", "index", "all"] = "all"
    """The use of tests, a key of `core.benchmark.TESTS`."""
    test_files: int = 0
    """Files of tests, which ask nothing."""
    current: Current | None = None
    """The candidate that is used now, if it was named."""
    costs: Mapping[str, Cost] = {}
    """The costs of candidates, by their labels."""
    edits: int = 0
    """Edits of this repository from which the costs of one are measured."""
    edits_elsewhere: int = 0
    """Other repositories whose edits tell the costs, where this one has no commits."""
    since: str = ""
    """The month from which on commits ask, "" if none do."""
    lead: GoldLead | None = None
    retrievers: tuple[RetrieverChoice, ...] = ()
    """Retrievers compared on the choice, and on the current candidate."""
    default: Default | None = None
    """What other repositories show of the default; None where something was decided."""
    setups: tuple[Setup, ...] = ()
    """One for each framework and language, that of the choice first."""
    skipped: tuple[str, ...] = ()
    """A line for everything else that was not run."""
    runs: tuple[str, ...] = ()
    """The ids of all runs."""


class Recommendation(AboutCode):
    """A candidate to use, what it costs if another is better, and the evidence: all that an answer is printed from."""

    evidence: tuple[Evidence, ...] = ()
    decision: Decision | None = None
    """All candidates by their expected loss over the evidence; None where no protocol has enough queries."""
    candidates: Mapping[str, SizedChunker] = {}
    few: Mapping[str, int] = {}
    """Protocol with too few queries to decide -> their number."""
    n_failed: int = 0

    @property
    def language(self) -> str:
        """The language of most of the code."""
        return next(iter(self.languages))

    @property
    def choice(self) -> SizedChunker | None:
        """The candidate to use; None where there is too little data."""
        return None if self.decision is None else self.candidates[self.decision.choice.name]

    @property
    def relies_on_others(self) -> bool:
        """True where the scores of other repositories weigh more than those of these files."""
        own = [evidence.own_weight for evidence in self.evidence]
        return sum(own) < 0.5 * len(own)

    def mean(self, label: str, protocol: str | None = None) -> float:
        """Return a candidate's score, the mean over the evidence, or over that of one protocol."""
        scores = [evidence.means[label] for evidence in self.evidence if protocol in (None, evidence.protocol)]
        return sum(scores) / len(scores)

    def expected(self, label: str) -> float:
        """Return a candidate's score after it was weighed with other repositories, on the scale of `mean`."""
        assert self.decision is not None
        names = [one.name for one in self.decision.candidates]
        return sum(map(self.mean, names)) / len(names) + self.decision.candidate(label).score

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
) -> Measured:
    """Return the evidence of one protocol and retriever from its `finished` runs, each with its candidate."""
    runs = [run for _, run in finished]
    labels = [candidate.label for candidate, _ in finished]
    measure, over = headline_measure(runs), runs[0].metrics.headline
    joined = together([run.scores for run in runs])
    scores, table = joined[0], np.column_stack([of_run.values[measure] for of_run in joined])
    sample = Sample.of(table, scores.clusters, scores.repos, over)
    read = [run.metrics.chunk_nws for run in runs]
    costs = [READ * sizes.read * tokens_per_nws if sizes else None for sizes in read]
    prior = _prior(reference_sets, language, request, [candidate for candidate, _ in finished])
    posterior = shrink(sample, prior, labels, costs)
    evidence = Evidence(
        protocol=request.protocol,
        retriever=request.retriever,
        embedder=request.embedder,
        measure=measure,
        mean_over=over,
        clustered_by=scores.cluster_kind,
        queries=len(scores),
        files=scores.n_files,
        clusters=sample.n_clusters,
        means={label: run.metrics.over(over)[measure] for label, run in zip(labels, runs, strict=True)},
        tokens=dict(zip(labels, costs, strict=True)),
        cut={label: _cut_share(run) for label, run in zip(labels, runs, strict=True)},
        runs={label: run.run_id for label, run in zip(labels, runs, strict=True)},
        own_weight=float(posterior.weight.mean()),
    )
    return Measured(evidence=evidence, request=request, runs=tuple(runs), posterior=posterior)


def provisional_choice(
    request: RunRequest, finished: Sequence[tuple[SizedChunker, RunView]], language: str, reference_sets: ReferenceSets
) -> str | None:
    """Return the label of the best candidate by these runs alone, None for too few queries or candidates."""
    if len(finished) < 2:
        return None
    measured = evidence_of(request, finished, 0.0, language, reference_sets)
    return None if measured.evidence.n_queries < FEWEST_TASKS else decide(measured.posterior, seeded()).choice.name


def _prior(
    reference_sets: ReferenceSets, language: str, request: RunRequest, chunkers: Sequence[SizedChunker]
) -> Prior:
    candidates = [(known_name(candidate.name), candidate.size or candidate.like) for candidate in chunkers]
    return reference_sets.prior(language, request.protocol, _ranked_by(request), candidates)


def known_name(spec: str) -> str:
    """Return the chunker of a spec with its header, as reference sets name candidates."""
    parsed = Spec.parse(spec)
    return f"{parsed.name}:header={header}" if (header := parsed.params.get("header")) else parsed.name


def _ranked_by(request: RunRequest) -> str:
    """Return the name of what ranks."""
    # Reference scores by vectors are those of the bundled model alone.
    retriever, embedder = (Spec.parse(spec).name for spec in (request.retriever, request.embedder))
    return embedder if request.needs_vectors and embedder != EMBEDDER else retriever


def _cut_share(run: RunView) -> float | None:
    """Return the share of a run's chunks that the embedding model does not read whole; None without a model."""
    counts = run.metrics.counts
    return counts.chunks_truncated / counts.chunks if counts.chunks_truncated and counts.chunks else None


def conclude(
    measured: Sequence[Measured],
    *,
    reference_sets: ReferenceSets,
    candidates: Mapping[str, SizedChunker],
    languages: Mapping[str, float],
    current: str | None = None,
    tried: Collection[str] = (),
    **facts: Any,
) -> Recommendation:
    """Choose the candidate with the least expected loss over the evidence, where it has `FEWEST_TASKS` queries.

    Protocols count the same, and within a protocol the retrievers. Evidence with fewer queries is ignored.
    `languages` are those of the code with their shares, `current` is the label of the candidate that is used now,
    `tried` are the names of all chunkers that were tried, and `facts` are further fields of the recommendation.
    """
    enough = [one for one in measured if one.evidence.n_queries >= FEWEST_TASKS]
    few = {one.evidence.protocol: one.evidence.n_queries for one in measured if one not in enough}
    if not enough:
        requests = [one.request for one in measured]
        now = next((candidate for candidate in candidates.values() if candidate.label == current), None)
        return with_default(reference_sets, requests, languages=languages, now=now, few=few, **facts)
    posterior = combine([(one.evidence.protocol, one.posterior) for one in enough])
    decision = decide(posterior, seeded())
    others = _unmeasured(candidates, tried)
    all_candidates = {**candidates, **{candidate.label: candidate for candidate in others}}
    prior = partial(_prior, reference_sets, next(iter(languages)))
    ranked = _ranked(decision, posterior, enough, all_candidates, others, prior)
    return Recommendation(
        languages=languages,
        evidence=tuple(_with_tests(one, decision.choice.name) for one in enough),
        decision=decision,
        current=_current(enough, candidates[current], decision.choice.name, candidates)
        if current in posterior.names
        else None,
        candidates=all_candidates,
        setups=_setups(ranked, all_candidates, languages),
        few=few,
        **facts,
    )


def with_default(
    reference_sets: ReferenceSets,
    requests: Sequence[RunRequest],
    *,
    languages: Mapping[str, float],
    now: SizedChunker | None,
    **facts: Any,
) -> Recommendation:
    """Return the default for `requests` that cannot be measured: `ast` as it loses the least on other repositories.

    `now` is the chunker that is used now.
    """
    language = next(iter(languages))
    of_language = reference_sets.of_language(language)
    names = [SizedChunker(name=name, size=size, spec="") for name, size in reference_sets.candidates]
    labels = [candidate.label for candidate in names]
    measured = {(question.protocol, question.retriever) for question in of_language.questions}
    # Where other repositories were not asked the same either, they still tell what both purposes lose by BM25.
    shown = [one for one in requests if (one.protocol, _ranked_by(one)) in measured] or [
        RunRequest(protocol=protocol, retriever="bm25") for protocol in PURPOSES["both"]
    ]
    prior_of = partial(_prior, reference_sets, language)
    decision = decide(combine([(one.protocol, from_prior(prior_of(one, names), labels)) for one in shown]), seeded())
    retrievers = tuple(dict.fromkeys(_ranked_by(one) for one in shown))
    ours = [one for one in names if Spec.parse(one.name).name == DEFAULT]
    default = of_about(min(ours, key=lambda one: decision.candidate(one.label).expected_loss))
    lead = None
    if now is not None and Spec.parse(now.name).name in {name for name, _ in reference_sets.candidates}:
        means = np.mean([prior_of(one, [default, now]).mean for one in shown], axis=0)
        lead = float(means[0] - means[1])
    candidates = {candidate.label: candidate for candidate in [default, *_unmeasured({default.label: default})]}
    loss, *others = (decision.candidate(label) for label in candidates)
    others.sort(key=lambda one: one.expected_loss)
    return Recommendation(
        languages=languages,
        default=Default(
            label=default.label,
            retrievers=retrievers,
            language=", ".join(of_language.languages) if language in of_language.languages else "",
            repositories=of_language.repositories,
            expected_loss=loss.expected_loss,
            lead=lead,
            of_size=now is not None and (now.size or now.like) is not None,
        ),
        current=Current(label=now.label) if now else None,
        candidates=candidates,
        setups=_setups([(one, False) for one in (loss, *others)], candidates, languages),
        **facts,
    )


def of_about(default: SizedChunker) -> SizedChunker:
    """Return a candidate of `ast` with the spec of about its size, where there is no code to match it on."""
    assert default.size is not None
    params = {"max_nws": str(round(PER_CHARACTER * default.size)), **Spec.parse(default.name).params}
    return replace(default, spec=str(Spec(DEFAULT, "", params)))


def _with_tests(measured: Measured, choice: str) -> Evidence:
    """Return the evidence with the candidates that are significantly better or worse than the choice."""
    evidence, labels = measured.evidence, [*measured.evidence.runs]
    pairs = leads_of(measured.runs, labels, labels.index(choice), measure=evidence.measure)
    outcome = {pair.treatment: pair.verdict.outcome for pair in pairs}
    return evidence.model_copy(
        update={
            "better": tuple(sorted(label for label, said in outcome.items() if said is Outcome.BETTER)),
            "worse": tuple(sorted(label for label, said in outcome.items() if said is Outcome.WORSE)),
        }
    )


def _current(
    measured: Sequence[Measured], current: SizedChunker, choice: str, candidates: Mapping[str, SizedChunker]
) -> Current:
    """Compare the choice, and the current candidate with a header, with the current one."""
    spec = with_header(current.spec)
    headed = next((one.label for one in candidates.values() if one.spec == spec), choice)
    return Current(
        label=current.label,
        gains=() if current.label == choice else _gains(measured, choice, current.label),
        header_gains=() if headed == choice else _gains(measured, headed, current.label),
    )


def _gains(measured: Sequence[Measured], label: str, over: str) -> tuple[Gain, ...]:
    """Compare two candidates protocol by protocol, over clusters of queries, where all retrievers have both."""
    gains = []
    for protocol in dict.fromkeys(one.evidence.protocol for one in measured):
        of_protocol = [one for one in measured if one.evidence.protocol == protocol]
        by_label = [dict(zip(one.evidence.runs, one.runs, strict=True)) for one in of_protocol]
        if not all(label in runs for runs in by_label):
            continue
        joined = together([runs[name].scores for runs in by_label for name in (over, label)])
        measure, headline = of_protocol[0].evidence.measure, of_protocol[0].evidence.over
        # A query's score is its mean over the retrievers.
        values = [scores.values[measure] for scores in joined]
        table = np.column_stack([np.mean(values[first::2], axis=0) for first in (0, 1)])
        (pair,) = leads(table, joined[0], [over, label], 0, measure=measure, over=headline)
        gains.append(Gain(protocol=protocol, difference=pair.difference, ci=pair.ci))
    return tuple(gains)


def retrievers_of(runs: Mapping[str, RunView], first: str) -> tuple[RetrieverScore, ...]:
    """Compare the runs of one chunker by several retrievers with the `first` one's, which comes first."""
    names = [first, *(name for name in runs if name != first)]
    ordered = [runs[name] for name in names]
    measure = headline_measure(ordered)
    pairs = {pair.treatment: pair for pair in leads_of(ordered, names, 0, measure=measure)}
    means = [run.metrics.over(run.metrics.headline)[measure] for run in ordered]
    return tuple(
        RetrieverScore(retriever=name, mean=mean, difference=pair.difference, ci=pair.ci)
        if (pair := pairs.get(name))
        else RetrieverScore(retriever=name, mean=mean)
        for name, mean in zip(names, means, strict=True)
    )


def _unmeasured(candidates: Mapping[str, SizedChunker], tried: Collection[str] = ()) -> list[SizedChunker]:
    """Return the candidates of frameworks that were not tried here, at the sizes of the others.

    One that was tried, and failed on the code, has no lines to paste.
    """
    measured = {*(candidate.name for candidate in candidates.values()), *tried}
    sizes = sorted({candidate.size for candidate in candidates.values() if candidate.size is not None}) or list(SIZES)
    unmeasured = []
    for row in CHUNKERS:
        if row.pasted and row.name not in measured:
            unmeasured += [SizedChunker(name=row.name, size=size, spec=of_size(row.name, size)) for size in sizes]
    return unmeasured


def _ranked(
    decision: Decision,
    posterior: Posterior,
    measured: Sequence[Measured],
    candidates: Mapping[str, SizedChunker],
    unmeasured: Sequence[SizedChunker],
    prior_of: Callable[[RunRequest, Sequence[SizedChunker]], Prior],
) -> list[tuple[RankedCandidate, bool]]:
    """Return all candidates, and if each was measured: the choice first, then those with the least expected loss."""
    ranked = [(one, True) for one in decision.candidates]
    known = [candidates[name] for name in posterior.names]
    for candidate in unmeasured:
        parts = []
        for one in measured:
            prior = prior_of(one.request, [*known, candidate])
            own = restricted_to(one.posterior, posterior.names)
            parts.append((one.evidence.protocol, with_unmeasured(own, prior, candidate.label)))
        ranked.append((decide(combine(parts), seeded()).candidate(candidate.label), False))
    return sorted(ranked, key=lambda pair: (pair[0].name != decision.choice.name, pair[0].expected_loss))


def _setups(
    ranked: Sequence[tuple[RankedCandidate, bool]], candidates: Mapping[str, SizedChunker], languages: Iterable[str]
) -> tuple[Setup, ...]:
    """Return a setup of the first candidate of each framework, for each language that needs a line of its own."""
    setups: dict[str, dict[Snippet, Setup]] = {}
    for language in languages:
        seen = set()
        for one, is_measured in ranked:
            spec = candidates[one.name].spec
            snippet = snippet_of(spec, language)
            if snippet.framework not in seen:
                seen.add(snippet.framework)
                setup = Setup(
                    **snippet._asdict(),
                    language=language,
                    candidate=one.name,
                    spec=spec,
                    expected_loss=one.expected_loss,
                    measured=is_measured,
                )
                setups.setdefault(snippet.framework, {}).setdefault(snippet, setup)
    return tuple(setup for of_framework in setups.values() for setup in of_framework.values())
