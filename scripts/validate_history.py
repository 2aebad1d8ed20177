r"""Measure how well a choice by a repository's own commits holds on its later commits.

python scripts/validate_history.py measure CLONE... --out FOLDER [--retriever NAME] [--chunkers SPEC...]
python scripts/validate_history.py report FOLDER
python scripts/validate_history.py prior FOLDER... > data/priors.json

`measure` reads each clone, asks the questions of its windows under protocol `commits`, and stores the score of every
candidate on every question, for each gold, by one retriever (BM25), with what the last edits embed again. Candidates
are those of `recommend` and the defaults of other tools, and by BM25 `docstring` is asked too, of the newest tree older
than the newest window. With `--chunkers` these alone are measured, at three sizes. A clone that was measured is not
measured again, so the same line goes on where it was stopped.

`report` chooses on the older windows of each clone and scores the choice on the next one, each on its own tree. What a
rule estimates (means and spread of other repositories, constants) leaves out the repository that is scored. A
repository counts once: the mean over its later windows, weighed by their questions. Intervals are Student's over
repositories. The loss is cross-fitted: the best candidate of one half of the later files is scored on the other half.

`prior` prints data/priors.json with the rows of protocol `commits` from all clones of each folder, by its retriever.
Those of other retrievers stay. Where a row lacks candidates, one with a header has the mean of the same chunks without
it, and the header's mean lead in data/leaderboard/history-scores.csv.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from _priors import GOLDS, HEADER, LEAST_TAU, Estimate, FloatArray, errors_of, print_priors, read_measured, tau_around
from history_board import lead
from history_board import read as read_board
from numpy.typing import NDArray

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.evidence import SIZES, SizedChunker
from repoeval_bench.analysis.shrinkage import Prior, decide, shrink
from repoeval_bench.analysis.sign_flips import flip_signs
from repoeval_bench.analysis.statistics import Sample
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import BenchError
from repoeval_bench.dataset.assembly import with_tests
from repoeval_bench.own.history.benchmark import benchmark_of
from repoeval_bench.own.history.changes import edits_of
from repoeval_bench.own.history.questions import CommitOptions, commit_questions
from repoeval_bench.own.history.repository import history_of
from repoeval_bench.own.recommend.beside import new_chunks
from repoeval_bench.own.recommend.recommendation import about
from repoeval_bench.own.recommend.request import RecommendRequest
from repoeval_bench.own.recommend.sizes import sized
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner

RULE, CONSTANT, DEFAULT = "recommend's rule", "best constant of the others", "ast at 1,000"

FEWEST_OLDER, FEWEST_NEWER = 30, 15
"""Questions that choose, and that score, at least."""

PRIORS = Path(__file__).resolve().parents[1] / "data" / "priors.json"
SEED = 0
SPLITS = 20
"""Random halves of the later files by which a loss is cross-fitted."""

SINCE = "2012-01-01"
"""The date from which commits ask: `recommend` looks back less far, and has fewer windows to compare."""

EDITS = 40
"""The last edits of a history whose files are cut before and after."""

TRIED = RecommendRequest.model_fields["chunkers"].default
"""The candidates of `recommend`."""

TOOLS = ("semble:chunk_size=750", "ck:chunk_size=1800", "grepai:chunk_size=2048", "continue:max_nws=1500")
"""Chunkers of other people's search tools, as these ship."""

HEADERS = ("ast:header=path", "ast:header=scope", "fixed:header=stem", "recursive:header=stem", "langchain:header=stem")
"""Headers that `recommend` does not try."""


