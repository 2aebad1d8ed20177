"""Runs that may be compared: their differences, the measures they share, and their names."""

from collections.abc import Iterable, Sequence
from typing import Any

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import few
from repoeval_bench.metrics import CEILING, Measure, lower_is_better
from repoeval_bench.metrics.measure import COVERAGE
from repoeval_bench.protocols.protocol import CHOICES
from repoeval_bench.runs.query_scores import QueryScores, disagreement
from repoeval_bench.runs.view import RunView

PARTS = ("chunker", "embedder", "retriever", "completion")
"""The parts that two compared runs may differ in."""

# Fields of a stored request that two compared runs may differ in. Any other field, a new one too, is compared.
_MAY_DIFFER = frozenset(
    {
        *PARTS,
        # Another measure changes no score, and files on which a chunker fails are counted.
        *("measures", "skip_errors"),
        # Compared below in other words, or of a part.
        *("dataset", "fingerprint", "choices", "embedder_identity", "retriever_identity"),
    }
)

# Names that an error lists.
_SHOWN = 5


def run_names(runs: Sequence[RunView]) -> list[str]:
    """A name for each run: its label, else what differs (chunker, embedder, retriever), else its id or folder."""
    differing = [part for part in PARTS if len({getattr(run.metrics, part) for run in runs}) > 1]
    names = [
        run.label or " · ".join(getattr(run.metrics, part) or f"no {part}" for part in differing or PARTS[:1])
        for run in runs
    ]
    if len(set(names)) < len(runs):
        names = [run.label or run.run_id for run in runs]
    return names if len(set(names)) == len(runs) else [str(run.folder) for run in runs]


def shared_measures(runs: Sequence[RunView], names: str | Sequence[str] = ()) -> list[str]:
    """The measures that all runs share, in the first run's order; if `names` are given, only these.

    A requested measure that is not shared is a UsageError.
    """
    shared = [name for name in runs[0].metrics.micro if all(name in run.metrics.micro for run in runs[1:])]
    given = [names] if isinstance(names, str) else names
    names = [name if name in shared else str(Measure.parse(name)) for name in given]
    if missing := [typed for typed, name in zip(given, names, strict=True) if name not in shared]:
        theirs = f"one that they share ({few(shared, _SHOWN)})" if shared else "other runs"
        again = " ".join(f"-m {name}" for name in missing)
        raise UsageError(
            f"{', '.join(missing)} was not scored in all of these runs; name {theirs}, or make them again with {again}"
        )
    return [name for name in shared if not names or name in names]


def headline_measure(runs: Sequence[RunView], measures: Sequence[str] = ()) -> str:
    """The protocol's headline measure, if it is among `measures`, by default all that the runs share.

    For runs without it, the first one that is tested and by which some run scores, else the first. A UsageError where
    they share none.
    """
    measures = measures or shared_measures(runs)
    named = runs[0].metrics.headline_measure
    if named is not None and named in measures:
        return named
    if not measures:
        raise UsageError("these runs share no measure; score them by the same ones, or look at them one by one")
    scoring = (
        measure
        for measure in measures
        if is_tested(measure) and not scores_nothing(measure, [run.metrics.headline_means[measure] for run in runs])
    )
    return next(scoring, measures[0])


def is_tested(measure: str) -> bool:
    """Return whether a measure says how well a run ranks: neither a ceiling nor a share of judged chunks does."""
    return not measure.endswith(CEILING) and measure not in COVERAGE


def scores_nothing(measure: str, means: Sequence[float]) -> bool:
    """Return whether no run of these means found anything: each is 0, and more would be better."""
    return not lower_is_better(measure) and not any(means)


