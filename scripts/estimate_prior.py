r"""Print data/priors.json: the scores that `recommend` expects of its candidates, and how far to trust them.

python scripts/estimate_prior.py FOLDER... > data/priors.json

A FOLDER has the runs of a pack, and the name of the pack, as made by this command:

repoeval-bench recommend PACK --retriever bm25 --protocol uses --protocol docstring --protocol body --tasks 2500 \
    --out FOLDER

(2000 for pypi-40, whose 51 questions a repository are enough.) The candidates' packages are those of the extra `all`. A
reference set is a pack. Its means are those of its repositories, each weighing 1 / (tau^2 + s^2). Each set and protocol
has its own tau: with it each repository is as far from the others of its set as expected. It is never below the tau of
all sets together, because few repositories can agree by chance. For other languages the means are those of all sets,
and tau is that of the set that is farthest from the others. If repositories differ by less than their noise, tau is
0.005, so that the scores of an unusual repository still count. Runs by the bundled model are those of
data/leaderboard/leaderboard.csv. The means are over all data sets there that have a candidate, null without one. There
tau^2 is BM25's plus the squared difference between two data sets.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
from _priors import (
    CANDIDATES,
    FloatArray,
    errors_of,
    estimated_means,
    pooled_noise,
    print_priors,
    read_questions,
    tau_around,
    tau_around_others,
)

from repoeval_bench.analysis.evidence import SIZES, known_name
from repoeval_bench.analysis.shrinkage import OTHER
from repoeval_bench.core.spec import Spec

LEADERBOARD = Path(__file__).resolve().parents[1] / "data" / "leaderboard" / "leaderboard.csv"
LANGUAGES = {
    "pypi-40": ("python",),
    "npm-12": ("typescript", "tsx"),
    "js-12": ("javascript",),
    "native-8": ("rust", "c", "cpp"),
}
PROTOCOLS = ("uses", "docstring", "body")

COMMANDS = (
    *(
        f"repoeval-bench recommend {pack} --retriever bm25 --protocol uses --protocol docstring --protocol body "
        f"--tasks {tasks} --out {pack}"
        for pack, tasks in (("pypi-40", 2000), ("npm-12", 2500), ("js-12", 2500), ("native-8", 2500))
    ),
    "python scripts/estimate_prior.py pypi-40 npm-12 js-12 native-8 > data/priors.json",
)


def dense_means(protocol: str) -> tuple[list[float | None], float]:
    """Return the candidates' means by the bundled model, None if not measured, and the deviation between data sets.

    A constant for each data set makes those comparable that have different candidates (least squares).
    """
    by_set: defaultdict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    with LEADERBOARD.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            name = known_name(row["chunker"])
            if (row["protocol"], Spec.parse(row["retriever"]).name) == (protocol, "dense"):
                size = min(SIZES, key=lambda nominal: abs(log(float(row["mean characters"]) / nominal)))
                by_set[row["dataset"]][name, size] = float(row["score"])
    sets = [{key: score for key, score in scores.items() if key in CANDIDATES} for scores in by_set.values()]
    measured = [key for key in CANDIDATES if any(key in scores for scores in sets)]
    cells = [(index, measured.index(key), score) for index, scores in enumerate(sets) for key, score in scores.items()]
    design = np.zeros((len(cells), len(sets) + len(measured)))
    for row_index, (index, candidate, _) in enumerate(cells):
        design[row_index, [index, len(sets) + candidate]] = 1
    means = np.linalg.lstsq(design, np.array([score for *_, score in cells]), rcond=None)[0][len(sets) :]
    by_candidate = dict(zip(measured, rounded(means - means.mean()), strict=True))
    variances = []
    for first, second in combinations(sets, 2):
        differences = np.array([first[key] - second[key] for key in first if key in second])
        variances += [differences.var(ddof=1)] * len(differences)
    return [by_candidate.get(key) for key in CANDIDATES], float(np.sqrt(np.mean(variances)))


def rounded(values: FloatArray) -> list[float]:
    """Round values to the digits that are stored."""
    return [round(float(value), 5) for value in values]


def main() -> None:
    """Print the priors as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="runs of a pack each")
    options = parser.parse_args()
    packs = {folder.name: read_questions(folder) for folder in options.folders}
    noise: dict[str, FloatArray] = {}
    questions: defaultdict[str, list[Mapping[str, object]]] = defaultdict(list)

    def add(reference_set: str, protocol: str, retriever: str, tau: float, means: Sequence[float | None]) -> None:
        results = {"protocol": protocol, "retriever": retriever, "tau": round(tau, 4), "means": means}
        questions[reference_set].append(results)

    for protocol in PROTOCOLS:
        samples = {name: pack[protocol] for name, pack in packs.items()}
        noise[protocol] = pooled_noise([sample for of_pack in samples.values() for sample in of_pack])
        own = {name: errors_of(of_pack, noise[protocol]) for name, of_pack in samples.items()}
        least = tau_around_others([*own.values()])
        taus = {name: max(least, tau_around_others([of_pack])) for name, of_pack in own.items()}
        within = {**taus, OTHER: max(taus.values())}
        means = {name: estimated_means(of_pack, noise[protocol], taus[name]) for name, of_pack in samples.items()}
        taus[OTHER] = max(
            tau_around(*own[name], np.mean([mean for other, mean in means.items() if other != name], axis=0))
            for name in own
        )
        means[OTHER] = np.mean([*means.values()], axis=0)
        for name, tau in taus.items():
            add(name, protocol, "bm25", tau, rounded(means[name]))
        dense, spread = dense_means(protocol)
        for name, tau in within.items():
            add(name, protocol, "dense", float(np.hypot(tau, spread)), dense)
    reference_sets = [
        {
            "name": name,
            "languages": LANGUAGES.get(name, ()),
            "repositories": sum(len(pack[PROTOCOLS[0]]) for other, pack in packs.items() if name in (other, OTHER)),
            "questions": results,
        }
        for name, results in questions.items()
    ]
    triangles = {
        name: [rounded(row[: index + 1]) for index, row in enumerate(matrix)] for name, matrix in noise.items()
    }
    print_priors({"commands": COMMANDS, "candidates": CANDIDATES, "noise": triangles, "sets": reference_sets})


if __name__ == "__main__":
    main()