def measure(clone: Path, out: Path, retriever: str, chunkers: Sequence[str]) -> None:
    """Store the scores of all candidates on the questions of one clone's history, which leaves out its tests."""
    started = monotonic()
    name = clone.parent.name if clone.name in ("repo", ".git") else clone.name
    target = out / f"{name}.npz"
    if target.exists():
        return
    with history_of(clone) as history:
        questions = commit_questions(history, CommitOptions(since=SINCE))
        benchmark = with_tests(benchmark_of(history, questions, name), "out")
        edits, head = edits_of(history, EDITS), history.head
    by_size, skipped, _ = sized(benchmark, chunkers or (*TRIED, *TOOLS, *HEADERS), SIZES)
    for line in skipped:
        print(f"  {line}", file=sys.stderr)
    candidates = [one for of_size in by_size for one in of_size]
    facts: dict[str, Any] = {
        "name": name,
        "head": head,
        "retriever": retriever,
        "language": next(iter(about(benchmark, {}).languages)),
        "windows": [[window.name, window.base.id, window.base.day, len(window.tasks)] for window in questions.windows],
        "seen": questions.seen,
    }
    arrays: dict[str, Any] = {}
    with TemporaryDirectory() as runs:
        setting = RunRequest(protocol="commits", retriever=retriever, allow_sparse_qrels=True)
        golds = [setting, *(setting.model_copy(update={"gold": gold}) for gold in GOLDS[1:])]
        labels, tables, columns = _scores(benchmark, golds, candidates, Path(runs))
        arrays |= dict(zip(GOLDS, tables, strict=True)) | {name: np.array(values) for name, values in columns.items()}
        facts["labels"] = labels
        priced = [one for one in candidates if edits and not chunkers and one.name not in HEADERS]
        costs = new_chunks([one.spec for one in priced], edits) if priced else []
        new = {
            one.label: [round(cost.share, 4), round(cost.nws, 1)]
            for one, cost in zip(priced, costs, strict=True)
            if cost
        }
        facts["edited"] = [new.get(label) for label in labels]
        older = questions.windows[min(1, len(questions.windows) - 1)].name
        tasks = tuple(task for task in benchmark.tasks if task.repo == older)
        tree = replace(benchmark, files={older: benchmark.files[older]}, tasks=tasks)
        if retriever == "bm25" and not chunkers:
            try:
                request = RunRequest(protocol="docstring", retriever=retriever)
                # Under docstrings a header finds no more (docs/chunkers.md).
                of_size = [one for one in candidates if one.size and ":" not in one.name]
                labels, (arrays["docstring"],), _ = _scores(tree, [request], of_size, Path(runs), sample=300)
                facts["docstring_labels"] = labels
            except BenchError as error:
                print(f"  docstring: {error}", file=sys.stderr)
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez_compressed(target.with_suffix(".part.npz"), **arrays)
    target.with_suffix(".part.npz").rename(target)
    seconds = monotonic() - started
    print(f"{name}: {len(arrays['id'])} queries, {len(facts['labels'])} candidates, {seconds:.1f} s", flush=True)


def _scores(
    benchmark: Benchmark,
    settings: Sequence[RunRequest],
    candidates: Sequence[SizedChunker],
    runs: Path,
    sample: int | None = None,
) -> tuple[list[str], list[Any], dict[str, list[str]]]:
    """Return the labels of what ran, float64 (n_questions, n_candidates) of each setting, and columns of questions."""
    requests = [setting.model_copy(update={"chunker": one.spec}) for setting in settings for one in candidates]
    runner = Runner(requests, out=runs, benchmark=benchmark, sample=sample)
    of_settings = [list(runner.runs_of(setting, reuse=True)) for setting in runner.settings]
    ran = [one for one in range(len(candidates)) if all(of_setting[one] for of_setting in of_settings)]
    for one in set(range(len(candidates))).difference(ran):
        why = runner.failed_of(runner.settings[0]).get(candidates[one].spec) or runner.skipped
        print(f"  {candidates[one].label}: {why}", file=sys.stderr)
    scores = of_settings[0][ran[0]].scores
    columns = {
        "id": list(scores.query_ids),
        "window": list(scores.repos),
        "cluster": [str(cluster) for cluster in scores.clusters],
    }
    tables = [
        np.column_stack([of_setting[one].scores.values[headline_measure([of_setting[one]])] for one in ran])
        for of_setting in of_settings
    ]
    return [candidates[one].label for one in ran], tables, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The scores of a clone's candidates: gold -> float64 (n_questions, n_candidates).

    `window` numbers each question's window from 0, the oldest; `cluster` is its file. `docstring` are the candidates'
    means under `docstring`, None without.
    """

    name: str
    language: str
    retriever: str
    labels: tuple[str, ...]
    tables: Mapping[str, FloatArray]
    window: NDArray[np.int64]
    cluster: NDArray[np.str_]
    docstring: FloatArray | None

    def splits(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Yield the older questions and those of the next window, each as a mask, where both are enough."""
        for later in range(1, int(self.window.max()) + 1):
            older, newer = self.window < later, self.window == later
            if older.sum() >= FEWEST_OLDER and newer.sum() >= FEWEST_NEWER:
                yield older, newer