def check_comparable(pairs: Iterable[tuple[RunView, RunView]]) -> None:
    """Raise a UsageError that lists every difference, unless both runs of each pair answer one question.

    That is the same protocol, data, queries and depth.
    """
    # The later run of a pair is reported once, beside the first run that it differs from.
    unlike: dict[object, list[str]] = {}
    for baseline, run in pairs:
        if unlike.keys().isdisjoint({baseline.folder, run.folder}) and (phrases := _differences(baseline, run)):
            unlike[run.folder] = [f"{baseline.run_id} and {run.run_id}: {phrase}" for phrase in phrases]
    if not unlike:
        return
    way_out = (
        "name runs with the same protocol, options and data: repoeval-bench runs lists them, with the protocol in "
        "each id"
    )
    lines = [line for of_run in unlike.values() for line in of_run]
    if len(lines) == 1:
        raise UsageError(f"these runs cannot be compared, {lines[0]}; {way_out}")
    raise UsageError("\n  ".join([f"these runs cannot be compared; {way_out}:", *lines]))


def _differences(baseline: RunView, run: RunView) -> list[str]:
    """Return the reasons why two runs cannot be compared, as phrases."""
    ours, theirs = _question(baseline), _question(run)
    phrases = [f"{key} {value} against {theirs[key]}" for key, value in ours.items() if theirs.get(key, value) != value]
    a, b = baseline.metrics, run.metrics
    if a.protocol != b.protocol:  # the data, the queries and all else that differs follow from it
        return [f"protocol {a.protocol} against {b.protocol}"]
    if a.dataset.fingerprint != b.dataset.fingerprint:
        phrases.append(f"data {a.dataset.label} against {b.dataset.label}")
    first, second = _identity(baseline), _identity(run)
    unlike_keys = [key for key in first if key in second and first[key] != second[key]]
    # Two embedders may be compared, but not by vectors of two precisions.
    if keys := unlike_keys if a.embedder == b.embedder else [key for key in unlike_keys if key == "precision"]:
        phrases.append(f"the embedder's {', '.join(keys)}")
    if unlike := disagreement(baseline.scores, run.scores):
        phrases.append(unlike)
    return [*phrases, *_other_queries(baseline, run)]


def _question(run: RunView) -> dict[str, object]:
    """Return what a run states of its question: protocol, depth, and every field of its request that may not differ."""
    config = run.manifest.config
    stated: dict[str, object] = {}
    # An imported run states no request, and is held to its queries and its gold alone.
    if config is not None:
        stated = {name: getattr(config, name) for name in type(config).model_fields if name not in _MAY_DIFFER}
        stated |= {choice: getattr(config.choices, choice) for choice in CHOICES}
    return stated | {"protocol": run.metrics.protocol, "k": run.metrics.k}


def _identity(run: RunView) -> dict[str, Any]:
    config = run.manifest.config
    identity = {} if config is None else config.embedder_identity
    # The device moves no rounded score; model, weights, length and precision do.
    return {key: value for key, value in identity.items() if key != "device"}


def _other_queries(baseline: RunView, run: RunView) -> list[str]:
    """Return which queries only one of two runs has, and how many differ in their text."""
    ours, theirs = set(baseline.scores.query_ids), set(run.scores.query_ids)
    phrases = [
        f"{len(only)} {'query' if len(only) == 1 else 'queries'} only in {name} (such as {min(only)})"
        for only, name in ((ours - theirs, baseline.run_id), (theirs - ours, run.run_id))
        if only
    ]
    if reworded := _reworded(baseline.scores, run.scores):
        phrases.append(f"another text of {len(reworded)} of {len(ours & theirs)} queries (such as {min(reworded)})")
    return phrases


def _reworded(ours: QueryScores, theirs: QueryScores) -> list[str]:
    """The queries whose text is not the same in both runs, where both have stored its hash."""
    known = dict(zip(ours.query_ids, ours.query_sha256, strict=True))
    return [
        query_id
        for query_id, digest in zip(theirs.query_ids, theirs.query_sha256, strict=True)
        if digest is not None and known.get(query_id) not in (None, digest)
    ]
