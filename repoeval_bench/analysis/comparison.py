"""Two or more stored runs, query by query: which differences are real."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from repoeval_bench.analysis.records import Comparison, MeanDifference
from repoeval_bench.analysis.statistics import (
    ALPHA,
    DRAWS,
    SEED,
    Sample,
    bca_intervals,
    beside,
    effect_sizes,
    equivalence_p,
    holm,
    minimum_detectable,
    sign_flip_p,
    sign_flip_ps,
)
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import CEILING, Measure
from repoeval_bench.protocols.protocol import CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.view import RunView


PARTS = ("chunker", "embedder", "retriever")
"""What two compared runs may differ in."""

FLIPS_PER_TEST = 100
"""Sign flips drawn at least for each test of the family, so that the smallest p (Holm) is 0.01."""


def run_names(runs: Sequence[RunView]) -> list[str]:
    """What to call each run: whatever differs between them (chunker, embedder, retriever), else id or folder."""
    differing = [part for part in PARTS if len({getattr(run.metrics, part) for run in runs}) > 1]
    names = [" · ".join(getattr(run.metrics, part) for part in differing or PARTS[:1]) for run in runs]
    if len(set(names)) < len(runs):
        names = [run.run_id for run in runs]
    return names if len(set(names)) == len(runs) else [str(run.folder) for run in runs]


def shared_measures(runs: Sequence[RunView], wanted: Sequence[str] = ()) -> list[str]:
    """The measures that all runs have, in the first one's order; of those the wanted ones.

    A wanted one that is not there is a UsageError.
    """
    shared = [name for name in runs[0].metrics.micro if all(name in run.metrics.micro for run in runs[1:])]
    wanted = [name if name in shared else str(Measure.parse(name)) for name in wanted]
    if missing := [name for name in wanted if name not in shared]:
        raise UsageError(
            f"{', '.join(missing)} was not scored in all of these runs; they share {', '.join(shared) or 'nothing'}"
        )
    return [name for name in shared if not wanted or name in wanted]


def headline_measure(runs: Sequence[RunView]) -> str:
    """The protocol's headline measure; of runs that were not scored by it, the first measure that all share.

    A UsageError where they share none.
    """
    measures = shared_measures(runs)
    named = runs[0].metrics.headline_measure
    if named in measures:
        return named
    if not measures:
        raise UsageError("these runs share no measure; score them by the same ones, or look at them one by one")
    return measures[0]


def check_comparable(baseline: RunView, run: RunView) -> None:
    """A UsageError that lists every difference, unless both answer one question: protocol, data, queries, depth."""
    check_all_comparable([(baseline, run)])


def check_all_comparable(pairs: Iterable[tuple[RunView, RunView]]) -> None:
    """A UsageError that lists every difference, unless all pairs answer one question.

    The later run of a pair is told once, beside the first run that it is unlike; nothing else is told of such a run.
    """
    found: dict[Path, tuple[str, list[str]]] = {}
    for baseline, run in pairs:
        if found.keys().isdisjoint({baseline.folder, run.folder}) and (unlike := _differences(baseline, run)):
            found[run.folder] = (f"{baseline.run_id} and {run.run_id}", unlike)
    if not found:
        return
    way_out = "compare runs of one protocol on the same queries"
    if len(found) == 1:
        ((names, unlike),) = found.values()
        if len(unlike) == 1:
            raise UsageError(f"{names} cannot be compared: {unlike[0]}; {way_out}")
        raise UsageError("\n  ".join([f"{names} cannot be compared; {way_out}:", *unlike]))
    told = [f"{names}: {each}" for names, unlike in found.values() for each in unlike]
    raise UsageError("\n  ".join([f"{len(found)} runs cannot be compared with one before them; {way_out}:", *told]))


def _differences(baseline: RunView, run: RunView) -> list[str]:
    """What keeps two runs from being compared, one phrase each."""
    a, b = baseline.metrics, run.metrics
    asked = (("protocol", a.protocol, b.protocol), ("k", a.k, b.k))
    found = [f"{key} {ours} against {theirs}" for key, ours, theirs in asked if ours != theirs]
    definitions = [_definition(each) for each in (baseline, run)]
    found += [
        f"{key} {ours} against {theirs}"
        for key, ours in definitions[0].items()
        if key in definitions[1] and ours != (theirs := definitions[1][key])
    ]
    if a.dataset.fingerprint != b.dataset.fingerprint:
        found.append(f"data {a.dataset.label} against {b.dataset.label}")
    same_embedder = a.embedder == b.embedder
    identities = [_identity(each) for each in (baseline, run)]
    precisions = [identity.pop("precision", None) for identity in identities]
    if all(precisions) and precisions[0] != precisions[1]:
        found.append(
            f"precision {precisions[0]} against {precisions[1]} (--precision fp32 makes a model's run of fp32)"
        )
    if same_embedder and identities[0] != identities[1]:
        keys = [key for key in {**identities[0], **identities[1]} if identities[0].get(key) != identities[1].get(key)]
        found.append(f"the embedder's {', '.join(keys)}")
    queries, others = set(baseline.scores.query_ids), set(run.scores.query_ids)
    found += [
        f"{len(only)} {'query' if len(only) == 1 else 'queries'} only in {name} (such as {min(only)})"
        for only, name in ((queries - others, baseline.run_id), (others - queries, run.run_id))
        if only
    ]
    if reworded := _reworded(baseline.scores, run.scores):
        found.append(f"another text of {len(reworded)} of {len(queries & others)} queries (such as {min(reworded)})")
    return found


def check_margin(equivalence: float | None) -> None:
    """A UsageError unless it is a margin within which two means could be equal; None asks for no such test."""
    if equivalence is not None and not 0 < equivalence < 1:
        raise UsageError(
            f"an equivalence margin of {equivalence:g} is none, for scores lie between 0 and 1; "
            "give a difference above 0 and below 1, such as 0.01"
        )


def load() -> None:
    """Import what a comparison needs of scipy: a fifth of a second, well spent while other processes are at work."""
    import scipy.special  # noqa: F401


def compare_runs(
    runs: Sequence[RunView],
    baseline: RunView | None = None,
    *,
    measures: Sequence[str] = (),
    equivalence: float | None = None,
    draws: int = DRAWS,
) -> list[Comparison]:
    """Every pair of `runs`, or every other run against `baseline`, for each measure that all have (or for `measures`).

    Differences are treatment - baseline over the same queries, of a pair the later run minus the earlier; pairs come
    in the order of the runs, (1, 2), (1, 3), …, (2, 3), … Intervals and tests resample files. Ceilings are not tested:
    they are no result of a run, and each chunker's falls short of the best by an amount of its own. p is adjusted by
    Holm over all other comparisons returned, and the verdict follows from it alone: over all pairs it holds for a run
    that was picked by its scores too. `equivalence` is the margin within which two means count as equal, above 0 and
    below 1. Runs of different protocols, data or queries are a UsageError.
    """
    check_margin(equivalence)
    given = runs if baseline is None else [baseline, *runs]
    distinct = list({run.folder: run for run in given}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to compare: give at least two different runs")
    pairs = [
        (earlier, later) for earlier, later in combinations(range(len(distinct)), 2) if baseline is None or earlier == 0
    ]
    check_all_comparable((distinct[earlier], distinct[later]) for earlier, later in pairs)
    chosen = shared_measures(distinct, measures)
    if not chosen:
        raise UsageError("nothing to compare: the runs share no measure")
    names = run_names(distinct)
    scored = distinct[0].scores
    tables = [_table(run, scored.query_ids, chosen) for run in distinct]
    differences = np.column_stack([tables[later] - tables[earlier] for earlier, later in pairs])
    tested = [i for i in range(differences.shape[1]) if not chosen[i % len(chosen)].endswith(CEILING)]
    means = _resample_means(scored, differences, equivalence, draws, max(1, len(tested)))
    headline: Literal["micro", "macro"] = distinct[0].metrics.headline
    adjusted = _adjusted(means[headline].p, tested)
    equal = _adjusted(means[headline].equal, tested) if equivalence is not None else {}
    by_cluster = Sample.micro(differences, scored.clusters)
    tests, effects = beside(by_cluster), effect_sizes(differences)
    found = []
    for column in range(differences.shape[1]):
        which, measure = divmod(column, len(chosen))
        earlier, later = pairs[which]
        name = chosen[measure]
        pair = {
            over: each.of(column, distinct[earlier].metrics.over(over)[name], distinct[later].metrics.over(over)[name])
            for over, each in means.items()
        }
        moved = np.round(differences[:, column], 12)
        found.append(
            Comparison(
                measure=name,
                baseline=names[earlier],
                treatment=names[later],
                headline=headline,
                micro=pair["micro"],
                macro=pair["macro"],
                p_adjusted=adjusted.get(column),
                t_p=tests[column][0] if column in adjusted else None,
                wilcoxon_p=tests[column][1] if column in adjusted else None,
                effect_size=effects[column],
                wins=int((moved > 0).sum()),
                ties=int((moved == 0).sum()),
                losses=int((moved < 0).sum()),
                n_queries=len(moved),
                n_clusters=by_cluster.n_clusters,
                clustered_by=scored.clustered_by,
                family=len(tested),
                verdict=_verdict(pair[headline].difference, adjusted.get(column), equal.get(column), equivalence),
                margin=equivalence,
                equivalence_p_adjusted=equal.get(column),
            )
        )
    return found


def _adjusted(p: Sequence[float], tested: Sequence[int]) -> dict[int, float]:
    """Column -> its p, adjusted by Holm over the columns that are tested."""
    return dict(zip(tested, holm([p[column] for column in tested]), strict=True))


@dataclass(frozen=True, slots=True)
class _Resampled:
    """What resampling says of one mean, one entry per column of differences."""

    difference: list[float]
    ci: list[tuple[float, float] | None]
    ci_repositories: list[tuple[float, float] | None]
    p: list[float]
    mde: list[float | None]
    mde_family: list[float | None]
    equal: list[float]

    def of(self, column: int, baseline: float, treatment: float) -> MeanDifference:
        return MeanDifference(
            baseline=baseline,
            treatment=treatment,
            difference=self.difference[column],
            ci=self.ci[column],
            ci_repositories=self.ci_repositories[column],
            p=self.p[column],
            mde=self.mde[column],
            mde_family=self.mde_family[column],
            equivalence_p=self.equal[column] if self.equal else None,
        )


def _resample_means(
    scored: QueryScores, differences: NDArray[np.float64], margin: float | None, draws: int, n_tests: int
) -> dict[str, _Resampled]:
    """What resampling says of the mean over queries and of that over repositories."""
    micro = Sample.micro(differences, scored.clusters)
    by_repo = Sample.micro(differences, scored.repos)
    samples = {"micro": (micro, by_repo)}
    if by_repo.n_clusters > 1:
        # A repository counts once in the macro mean, so it is one observation: its own mean.
        each = Sample(by_repo.sums / by_repo.counts[:, None], np.ones(by_repo.n_clusters), by_repo.groups)
        samples["macro"] = (Sample.macro(differences, scored.clusters, scored.repos), each)

    # Every part begins with a generator of its own: leaving one out does not move another's draws.
    def rng() -> np.random.Generator:
        return np.random.default_rng(SEED)

    fine = [sample for sample, _ in samples.values()]
    # A drawn p is at least 1 / flips; adjusted for many tests it must still be able to pass.
    n_flips = max(draws, FLIPS_PER_TEST * n_tests)
    # A file that reaches over two repositories is two clusters of the macro mean: then signs cannot be shared.
    together = len({sample.n_clusters for sample in fine}) == 1
    flips = sign_flip_ps(fine, rng(), n_flips) if together else [sign_flip_p(each, rng(), n_flips) for each in fine]
    found = {
        over: _Resampled(
            difference=sample.mean().tolist(),
            ci=bca_intervals(sample, rng(), draws),
            ci_repositories=bca_intervals(coarse, rng(), draws),
            p=p.tolist(),
            mde=minimum_detectable(sample),
            mde_family=minimum_detectable(sample, tests=n_tests),
            equal=[] if margin is None else equivalence_p(sample, margin, rng(), n_flips).tolist(),
        )
        for (over, (sample, coarse)), p in progress(
            list(zip(samples.items(), flips, strict=True)), desc="resample files", unit="means"
        )
    }
    return found if "macro" in found else {**found, "macro": found["micro"]}  # of one repository both are one mean


def paired_differences(baseline: RunView, others: Sequence[RunView], measures: Sequence[str]) -> NDArray[np.float64]:
    """Other - baseline, float64 (n_queries, n_others x n_measures), the baseline's queries in its order."""
    ids = baseline.scores.query_ids
    base = baseline.scores.table(measures)
    return np.column_stack([_table(run, ids, measures) - base for run in others])


