"""Turn measured histories into tables and plots.

python scripts/history_board.py tables FOLDER...   # data/leaderboard/histories.csv and history-scores.csv
python scripts/history_board.py answers            # the sentences of docs/findings.md, and docs/findings/*.svg

A FOLDER is what `validate_history.py measure` writes: one file for each repository, all by one retriever. Its rows take
the place of those on the same queries; all others stay. A score by another retriever has BM25's on the same queries
beside it, from whichever folder has these, and a score with a header has that without it. Intervals are Student's 95 %
over repositories; each repository counts once. Names and code of a history are in neither table.
"""

import argparse
import csv
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from _priors import GOLDS, HEADER, Estimate, read_measured

from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import record_table

ROOT = Path(__file__).resolve().parents[1]
HISTORIES = ROOT / "data" / "leaderboard" / "histories.csv"
SCORES = ROOT / "data" / "leaderboard" / "history-scores.csv"
PLOTS = ROOT / "docs" / "findings"
DEFAULT, LINES = "ast at 1,000", "fixed at 1,000"
KEY = ("repository", "retriever", "gold", "chunker")
COSTS = ("share embedded per edit", "characters embedded per edit")
LEAST = 20
"""Questions of a repository from which its means count."""

Scores = dict[tuple[str, str, str], dict[str, float]]
"""(retriever, gold, chunker) -> repository -> mean."""


def tables(folders: list[Path]) -> None:
    """Write measured histories into the two tables."""
    histories: dict[str, dict[str, Any]] = {row["repository"]: row for row in _rows(HISTORIES)}
    rows = {tuple(row[name] for name in KEY): row for row in _rows(SCORES)}
    measured = [one for folder in folders for one in read_measured(folder)]
    of_bm25 = [one for one in reversed(measured) if one[1]["retriever"] == "bm25"]
    by_bm25 = {tuple(stored["id"].tolist()): (stored, facts) for stored, facts in of_bm25}  # the first folder's stand
    for stored, facts in measured:
        name = facts["name"].replace("+", "/")
        n_questions = len(stored["id"])
        if n_questions < LEAST:
            continue
        histories[f"https://github.com/{name}"] = {
            "repository": f"https://github.com/{name}",
            "language": facts["language"],
            "last commit": facts["head"],
            "bases": " ".join(base for _, base, _, _ in facts["windows"]),
            "since": min(day for *_, day, _ in facts["windows"]),
            "commits": facts["seen"],
            "questions": n_questions,
            "files": len(set(stored["cluster"].tolist())),
        }
        edited = dict(zip(facts["labels"], facts["edited"], strict=True))
        if tuple(stored["id"].tolist()) not in by_bm25:
            raise SystemExit(f"{name}: no folder has BM25's scores on these queries; name it too")
        first, facts_of_first = by_bm25[tuple(stored["id"].tolist())]
        for gold in GOLDS:
            means = dict(zip(facts_of_first["labels"], first[gold].mean(axis=0).tolist(), strict=True))
            own = dict(zip(facts["labels"], stored[gold].mean(axis=0).tolist(), strict=True))
            means |= own if facts["retriever"] == "bm25" else {}
            for label, mean in own.items():
                without = own.get(re.sub(f"{HEADER}\\w+", "", label)) if HEADER in label else None
                row = {
                    "repository": name,
                    "retriever": facts["retriever"],
                    "gold": gold,
                    "chunker": label,
                    "lines found": round(mean, 5),
                    "by BM25": round(means[label], 5) if label in means else "",
                    "without header": "" if without is None else round(without, 5),
                }
                key = tuple(row[name] for name in KEY)
                costs = edited.get(label) or [rows.get(key, {}).get(cost, "") for cost in COSTS]
                row |= dict(zip(COSTS, costs, strict=True))
                # The same score by BM25: the same queries.
                if key not in rows or "bm25" in key or rows[key]["by BM25"] in {"", str(row["by BM25"])}:
                    rows[key] = row
    _write(HISTORIES, sorted(histories.values(), key=lambda row: (row["language"], row["repository"])))
    _write(SCORES, [*rows.values()])


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(as_csv(record_table(rows)), encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(rows)} rows")


