"""Try the loss that `recommend` states, and its 95 % bound, on packages that are in no pack.

python scripts/try_bounds.py FOLDER [--priors FILE] [--make]

With --make the runs of PACKAGES that FOLDER lacks are made first, one package after the other. They are those of
`repoeval-bench recommend PACKAGE --retriever bm25 --tasks 300`, with the deciding measure alone. scripts/_priors.py
caches the scores of a package beside its runs.

The files of a package are halved at random. One half chooses a candidate and states its bound; the other half scores
it. The best candidate of one part of that half is scored on the other part, both ways, so that picking the best of
noisy scores does not raise the loss. The bound of the choice holds if the measured loss is not above it. A package
counts if the first half has 20 queries of a question, and each part of the second half ten of each.

"held" is one split of each package, with its exact interval (Clopper and Pearson). "with noise" compares the loss with
the 95th percentile of what is stated for the loss and the noise of the second half. The other columns are means over
SPLITS splits: the loss that is measured and stated, the bound, and the squared distance of the second half's means from
the scores, over what is stated. +- is two standard errors over packages.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _priors import CANDIDATES, CHUNKERS, read_questions
from scipy.special import betaincinv

from repoeval_bench.analysis.evidence import SIZES
from repoeval_bench.analysis.shrinkage import combine, decide, shrink, smoothed_covariance
from repoeval_bench.core.errors import BenchError
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.own.packs.pack import benchmark_of
from repoeval_bench.own.recommend.recommendation import Facts, read_reference_sets, sized, suitable
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from _priors import Repository
    from numpy.typing import NDArray

    from repoeval_bench.analysis.reference_sets import ReferenceSets
    from repoeval_bench.analysis.shrinkage import Prior
    from repoeval_bench.analysis.statistics import Sample

    FloatArray = NDArray[np.float64]

QUESTIONS = (("uses", "docstring"), ("uses",), ("docstring",))
NAMES = tuple(f"{name} at {size}" for name, size in CANDIDATES)
TASKS = 300
SPLITS = 20
DRAWS = 2_000
FEWEST, FEWEST_OF_LANGUAGE = 40, 10
"""Packages on which a bound must be shown, in all and of each language."""

PACKAGES = {
    "python": """
        wsgidav==4.4.0 werkzeug==3.1.9 fire==0.7.1 typer==0.27.3 mashumaro==3.23 pyasn1==0.6.5 icalendar==7.3.0
        humanize==4.16.0 sqlparse==0.6.0 responses==0.26.3 respx==0.23.1 h11==0.16.0 python-socketio==5.17.1
        formulaic==1.2.2 patsy==1.0.3 installer==1.1.0 freezegun==1.5.5 ftfy==6.3.1
    """,
    "typescript": """
        rxjs@7.8.2 @reduxjs/toolkit@2.13.0 immer@11.2.9 prosemirror-model@1.25.12 htmlparser2@12.0.0
        @grpc/grpc-js@1.14.7 @msgpack/msgpack@3.1.3 prosemirror-view@1.42.9 multiformats@14.0.5
        @noble/curves@2.4.0 @tanstack/table-core@9.3.1 @tiptap/core@3.32.2 dexie@4.4.7 mobx@7.1.3
        @math.gl/core@4.1.0 @microsoft/signalr@10.0.11 @trpc/server@11.22.1 css-select@7.0.0
    """,
    "javascript": """
        karma@6.4.4 css-tree@3.2.1 axios@1.21.0 @hapi/hapi@21.4.10 leaflet@1.9.4 restify@12.0.0 svgo@4.1.0
        knex@3.3.0 nunjucks@3.2.4 nodemailer@10.3.1 sinon@22.1.0 markdown-it@15.0.3 ramda@0.32.0 mysql2@3.24.6
        pino@10.4.0 handlebars@4.7.10 winston@3.19.0 express@5.3.0 underscore@1.13.8 pg@8.23.1 commonmark@0.31.2
        async@3.2.6 shelljs@0.10.0 less@4.9.1 mocha@12.0.3
    """,
}
"""Language -> packages of PyPI or npm, of middle size as far as known, written down before any score was seen.