def _table(run: RunView, query_ids: tuple[str, ...], measures: Sequence[str]) -> NDArray[np.float64]:
    """The run's scores, float64 (n_queries, n_measures), its queries in the order given."""
    scored = run.scores
    if scored.query_ids != query_ids:
        place = {query_id: i for i, query_id in enumerate(scored.query_ids)}
        scored = scored.take([place[query_id] for query_id in query_ids])
    return scored.table(measures)


def _definition(run: RunView) -> dict[str, str]:
    """What of the benchmark's definition a run states beside its protocol's name: the pack, the choices.

    An imported run states none of it, and is held to its queries and its gold alone.
    """
    config = run.manifest.config
    if config is None:
        return {}
    return {"pack": config.pack, **{key: getattr(config.protocol, key) for key in CHOICES}}


def _reworded(ours: QueryScores, theirs: QueryScores) -> list[str]:
    """The queries whose text is not the same in both runs, where both have stored its hash."""
    known = dict(zip(ours.query_ids, ours.query_sha256, strict=True))
    return [
        query_id
        for query_id, digest in zip(theirs.query_ids, theirs.query_sha256, strict=True)
        if digest is not None and known.get(query_id) not in (None, digest)
    ]


def _identity(run: RunView) -> dict[str, Any]:
    config = run.manifest.config
    identity = {} if config is None else config.embedder_identity
    # The device moves no rounded score; model, weights and length do, and so does precision.
    return {key: value for key, value in identity.items() if key != "device"}


def _verdict(difference: float, p: float | None, equal: float | None, margin: float | None) -> str:
    if p is None:
        return "not tested"
    within = f"within {margin:g}" if equal is not None and equal < ALPHA else ""
    if p < ALPHA:
        word = "better" if difference > 0 else "worse"
        return f"{word}, but {within}" if within else word
    return f"equal {within}" if within else "no difference shown"