def read() -> tuple[Scores, Scores, Scores, dict[str, dict[str, float]], dict[str, str]]:
    """Return the means; on the same queries BM25's, and those without a header; share embedded per edit; languages."""
    scores: Scores = defaultdict(dict)
    by_bm25: Scores = defaultdict(dict)
    without: Scores = defaultdict(dict)
    edited: dict[str, dict[str, float]] = defaultdict(dict)
    for row in _rows(SCORES):
        key = row["retriever"], row["gold"], row["chunker"]
        scores[key][row["repository"]] = float(row["lines found"])
        for column, of in (("by BM25", by_bm25), ("without header", without)):
            if row[column]:
                of[key][row["repository"]] = float(row[column])
        if row["share embedded per edit"] and row["gold"] == GOLDS[0]:
            edited[row["chunker"]][row["repository"]] = float(row["share embedded per edit"])
    languages = {row["repository"].removeprefix("https://github.com/"): row["language"] for row in _rows(HISTORIES)}
    return scores, by_bm25, without, edited, languages


def lead(of: dict[str, float], over: dict[str, float]) -> Estimate:
    """How much more the first finds, over the repositories that both have."""
    both = sorted(of.keys() & over.keys())
    return Estimate([of[name] - over[name] for name in both])


def plot(name: str, axis: str, rows: list[tuple[str, Estimate]], title: str, *, zero: bool = True) -> None:
    """Draw each estimate as a dot with its interval, and each repository as a tick."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    grey, blue = "#767676", "#2f81c7"  # both are legible on white and on black
    rcParams.update({"svg.hashsalt": "findings", "svg.fonttype": "none", "font.family": "sans-serif"})
    figure = Figure(figsize=(7.6, 1.0 + 0.32 * len(rows)))
    axes = figure.add_subplot()
    for place, (_, one) in enumerate(reversed(rows)):
        axes.plot(one.values, [place] * len(one.values), "|", color=grey, alpha=0.45, markersize=9)
        axes.plot([one.low, one.high], [place, place], "-", color=blue, linewidth=2)
        axes.plot([one.mean], [place], "o", color=blue, markersize=6)
    if zero:
        axes.axvline(0, color=grey, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [label for label, _ in reversed(rows)])
    axes.set_xlabel(axis, color=grey)
    figure.suptitle(title, color=grey, x=0.01, ha="left", fontsize=10)
    # A repository far off, such as one that a tool can hardly cut, would squeeze all others.
    furthest = max(max(abs(one.low), abs(one.high)) for _, one in rows)
    axes.set_xlim(*(np.clip(axes.get_xlim(), -1.5 * furthest, 1.5 * furthest)))
    axes.tick_params(colors=grey)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(grey)
    figure.tight_layout()
    PLOTS.mkdir(exist_ok=True)
    figure.savefig(PLOTS / f"{name}.svg", transparent=True, metadata={"Date": None})


def answers() -> None:
    """Print each answer's estimates, and draw its plot."""
    scores, by_bm25, without, edited, languages = read()
    all_bm25 = {
        label: means for (retriever, gold, label), means in scores.items() if (retriever, gold) == ("bm25", "lines")
    }
    bm25 = {label: means for label, means in all_bm25.items() if HEADER not in label}
    total = {repo for means in bm25.values() for repo in means}
    print(f"{len(total)} repositories, {len({languages[name] for name in total})} languages")
    pasted = [label for label in edited if " at " not in label and label != "functions"]
    points = "target lines found, points minus "
    of_one_size = [label for label in bm25 if label.endswith(" at 1,000")]
    headed = f"ast{HEADER}stem at"
    others = sorted({retriever for retriever, *_ in scores} - {"bm25"})
    sized = ("ast at", "fixed at", "recursive at", "chonkie at", "langchain at")

    def leads_over(base: str, labels: list[str]) -> list[tuple[str, Estimate]]:
        return [(label, lead(bm25[label], bm25[base])) for label in labels if label != base]

    groups: dict[str, tuple[str, list[tuple[str, Estimate]], str]] = {
        "syntax": (
            points + LINES,
            leads_over(LINES, [*sorted(of_one_size), "functions"]),
            "Chunkers of one mean size against whole lines (BM25)",
        ),
        "size": (
            points + DEFAULT,
            [
                *leads_over(DEFAULT, [label for label in bm25 if label.startswith(sized)]),
                *((label, lead(all_bm25[label], bm25[DEFAULT])) for label in all_bm25 if label.startswith(headed)),
            ],
            f"Sizes against {DEFAULT} (BM25)",
        ),
        "defaults": (
            points + DEFAULT,
            leads_over(DEFAULT, pasted),
            f"Settings that people paste, against {DEFAULT} (BM25)",
        ),
        "edits": (
            "% of the edited file that is embedded again",
            [
                (label, Estimate([*edited[label].values()]))
                for label in (*(label for label in edited if label.endswith(" at 1,000")), *pasted)
            ],
            "Cost of an edit: the last 40 edits of each repository",
        ),
        "headers": (
            points + "the same chunks without a header",
            [(label, lead(of, without["bm25", "lines", label])) for label, of in all_bm25.items() if HEADER in label],
            "A header before each chunk (BM25)",
        ),
        "retrievers": (
            points + "BM25, the same chunks",
            [(_short(name), lead(scores[key], by_bm25[key])) for name in others for key in [(name, "lines", DEFAULT)]],
            f"Retrievers on the chunks of {DEFAULT}",
        ),
    }
    for name, (axis, rows, title) in groups.items():
        sign = 1 if name == "edits" else -1
        rows.sort(key=lambda row: sign * row[1].mean)
        print(f"\n{title}: {axis}")
        for label, one in rows:
            print(f"  {label:44} {one:.1f}, {len(one.values)} repositories")
        plot(name, axis, rows, title, zero=name != "edits")
    for label in bm25.keys() - edited.keys():
        leads = lead(bm25[label], bm25[DEFAULT])
        print(f"\n{label} minus {DEFAULT} {leads:.1f}, {len(leads.values)} repositories")
    print("\nast at 1,000 minus fixed at 1,000, by gold and by retriever")
    for retriever, gold in [*(("bm25", gold) for gold in GOLDS), *((name, GOLDS[0]) for name in others)]:
        if not scores[retriever, gold, LINES]:
            continue
        leads = lead(scores[retriever, gold, DEFAULT], scores[retriever, gold, LINES])
        print(f"  {_short(retriever):8} {gold:12} {leads:.1f}, {len(leads.values)} repositories")
    print("\nheader=stem minus the same chunks without it, by retriever")
    for (retriever, gold, label), of in without.items():
        if gold == GOLDS[0] and label.startswith(headed):
            leads = lead(scores[retriever, gold, label], of)
            print(f"  {_short(retriever):8} {label:27} {leads:.1f}, {len(leads.values)} repositories")
    print("\nrerank minus hybrid, the same chunks")
    for retriever in (name for name in others if _short(name) == "rerank"):
        for label in (label for name, gold, label in without if (name, gold) == (retriever, GOLDS[0])):
            # Rows with a header, and the same without it, are of the same queries; other rows may be older.
            for named, of in ((label, scores), (label.replace(f"{HEADER}stem", ""), without)):
                leads = lead(of[retriever, GOLDS[0], label], of["hybrid", GOLDS[0], label])
                print(f"  {named:27} {leads:.1f}, {len(leads.values)} repositories")


def _short(retriever: str) -> str:
    return retriever.partition(":")[0]


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tables").add_argument("folders", nargs="+", type=Path)
    commands.add_parser("answers")
    arguments = parser.parse_args()
    if arguments.command == "tables":
        tables(arguments.folders)
    else:
        answers()


if __name__ == "__main__":
    main()
