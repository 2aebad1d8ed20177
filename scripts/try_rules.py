"""Rules that choose a chunker, tried on files that they did not see, and on truths that are known.

python scripts/try_rules.py FOLDER [--samples N]

FOLDER has the runs of a pack: see scripts/estimate_prior.py. Each repository in turn is the new one: the prior, tau and
the noise come from the others. scripts/try_bounds.py tries the printed bound on packages that are in no pack.

Held-out files: a repository's files are halved at random. A rule sees n files of one half, and its choice is scored on
the other half. "gain" is that score less the score of the prior's best, with its 95 % interval over repositories.

Known truth: a repository's true scores are drawn from its posterior given all its files. Around that truth n files are
drawn from its own, with replacement. "loss" is the best true score less that of the choice. Printed too: how often the
loss stays below its stated 95th percentile, and how often the choice is best, by its stated probability of being best.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _priors import CANDIDATES, estimate, pooled_noise, read_questions
from scipy.special import stdtrit

from repoeval_bench.analysis.robust_errors import robust_covariance
from repoeval_bench.analysis.shrinkage import Posterior, Prior, decide, shrink, smoothed_covariance
from repoeval_bench.analysis.sign_flips import ALPHA, flip_signs
from repoeval_bench.analysis.statistics import Sample, holm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from _priors import Question
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

FILES = (5, 20, 60, 200)
FEWEST = 10
"""The fewest files of a repository that is tried: with fewer there is no half to hold out."""
NAMES = tuple(f"{name} at {size}" for name, size in CANDIDATES)
DRAWS = 2_000
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def prior_best(_sample: Sample, prior: Prior, _tokens: Sequence[float]) -> int:
    """Choose the candidate with the highest mean on other repositories."""
    return int(prior.mean.argmax())


def highest_mean(sample: Sample, _prior: Prior, _tokens: Sequence[float]) -> int:
    """Choose the candidate with the highest own mean."""
    return int(sample.mean().argmax())


def cheapest_not_significant(sample: Sample, prior: Prior, tokens: Sequence[float]) -> int:
    """Choose the cheapest that does not differ significantly from the highest own mean (sign flips, Holm)."""
    best = highest_mean(sample, prior, tokens)
    others = [i for i in range(len(tokens)) if i != best]
    leads = Sample(sample.sums[:, [best]] - sample.sums[:, others], sample.counts, sample.groups)
    flipped = flip_signs(*leads.parts(), np.random.default_rng(0), flips=2_000, intervals=False)
    close = [i for i, p in zip(others, holm(flipped.p.tolist()), strict=True) if p >= ALPHA]
    return min([best, *close], key=lambda i: tokens[i])


def shrunk(sample: Sample, prior: Prior, _tokens: Sequence[float]) -> int:
    """Choose the highest of the means that are shrunk towards the prior."""
    return int(shrink(sample, prior, NAMES).score.argmax())


def cheap_shrunk(sample: Sample, prior: Prior, tokens: Sequence[float]) -> int:
    """Choose the cheapest within 0.005 of the highest shrunk mean."""
    score = shrink(sample, prior, NAMES).score
    return min(np.flatnonzero(score >= score.max() - 0.005).tolist(), key=lambda i: tokens[i])


def own_covariance(sample: Sample, prior: Prior, tokens: Sequence[float]) -> int:
    """Choose by shrunk means with the covariance of the own files alone, times n / (n - 2) below 20, and tau = 0.03."""
    n = sample.n_clusters
    error = np.trace(robust_covariance(sample)) / (len(tokens) - 1) * (n / (n - 2) if n < 20 else 1)
    weight = 0.03**2 / (0.03**2 + error)
    return int((prior.mean + weight * (sample.mean() - prior.mean)).argmax())


RULES: dict[str, Callable[[Sample, Prior, Sequence[float]], int]] = {
    "best of the prior": prior_best,
    "highest own mean": highest_mean,
    "cheapest not significantly different": cheapest_not_significant,
    "shrunk to the prior": shrunk,
    "shrunk, own covariance, tau .03": own_covariance,
    "cheapest within .005 of shrunk": cheap_shrunk,
}


def prior_without(question: Question, left_out: str) -> Prior:
    """Return the prior from the other repositories of a question."""
    others = [repository.sample for repository in question.repositories if repository.name != left_out]
    result = estimate(others, pooled_noise(others))
    tau = np.full(len(NAMES), result.tau)
    return Prior(mean=result.means, deviation=tau, noise=result.noise, is_bounded=True)


def of_files(sample: Sample, index: NDArray[np.int64]) -> Sample:
    """Return the sample of these files, which may repeat."""
    return Sample(sample.sums[index], sample.counts[index], sample.groups[index])


def interval(by_repository: Sequence[float]) -> str:
    """Return the mean over repositories with its interval, as `+0.012 [+0.008, +0.016]`."""
    values = np.array(by_repository)
    half = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():+.4f} [{values.mean() - half:+.4f}, {values.mean() + half:+.4f}]"


def held_out(question: Question, priors: dict[str, Prior], samples: int, rng: np.random.Generator) -> None:
    """Print the gain of each rule over the prior's best, on files that it did not see."""
    gains: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    distances: list[float] = []
    for repository in question.repositories:
        sample, prior = repository.sample, priors[repository.name]
        if sample.n_clusters < FEWEST:
            continue
        half = sample.n_clusters // 2
        sizes = [n for n in FILES if n <= half]
        result: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        for _ in range(samples):
            order = rng.permutation(sample.n_clusters)
            unseen = of_files(sample, order[half:])
            truth = unseen.mean()
            for n in sizes:
                seen = of_files(sample, order[:n])
                base = truth[prior_best(seen, prior, question.sizes)]
                for name, rule in RULES.items():
                    result[name, n].append(float(truth[rule(seen, prior, question.sizes)] - base))
            posterior = shrink(of_files(sample, order[:half]), prior, NAMES)
            distances.append(distance(posterior, unseen, prior))
        for key, values in result.items():
            gains[key].append(float(np.mean(values)))
    print(f"\n{question.protocol} by {question.retriever}, held-out files: gain over the prior's best")
    for n in FILES:
        if (n_repositories := len(gains["shrunk to the prior", n])) > 2:
            print(f"  {n} files, {n_repositories} repositories")
            for name in RULES:
                print(f"    {name:38} {interval(gains[name, n])}")
    print(f"  squared distance of the held-out means from the scores, over what is stated: {np.mean(distances):.2f}")