Those of Python and TypeScript are in the recipes of `pypi-40` and `npm-12`, whose packs did not take them. Versions are
the newest of the day on which they were fetched first.
"""


@dataclass(frozen=True)
class Trial:
    """One split of a package: the loss on unseen files, what was stated of it, and whether that held."""

    loss: float
    expected: float
    bound: float
    bound_with_noise: float
    distance: float
    stated_distance: float


@dataclass(frozen=True)
class Tried:
    """A question of a language: the trials of each package, the first split of each first."""

    packages: tuple[tuple[Trial, ...], ...]

    def held(self, *, noise: bool = False) -> int:
        """Return on how many packages the bound held."""
        first = [trials[0] for trials in self.packages]
        return sum(trial.loss <= (trial.bound_with_noise if noise else trial.bound) + 1e-12 for trial in first)

    def interval(self, held: int) -> tuple[float, float]:
        """Return the exact 95 % interval of the share."""
        n = len(self.packages)
        low = 0.0 if held == 0 else float(betaincinv(held, n - held + 1, 0.025))
        return low, 1.0 if held == n else float(betaincinv(held + 1, n - held, 0.975))

    def mean(self, name: str) -> tuple[float, float]:
        """Return the mean of a field over packages, and two standard errors."""
        values = [np.mean([getattr(trial, name) for trial in trials]) for trials in self.packages]
        return float(np.mean(values)), float(2 * np.std(values, ddof=1) / len(values) ** 0.5)

    def ratio(self) -> tuple[float, float]:
        """Return the squared distance over what is stated, and two standard errors."""
        values = [np.mean([t.distance / t.stated_distance for t in trials]) for trials in self.packages]
        return float(np.mean(values)), float(2 * np.std(values, ddof=1) / len(values) ** 0.5)


def make_runs(folder: Path) -> None:
    """Make the runs of each package that the folder lacks; print a line on each that cannot be tried."""
    for language, sources in sources_of().items():
        for source in sources:
            out = folder_of(folder, source)
            if not out.with_name(out.name + ".npz").is_file():
                try:
                    print(f"{source}: {_make(source, language, out) or 'done'}", file=sys.stderr, flush=True)
                except (BenchError, ValueError) as error:  # a chunker with fewer than three sizes
                    print(f"{source}: {error}", file=sys.stderr, flush=True)


def _make(source: str, language: str, out: Path) -> str:
    """Make the runs of a package; return why it cannot be tried."""
    path = benchmark_of(source, out / "packs", TASKS)
    benchmark = load_benchmark(source=path)
    if (own := Facts.of(benchmark, {}).language) != language:
        return f"most of its code is {own}"
    by_size, _, _ = sized(benchmark, CHUNKERS, SIZES)
    requests = [
        RunRequest(
            source=path,
            protocol=protocol,
            retriever="bm25",
            chunker=candidate.spec,
            measures=(Protocol.parse(protocol).headline_measure,),
        )
        for protocol in suitable(benchmark, "both", [])
        for candidates in by_size
        for candidate in candidates
    ]
    runner = Runner(requests, out=out, benchmark=benchmark, sample=TASKS)
    for setting in runner.settings:
        runner.run(setting)
    read_questions(out)
    return ""


def sources_of() -> dict[str, list[str]]:
    """Return the packages of each language as sources."""
    return {
        language: [("pypi:" if "==" in package else "npm:") + package for package in packages.split()]
        for language, packages in PACKAGES.items()
    }


def folder_of(folder: Path, source: str) -> Path:
    """Return the folder of a package's runs."""
    return folder / re.sub("==|@", "-", source.partition(":")[2].lstrip("@").replace("/", "_"))


def try_packages(folder: Path, reference_sets: ReferenceSets) -> dict[tuple[str, tuple[str, ...]], Tried]:
    """Return the trials by language and questions, `all` for all languages, of the packages in the folder."""
    tried: defaultdict[tuple[str, tuple[str, ...]], list[tuple[Trial, ...]]] = defaultdict(list)
    for language, sources in sources_of().items():
        for source in sources:
            out = folder_of(folder, source)
            if not out.with_name(out.name + ".npz").is_file():
                continue
            by_protocol = {question.protocol: question.repositories[0] for question in read_questions(out)}
            for protocols in QUESTIONS:
                questions = {name: by_protocol[name] for name in protocols if name in by_protocol}
                trials = try_package(questions, language, reference_sets, np.random.default_rng(0))
                if trials:
                    tried[language, protocols].append(trials)
                    tried["all", protocols].append(trials)
    return {key: Tried(tuple(packages)) for key, packages in tried.items()}


def try_package(
    questions: Mapping[str, Repository], language: str, reference_sets: ReferenceSets, rng: np.random.Generator
) -> tuple[Trial, ...]:
    """Return the trials of a package, as many as can be tried of `SPLITS` splits."""
    priors = {
        name: replace(reference_sets.prior(language, name, "bm25", CANDIDATES), is_bounded=True) for name in questions
    }
    files = sorted({file for repository in questions.values() for file in repository.files.tolist()})
    trials = []
    for _ in range(SPLITS):
        order = [files[index] for index in rng.permutation(len(files))]
        if trial := _trial(questions, priors, order, rng):
            trials.append(trial)
    return tuple(trials)