def read(folder: Path, needed: Collection[str] = ()) -> list[History]:
    """Read the measured clones that have all `needed` candidates, with the candidates that all of these have."""
    clones = [(arrays, facts) for arrays, facts in read_measured(folder) if {*needed} <= {*facts["labels"]}]
    labels = [facts["labels"] for _, facts in clones]
    everywhere = set.intersection(*map(set, labels))
    common = [label for label in labels[0] if label in everywhere and label.partition(" at ")[0] in TRIED]
    histories = []
    for arrays, fact in clones:
        columns = [fact["labels"].index(label) for label in common]
        names = [name for name, *_ in sorted(fact["windows"], key=lambda window: window[2])]
        by_docstring = fact.get("docstring_labels", [])
        docstring = [
            arrays["docstring"][:, by_docstring.index(one)].mean() if one in by_docstring else -1.0 for one in common
        ]
        histories.append(
            History(
                name=fact["name"].replace("+", "/"),
                language=fact["language"],
                retriever=fact["retriever"],
                labels=tuple(common),
                tables={gold: arrays[gold][:, columns] for gold in GOLDS},
                window=np.array([names.index(name) for name in arrays["window"]]),
                cluster=arrays["cluster"],
                docstring=np.array(docstring) if by_docstring else None,
            )
        )
    return histories


def prior_of(others: Sequence[History], gold: str) -> Prior:
    """The prior of candidates from other repositories: their mean, and how far one is from it without its noise."""
    noise = np.mean([np.cov(_centred(one.tables[gold]).T) for one in others], axis=0)
    samples = [Sample.micro(_centred(one.tables[gold]), one.cluster.tolist()) for one in others]
    own, errors = errors_of(samples, noise)
    tau = tau_around(own, errors, own.mean(axis=0))
    return Prior(mean=own.mean(axis=0), deviation=np.full(len(noise), max(tau, LEAST_TAU)), noise=noise)


def _centred(table: FloatArray) -> FloatArray:
    return np.asarray(table - table.mean(axis=1, keepdims=True), dtype=np.float64)


def choices(history: History, histories: Sequence[History], gold: str, older: NDArray[np.bool_]) -> dict[str, int]:
    """The candidate that each rule chooses by the older questions, with a prior of the other histories."""
    table, labels = history.tables[gold][older], history.labels
    prior = prior_of([one for one in histories if one is not history], gold)
    posterior = shrink(Sample.micro(table, history.cluster[older].tolist()), prior, labels)
    chosen = {
        RULE: labels.index(decide(posterior, np.random.default_rng(SEED), 2000).choice.name),
        "own mean": int(table.mean(axis=0).argmax()),
        CONSTANT: int(prior.mean.argmax()),
        DEFAULT: labels.index("ast at 1,000"),
    }
    if history.docstring is not None:
        chosen["choice by docstrings"] = int(history.docstring.argmax())
    return chosen | {label: at for at, label in enumerate(labels) if " at " not in label}