def distance(posterior: Posterior, unseen: Sample, prior: Prior) -> float:
    """Return the squared distance of held-out means from the scores over its stated expectation: 1 if that is right."""
    stated = np.trace(posterior.covariance) + np.trace(smoothed_covariance(unseen, prior.noise))
    return float(((unseen.mean() - posterior.score) ** 2).sum() / stated)


def known_truth(question: Question, priors: dict[str, Prior], samples: int, rng: np.random.Generator) -> None:
    """Print the loss of each rule under known truths, beside its stated loss."""
    losses: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    stated: defaultdict[int, list[tuple[float, float, float, float, bool]]] = defaultdict(list)
    for repository in question.repositories:
        sample, prior = repository.sample, priors[repository.name]
        if sample.n_clusters < FEWEST:
            continue
        whole = shrink(sample, prior, NAMES)
        around = Sample(sample.sums - sample.counts[:, None] * sample.mean(), sample.counts, sample.groups)
        result: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        for n in FILES:
            for _ in range(samples):
                truth = rng.multivariate_normal(whole.score, whole.covariance, method="eigh")
                drawn = of_files(around, rng.integers(0, sample.n_clusters, n))
                seen = Sample(drawn.sums + drawn.counts[:, None] * truth, drawn.counts, drawn.groups)
                for name, rule in RULES.items():
                    result[name, n].append(float(truth.max() - truth[rule(seen, prior, question.sizes)]))
                choice = decide(shrink(seen, prior, NAMES), rng, DRAWS).choice
                loss = float(truth.max() - truth[NAMES.index(choice.name)])
                assert choice.loss_95 is not None
                stated[n].append((loss, choice.expected_loss, choice.loss_95, choice.probability, loss == 0))
        for key, values in result.items():
            losses[key].append(float(np.mean(values)))
    n_repositories = len(losses["shrunk to the prior", FILES[0]])
    print(f"\n{question.protocol} by {question.retriever}, known truth: mean loss, {n_repositories} repositories")
    print(f"    {'files':38} " + " ".join(f"{n:>7}" for n in FILES))
    for name in RULES:
        print(f"    {name:38} " + " ".join(f"{np.mean(losses[name, n]):7.4f}" for n in FILES))
    rows = {n: np.array(stated[n]) for n in FILES}
    expected = [rows[n][:, 1].mean() for n in FILES]
    below = [(rows[n][:, 0] <= rows[n][:, 2] + 1e-12).mean() for n in FILES]
    print(f"    {'stated expected loss':38} " + " ".join(f"{loss:7.4f}" for loss in expected))
    print(f"    {'loss below the stated 95th percentile':38} " + " ".join(f"{share:7.3f}" for share in below))
    print("  stated probability of being best: how often it was the best")
    choices = np.concatenate(list(rows.values()))
    for low, high in pairwise(BINS):
        index = (choices[:, 3] >= low) & (choices[:, 3] < high + (high == 1))
        if index.sum() >= 30:
            print(f"    {choices[index, 3].mean():.2f}: {choices[index, 4].mean():.2f} of {index.sum():,}")


def main() -> None:
    """Print the tables of every question in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="runs of a pack")
    parser.add_argument("--samples", type=int, default=20, help="of each repository and number of files")
    options = parser.parse_args()
    for question in read_questions(options.folder):
        rng = np.random.default_rng(0)
        priors = {repository.name: prior_without(question, repository.name) for repository in question.repositories}
        held_out(question, priors, options.samples, rng)
        known_truth(question, priors, options.samples, rng)


if __name__ == "__main__":
    main()
