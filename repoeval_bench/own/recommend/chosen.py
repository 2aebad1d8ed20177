"""A chosen setting as a file, and the test on later commits that says if it still holds."""

import json
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.evidence import BASELINE, Default, Recommendation, SizedChunker, of_about
from repoeval_bench.analysis.gates import FEWEST, ChosenEvidence, ChosenSetting, Recheck
from repoeval_bench.analysis.shrinkage import RankedCandidate
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.strict_yaml import Document, read_bytes
from repoeval_bench.dataset.assembly import with_tests
from repoeval_bench.dataset.pack import PackSource
from repoeval_bench.own.history.benchmark import benchmark_of
from repoeval_bench.own.history.questions import CommitOptions, CommitQuestions, commit_questions
from repoeval_bench.own.history.repository import History, history_of
from repoeval_bench.own.packs.pack import installed_version
from repoeval_bench.report.recommendation import HOLDS
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.parts import RESULTS, needs_vectors
from repoeval_bench.runs.query_scores import GROUP
from repoeval_bench.runs.runner import evaluate

# The opponent of a choice: chunks by syntax alone.
_PLAIN = of_about(SizedChunker(name="ast", size=1000, spec=""))

_HEAD = (
    "# Written by `repoeval-bench recommend --write`; `repoeval-bench gate FILE --source CHECKOUT` checks it.\n"
    f"# Holds {HOLDS}.\n"
)
_WAY_OUT = "write it again with `repoeval-bench recommend SOURCE --write FILE`"


def chosen_of(
    recommendation: Recommendation, sources: Sequence[PackSource] = (), extensions: Sequence[str] = ()
) -> ChosenSetting:
    """Return what to use for code from `sources`, of which a single one may have a commit; the date is today.

    That is the choice, or the current chunker where the answer is to stay with it, whose opponent is then the choice.
    """
    decision, default, current = recommendation.decision, recommendation.default, recommendation.current
    measured = sorted(recommendation.evidence, key=lambda one: needs_vectors(one.retriever))
    risk: RankedCandidate | Default
    if decision is not None and current and current.gains and not current.is_worse:
        label, opponent = current.label, decision.choice.name
        risk = next(one for one in decision.candidates if one.name == label)
        spec = recommendation.candidates[opponent].spec
    elif decision is not None:
        label, risk = decision.choice.name, decision.choice
        names = [one.name for one in decision.candidates if one.name not in {label, _PLAIN.label}]
        opponent, spec = (_PLAIN.label, _PLAIN.spec) if label != _PLAIN.label else (names[0], "")
        spec = recommendation.candidates[opponent].spec if opponent in recommendation.candidates else spec
    elif default is not None:
        label, risk, opponent = default.label, default, ""
        plain = f"{BASELINE}:max_nws={recommendation.candidates[label].size}"
        spec = _PLAIN.spec if label != _PLAIN.label else plain
    else:
        raise UsageError("nothing was chosen that could be written")
    commits = [(one.model_extra or {}).get("commit", "") for one in sources]
    first = measured[0] if measured else None
    return ChosenSetting(
        spec=recommendation.candidates[label].spec,
        opponent=spec,
        retriever=first.retriever if first else "bm25",
        embedder=first.embedder if first and needs_vectors(first.retriever) else "",
        tests=recommendation.tests,
        extensions=tuple(extensions),
        expected_loss=float(risk.expected_loss),
        date=datetime.now(UTC).date().isoformat(),
        commit=str(commits[0]) if len(commits) == 1 else "",
        tool=installed_version("repoeval-bench"),
        evidence=[
            ChosenEvidence(
                protocol=one.protocol,
                retriever=one.retriever,
                measure=one.measure,
                questions=one.n_queries,
                files=one.n_files if one.clustered_by == GROUP else one.n_clusters,
                mean=float(one.means[label]),
                opponent_mean=None if opponent not in one.means else float(one.means[opponent]),
            )
            for one in measured
        ],
    )


def dump_chosen(chosen: ChosenSetting) -> str:
    """Return the content of the file: TOML, whose texts and numbers are written as in JSON."""
    fields = chosen.model_dump(exclude_none=True)
    evidence = fields.pop("evidence")
    lines = [_HEAD, *(_line(field) for field in fields.items() if field[1] not in ("", ()))]
    for one in evidence:
        lines += ["", "[[evidence]]", *map(_line, one.items())]
    return "\n".join(lines) + "\n"


def _line(field: tuple[str, Any]) -> str:
    name, value = field
    return f"{name} = " + json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_chosen(path: Path) -> ChosenSetting:
    """Read such a file; a UsageError lists everything that is wrong in it."""
    raw = read_bytes(path, _WAY_OUT)
    try:
        content = tomllib.loads(raw.decode("utf-8"))
        content.pop("loss_95", None)  # files of earlier checkouts have it; nothing reads it
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, a number that is too long; nested too deeply
        raise UsageError(f"{path} is not TOML ({error}); {_WAY_OUT}") from error
    chosen = Document(path, content, {}).read(ChosenSetting)
    if chosen.spec == chosen.opponent:
        raise UsageError(f"{path}: spec and opponent are both {chosen.spec}; name another opponent")
    return chosen


def recheck(chosen: ChosenSetting, source: str | Path, *, out: Path = RESULTS) -> Recheck:
    """Test a chosen setting against its opponent on the commits since, of a checkout or bare repository.

    Both are run under protocol `commits`, and the runs are stored in `out`. Raises a BenchError in one sentence.
    """
    for spec in (chosen.spec, chosen.opponent):
        make_chunker(spec)
    choose_retriever(chosen.retriever)
    with history_of(source, chosen.extensions) as history:
        since, questions = _later(history, chosen)
        tasks = questions.tasks
        facts: dict[str, Any] = {
            "chosen": chosen,
            "since": since,
            "questions": len(tasks),
            "files": len({task.change.file for task in tasks if task.change}),
            "notes": questions.notes,
        }
        if len(tasks) < FEWEST:
            return Recheck(**facts, comparison=None)
        benchmark = with_tests(benchmark_of(history, questions), chosen.tests)
    options: dict[str, Any] = {"protocol": "commits", "retriever": chosen.retriever, "out": out}
    if chosen.embedder:
        options["embedder"] = chosen.embedder
    runs = [evaluate(benchmark, spec, reuse=True, **options) for spec in (chosen.opponent, chosen.spec)]
    return Recheck(**facts, comparison=compare(runs)[0])


def _later(history: History, chosen: ChosenSetting) -> tuple[str, CommitQuestions]:
    """Return after what commits ask, and their questions; the date stands in for a commit that a clone lacks."""
    if chosen.commit:
        try:
            return chosen.commit, commit_questions(history, CommitOptions(since=chosen.commit))
        except UsageError:
            pass
    return chosen.date, commit_questions(history, CommitOptions(since=chosen.date))