def loss(table: FloatArray, clusters: NDArray[np.str_], chosen: int, rng: np.random.Generator) -> float:
    """How much more the best candidate scores: it is found on half of the files and scored on the other."""
    names = np.unique(clusters)
    leads = []
    for _ in range(SPLITS):
        first = np.isin(clusters, rng.permutation(names)[: len(names) // 2])
        for half in (first, ~first):
            if 0 < half.sum() < len(half):
                best = int(table[half].mean(axis=0).argmax())
                leads.append(table[~half][:, best].mean() - table[~half][:, chosen].mean())
    return float(np.mean(leads)) if leads else 0.0


def later_scores(histories: Sequence[History], gold: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Return rule -> repository -> (score, loss) on later windows."""
    rng = np.random.default_rng(SEED)
    scores: dict[str, dict[str, tuple[float, float]]] = {}
    for history in histories:
        rows: dict[str, list[tuple[int, float, float]]] = {}
        for older, newer in history.splits():
            table, clusters = history.tables[gold][newer], history.cluster[newer]
            for rule, chosen in choices(history, histories, gold, older).items():
                lost = loss(table, clusters, chosen, rng)
                rows.setdefault(rule, []).append((len(table), float(table[:, chosen].mean()), lost))
        for rule, of_rule in rows.items():
            weights, *columns = zip(*of_rule, strict=True)
            score, lost = (float(np.average(column, weights=weights)) for column in columns)
            scores.setdefault(rule, {})[history.name] = (score, lost)
    return scores


def report(histories: Sequence[History]) -> None:
    """Print every table."""
    split = [one for one in histories if any(True for _ in one.splits())]
    for one in histories:
        print(f"{one.name:28} {one.language:12} {len(one.window):5} queries, {int(one.window.max()) + 1} windows")
    languages = {one.language for one in split}
    print(f"\n{len(split)} repositories in {len(languages)} languages have an older and a later window")
    for gold in GOLDS:
        scores = later_scores(histories, gold)
        print(f"\ntarget {gold}: later windows, in points")
        print(f"{'rule':44} {'score':>6}  {'minus the default':24} {'minus the constant':24} loss")
        for rule, of_rule in scores.items():
            own, lost = np.array([*of_rule.values()]).T
            against = []
            for other in (DEFAULT, CONSTANT):
                theirs = [scores[other][name][0] for name in of_rule]
                against.append(f"{Estimate(own - theirs):.2f}" if rule != other else "-")
            print(f"{rule:44} {100 * own.mean():6.2f}  {against[0]:24} {against[1]:24} {Estimate(lost):.2f}")
        _significant(split, histories, gold)
    _untouched(split, histories)
    _enough(split, histories)


def _untouched(split: Sequence[History], histories: Sequence[History]) -> None:
    """Print the rule's leads on later questions in files that no older question of the history touched."""
    leads: dict[str, list[float]] = {DEFAULT: [], CONSTANT: []}
    n_questions = 0
    for history in split:
        rows = []
        for older, newer in history.splits():
            new = newer & ~np.isin(history.cluster, history.cluster[older])
            if new.any():
                chosen = choices(history, histories, GOLDS[0], older)
                means = history.tables[GOLDS[0]][new].mean(axis=0)
                rows.append((int(new.sum()), *(means[chosen[RULE]] - means[chosen[rule]] for rule in leads)))
        if rows:
            weights, *by_rule = zip(*rows, strict=True)
            n_questions += sum(weights)
            for rule, of_rule in zip(leads, by_rule, strict=True):
                leads[rule].append(float(np.average(of_rule, weights=weights)))
    about = f"{n_questions:,} later queries about files that no older query was about"
    print(f"\n{about}, from {len(leads[DEFAULT])} repositories")
    default, constant = map(Estimate, leads.values())
    print(f"the rule minus the default {default:.2f}, minus the constant {constant:.2f}")


def _not_in_all(folder: Path) -> None:
    """Print pasted settings that failed on a file of some histories, over the others: their lead on the default."""
    clones = read_measured(folder)
    labels = [facts["labels"] for _, facts in clones]
    print(f"\nsettings that failed in at least one of the {len(labels)} repositories, measured on the others")
    for label in dict.fromkeys(label for of_one in labels for label in of_one if " at " not in label):
        if all(label in of_one for of_one in labels) or label not in TRIED:
            continue
        leads = [
            float(one[GOLDS[0]][:, names.index(label)].mean() - one[GOLDS[0]][:, names.index("ast at 1,000")].mean())
            for (one, _), names in zip(clones, labels, strict=True)
            if label in names and len(one["id"]) >= FEWEST_OLDER
        ]
        print(f"{label:44} {len(leads)} repositories, minus the default {Estimate(leads):.2f}")


def _significant(split: Sequence[History], histories: Sequence[History], gold: str) -> None:
    """Print the repositories in which the rule's choice is significantly worse than the default, after Holm."""
    leads = []
    for history in split:
        differences, clusters = [], []
        for older, newer in history.splits():
            chosen = choices(history, histories, gold, older)
            table = history.tables[gold][newer]
            differences.append(table[:, chosen[RULE]] - table[:, chosen[DEFAULT]])
            clusters.append(history.cluster[newer])
        joined = np.concatenate(differences)
        if not joined.any():
            continue
        sample = Sample.micro(joined[:, None], np.concatenate(clusters).tolist())
        flipped = flip_signs(*sample.parts(), np.random.default_rng(SEED))
        leads.append((float(flipped.p[0]), float(joined.mean()), history.name))
    worse = [
        f"{name} ({100 * mean:+.1f})"
        for rank, (p, mean, name) in enumerate(sorted(leads))
        if p * (len(leads) - rank) < 0.05 and mean < 0
    ]
    named = ", ".join(worse) or "none"
    differs = f"the choice differs from the default in {len(leads)} repositories"
    print(f"{differs}; significantly worse than the default in {named}")


def _enough(split: Sequence[History], histories: Sequence[History]) -> None:
    """Print the rule's lead on the default by the number of older questions that it may see."""
    rng = np.random.default_rng(SEED)
    gold = GOLDS[0]
    print("\n older queries  repositories  rule minus default, target lines")
    for most in (30, 60, 120, 250, 500):
        leads = []
        for history in split:
            *_, (older, newer) = history.splits()
            if older.sum() < most:
                continue
            picked = np.zeros_like(older)
            picked[rng.permutation(np.flatnonzero(older))[:most]] = True
            chosen = choices(history, histories, gold, picked)
            table = history.tables[gold][newer].mean(axis=0)
            leads.append(table[chosen[RULE]] - table[chosen[DEFAULT]])
        if len(leads) > 2:
            print(f"{most:15} {len(leads):13}  {Estimate(leads):.2f}")


def edits_in(folder: Path) -> dict[str, Any]:
    """Return the mean share of an edited file that each candidate embeds again, over the histories that have it."""
    shares: dict[str, list[float]] = {}
    for _, facts in read_measured(folder):
        for label, edited in zip(facts["labels"], facts["edited"], strict=True):
            if edited:
                shares.setdefault(label, []).append(edited[0])
    means = {label: round(float(np.mean(values)), 3) for label, values in shares.items()}
    return {"repositories": max(map(len, shares.values())), "shares": means}


def with_commits(priors: dict[str, Any], folders: Sequence[Path]) -> dict[str, Any]:
    """Return data/priors.json with the means and tau of protocol `commits` by each folder's retriever, in every set.

    The noise is that of a folder that has all candidates, and so are the costs of edits.
    """
    candidates = [f"{name} at {size:,}" for name, size in priors["candidates"]]
    rows = {row["retriever"]: row for row in priors["sets"][0]["questions"] if row["protocol"] == "commits"}
    for folder in folders:
        tried = {label for _, facts in read_measured(folder) for label in facts["labels"]}
        labels = [label for label in candidates if label in tried]
        histories = read(folder, labels)
        gold, retriever = GOLDS[0], histories[0].retriever
        columns = [histories[0].labels.index(label) for label in labels]
        prior = prior_of([replace(one, tables={gold: one.tables[gold][:, columns]}) for one in histories], gold)
        means = dict(zip(labels, prior.mean.tolist(), strict=True))
        rows[retriever] = {
            "protocol": "commits",
            "retriever": retriever,
            "tau": round(float(prior.deviation[0]), 4),
            "means": [round(means[label], 5) if label in means else None for label in candidates],
        }
        if labels == candidates:
            noise = [[round(float(x), 5) for x in line[: at + 1]] for at, line in enumerate(prior.noise)]
            priors["noise"] = {**priors["noise"], "commits": noise}
            priors["edits"] = edits_in(folder)
        command = f"python scripts/validate_history.py prior {retriever}  # the clones of"
        others = [one for one in priors["commands"] if not one.startswith(command)]
        priors["commands"] = [*others, " ".join([command, *(one.name for one in histories)])]
    for row in rows.values():
        add_headers(row, candidates)
    for of_set in priors["sets"]:
        of_set["questions"] = [one for one in of_set["questions"] if one["protocol"] != "commits"] + [*rows.values()]
    return priors


def add_headers(row: dict[str, Any], candidates: Sequence[str]) -> None:
    """In a row that lacks candidates, derive those with a header: the same chunks without it, and its mean lead."""
    means = dict(zip(candidates, row["means"], strict=True))
    if all(mean is not None for label, mean in means.items() if HEADER not in label):
        return
    scores, _, without, *_ = read_board()
    for label in (label for label in candidates if HEADER in label):
        name, _, size = label.partition(" at ")
        key = row["retriever"], GOLDS[0], label
        means[label] = means[f"{name.partition(HEADER)[0]} at {size}"] + lead(scores[key], without[key]).mean / 100
    middle = np.mean([mean for mean in means.values() if mean is not None])
    row["means"] = [None if mean is None else round(float(mean - middle), 5) for mean in means.values()]


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("clones", nargs="+", type=Path)
    measuring.add_argument("--out", type=Path, required=True)
    measuring.add_argument("--retriever", default="bm25")
    measuring.add_argument("--chunkers", nargs="+", default=(), metavar="SPEC", help="instead of the candidates")
    commands.add_parser("report").add_argument("folder", type=Path)
    commands.add_parser("prior").add_argument("folders", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "prior":
        print_priors(with_commits(json.loads(PRIORS.read_text("utf-8")), arguments.folders))
        return
    if arguments.command == "report":
        report(read(arguments.folder))
        _not_in_all(arguments.folder)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for clone in arguments.clones:
        try:
            measure(clone, arguments.out, arguments.retriever, arguments.chunkers)
        except BenchError as error:
            print(f"{clone}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