def _trial(
    questions: Mapping[str, Repository], priors: Mapping[str, Prior], files: Sequence[str], rng: np.random.Generator
) -> Trial | None:
    """Return the result of one order of the files, None where a part has too few queries."""
    half, end = len(files) // 2, len(files)
    middle = (half + end) // 2
    seen = {
        name: part.sample
        for name, repository in questions.items()
        if len((part := repository.of_files(files[:half])).files) >= FEWEST_TASKS
    }
    parts = [
        [questions[name].of_files(files[start:stop]) for name in seen]
        for start, stop in ((half, middle), (middle, end))
    ]
    if not seen or any(len(part.files) < FEWEST_TASKS // 2 for of_half in parts for part in of_half):
        return None
    posterior = combine([(name, shrink(sample, priors[name], NAMES)) for name, sample in seen.items()])
    choice = decide(posterior, rng, DRAWS).choice
    index = NAMES.index(choice.name)
    assert choice.loss_95 is not None
    measured, noise = zip(*(_mean_of([one.sample for one in part], [*seen], priors) for part in parts), strict=True)
    truths = posterior.score + _draws(posterior.covariance, rng)
    drawn = [truths + _draws(covariance, rng) for covariance in noise]
    unseen = [questions[name].of_files(files[half:]).sample for name in seen]
    mean, error = _mean_of(unseen, [*seen], priors)
    return Trial(
        loss=float(cross_fitted(measured[0][None], measured[1][None], index)[0]),
        expected=choice.expected_loss,
        bound=choice.loss_95,
        bound_with_noise=float(np.quantile(cross_fitted(drawn[0], drawn[1], index), 0.95)),
        distance=float(((mean - posterior.score) ** 2).sum()),
        stated_distance=float(np.trace(posterior.covariance) + np.trace(error)),
    )


def cross_fitted(first: FloatArray, second: FloatArray, choice: int) -> FloatArray:
    """Return how much the best by one part's means, (n, k), scores above the choice on the other, mean of both ways."""
    rows = np.arange(len(first))
    lead = second[rows, first.argmax(axis=1)] - second[:, choice]
    return np.asarray((lead + first[rows, second.argmax(axis=1)] - first[:, choice]) / 2)


def _mean_of(
    samples: Sequence[Sample], names: Sequence[str], priors: Mapping[str, Prior]
) -> tuple[FloatArray, FloatArray]:
    """Return the mean over questions, and its covariance."""
    covariances = [smoothed_covariance(sample, priors[name].noise) for sample, name in zip(samples, names, strict=True)]
    mean = np.mean([sample.mean() for sample in samples], axis=0)
    return np.asarray(mean - mean.mean()), np.asarray(np.sum(covariances, axis=0) / len(samples) ** 2)


def _draws(covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return draws around 0, (DRAWS, k)."""
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, DRAWS, method="eigh")


def bounds_of(tried: Mapping[tuple[str, tuple[str, ...]], Tried]) -> list[dict[str, object]]:
    """Return the cases in which the bound was shown: on at least `FEWEST` packages in all, 95 % rejected nowhere."""
    shown = []
    for (language, protocols), of_case in tried.items():
        cases = [of_case, tried["all", protocols]]
        holds = all(case.interval(case.held())[1] >= 0.95 for case in cases)
        if (
            language != "all"
            and holds
            and len(cases[1].packages) >= FEWEST
            and len(of_case.packages) >= FEWEST_OF_LANGUAGE
        ):
            held, packages = of_case.held(), len(of_case.packages)
            shown.append(
                {"language": language, "protocols": protocols, "retriever": "bm25", "held": held, "packages": packages}
            )
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of runs for each package")
    parser.add_argument("--priors", type=Path, help="another priors.json")
    parser.add_argument("--make", action="store_true", help="make the runs that the folder lacks")
    options = parser.parse_args()
    if options.make:
        make_runs(options.folder)
    tried = try_packages(options.folder, read_reference_sets(options.priors))
    print("| language | questions | held | with noise | loss | stated | bound | distance |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for (language, protocols), case in tried.items():
        n, held, wide = len(case.packages), case.held(), case.held(noise=True)
        low, high = case.interval(held)
        loss, stated, bound = (
            f"{mean:.4f} +- {error:.4f}" for mean, error in map(case.mean, ("loss", "expected", "bound"))
        )
        ratio, error = case.ratio()
        print(
            f"| {language} | {' + '.join(protocols)} | {held} of {n} [{low:.2f}, {high:.2f}] | {wide} of {n} "
            f"| {loss} | {stated} | {bound} | {ratio:.2f} +- {error:.2f} |"
        )


if __name__ == "__main__":
    main()
