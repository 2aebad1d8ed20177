"""The steps of a completion, in order: fragments, prompts, answers cut at their end, scores, a run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import readable, sha256_text
from repoeval_bench.core.identifiers import identifiers_in
from repoeval_bench.core.json_reader import JsonFaultError, faults_as, read_rows
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import SourceFile, spliced
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import Spec, short_hash, slug
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.core.words import count
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.metrics import TEXT_MEASURES, RunScores, WrittenCompletion, score_run
from repoeval_bench.metrics import Context as ScoringContext
from repoeval_bench.plugins.completion.ending import ENDING, cut, stops
from repoeval_bench.plugins.completion.layout import LAYOUT, MOST_FRAGMENTS, Prompt, fragments_of, lay_out
from repoeval_bench.plugins.completion.model import Answers, Model, ModelRequest, answer_all, parse_model
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.options import Request, option
from repoeval_bench.runs.parts import vectors_folder
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import (
    COMPLETIONS,
    MANIFEST,
    QRELS,
    RETRIEVED,
    Completed,
    CompletionRow,
    Means,
    Metrics,
    QueryRow,
    TimeRow,
)
from repoeval_bench.runs.store import RunFiles, check_writable, jsonl, write_folder
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark, Task

Context = Literal["none", "retrieved"]
"""What is shown above the code."""

STEP = "complete"
"""The step of timings.jsonl: its seconds, and requests that were sent."""


class CompletionRequest(Request):
    """The options of a completion of stored runs."""

    model: str | None = option(
        None, "openai:NAME; after commas base_url=…, api=chat, max_tokens=N, timeout=SECONDS.", "SPEC"
    )
    shown: tuple[Context, ...] = option(
        ("retrieved",),
        "Context above the code: none or retrieved; repeat it.",
        "KIND",
        spelled="--context",
    )
    budget: int = option(2000, "Tokens of the retrieved code with its heading, counted by a rule.", "TOKENS", ge=0)
    concurrency: int = option(8, "Requests at a time.", "N", ge=1)


@dataclass(frozen=True, slots=True)
class Prompted:
    """A task with its prompt, its language, and how many chunks were skipped."""

    task: Task
    prompt: Prompt
    language: Language
    hidden: int


def base_run(run: RunView) -> RunView:
    """Return the run whose tasks a run completes, else the run itself; a UsageError if the former is gone."""
    completed = run.manifest.completion
    if completed is None:
        return run
    folder = run.folder.parent / completed.base
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{run.run_id} is the completed {completed.base}, which is not beside it; complete that one")
    return RunView.open(folder)


def prompts_of(run: RunView, benchmark: Benchmark, request: CompletionRequest, context: Context) -> list[Prompted]:
    """Return the prompt of every task of a run, in the order of its `benchmark`."""
    shown = fragments_of(run, benchmark.tasks, context)
    files = benchmark.by_name
    prompted = []
    for task in benchmark.tasks:
        language = _language(files[task.file])
        fragments, hidden = shown[task.task_id]
        prompt = lay_out(task.prompt, fragments, language.line_comment, budget=request.budget)
        prompted.append(Prompted(task, prompt, language, hidden))
    return prompted


def _language(file: SourceFile) -> Language:
    language = language_of(file.path, file.text)
    if language is None:
        raise UsageError(f"{file.name}: its language is not known, so nothing can be put above its code")
    return language


def check_request(request: CompletionRequest) -> Model:
    """Return the model of a request; a UsageError where there is none, or a package is missing."""
    require("complete", "rapidfuzz")
    if not request.model:
        raise UsageError("no model was named; give --model openai:NAME,base_url=…")
    return parse_model(request.model)


def complete(
    run: RunView,
    benchmark: Benchmark,
    request: CompletionRequest,
    context: Context = "retrieved",
    *,
    out: Path,
    created: str,
    home: Path | None = None,
) -> RunView:
    """Complete every task of a run, and store the completions with their measures as a run of its own in `out`.

    `benchmark` is what `benchmark_of` gives, `created` an ISO 8601 time. Answers are cached in `home`.
    """
    model = check_request(request)
    prompted = prompts_of(run, benchmark, request, context)
    check_writable(out)
    cache = VectorCache(vectors_folder(home))
    requests = [
        model.request(one.prompt.text, stops(one.task, one.language.name, chat=model.chat), one.task.level)
        for one in prompted
    ]
    started = perf_counter()
    answers = answer_all(model, requests, cache, concurrency=request.concurrency)
    seconds = perf_counter() - started
    distinct = len(set(requests))
    rest = ", the rest was in the cache" if answers.sent < distinct else ""
    NOTICES.info(f"{count(distinct, 'distinct prompt')}: {answers.sent:,} sent{rest}")
    rows = [_row(*pair, answers, chat=model.chat) for pair in zip(prompted, requests, strict=True)]
    scores = score_texts(rows, benchmark)
    settings = Completed(
        base=run.run_id,
        model=model.spec,
        identity=model.identity,
        context=context,
        budget=request.budget if context != "none" else 0,
        fragments=MOST_FRAGMENTS if context != "none" else 0,
        layout=LAYOUT,
        ending=ENDING,
        measures=tuple(scores.values),
        cut_off=sum(answers.by_request[sent].cut_off for sent in requests),
    )
    return _save(
        run, settings, scores, rows, seconds=seconds, sent=answers.sent, name=model.name, out=out, created=created
    )


def complete_again(
    run: RunView, settings: Completed, base: RunView, benchmark: Benchmark, *, into: Path
) -> tuple[RunView, list[tuple[str, str | None, str | None]]]:
    """Return `base`, which only retrieves, completed with a run's stored texts, for `verify` to compare.

    The second value is (query id, claimed, computed) of each task that only one of the two has.
    """
    require("complete", "rapidfuzz")
    rows: dict[str, CompletionRow] = {}
    with faults_as(ResultError, run.folder / COMPLETIONS, "complete the run again"):
        for number, row in read_rows(run.folder / COMPLETIONS, CompletionRow):
            if row.query_id in rows:
                raise JsonFaultError(f"{row.query_id!r} appears twice", line=number)
            rows[row.query_id] = row
    tasks = [task.task_id for task in benchmark.tasks]
    different: list[tuple[str, str | None, str | None]] = [
        *((query_id, "completed", None) for query_id in sorted(rows.keys() - set(tasks))),
        *((query_id, None, "a task") for query_id in tasks if query_id not in rows),
    ]
    completed = [rows[query_id] for query_id in tasks if query_id in rows]
    if not completed:
        raise ResultError(f"{run.folder / COMPLETIONS} has no row of a task; complete the run again")
    scores = score_texts(completed, benchmark)
    again = settings.model_copy(update={"base": base.run_id, "measures": tuple(scores.values)})
    name, created = Spec.parse(settings.model).target or "", run.manifest.created
    stored = _save(base, again, scores, completed, seconds=0.0, sent=0, name=name, out=into, created=created)
    return stored, different


def _row(prompted: Prompted, request: ModelRequest, answers: Answers, *, chat: bool) -> CompletionRow:
    answer = answers.by_request[request]
    return CompletionRow(
        query_id=prompted.task.task_id,
        prompt_sha256=sha256_text(request.prompt),
        prompt_tokens=prompted.prompt.tokens,
        context_tokens=prompted.prompt.context_tokens,
        fragments=prompted.prompt.shown,
        hidden=prompted.hidden,
        finish=answer.finish,
        text=readable(cut(answer.text, prompted.task, chat=chat)),
    )


def score_texts(rows: Sequence[CompletionRow], benchmark: Benchmark) -> RunScores:
    """Return the measures of the texts, in the order of the rows; each row is of another task of `benchmark`."""
    files, tasks = benchmark.by_name, {task.task_id: task for task in benchmark.tasks}
    written = {}
    by_file: dict[str, list[tuple[CompletionRow, Task]]] = {}
    for row in rows:
        task = tasks[row.query_id]
        by_file.setdefault(task.file, []).append((row, task))
    for name, pairs in by_file.items():
        file = files[name]
        language = _language(file)
        as_it_is = parse(file, language)
        for row, task in pairs:
            # An empty completion has no name, and the file need not be parsed with it.
            changed = replace(file, text=spliced(file.text, task.body, row.text))
            completed = parse(changed, language) if row.text else as_it_is
            written[row.query_id] = WrittenCompletion(
                text=row.text,
                truth=task.ground_truth,
                names=_names(completed, task.body.start, row.text),
                true_names=_names(as_it_is, task.body.start, task.ground_truth),
            )
    qrels: Mapping[str, Mapping[str, float]] = {row.query_id: {} for row in rows}
    return score_run({}, qrels, TEXT_MEASURES, ScoringContext(written=written))


def _names(parsed: Parsed, start: int, text: str) -> frozenset[str]:
    """Return the identifiers of a text that begins at a line of the file."""
    lines = LineSpan(start, min(start + len(text.splitlines()), parsed.file.n_lines))
    return identifiers_in(parsed, lines) if lines else frozenset()


def _save(
    run: RunView,
    settings: Completed,
    scores: RunScores,
    rows: Sequence[CompletionRow],
    *,
    seconds: float,
    sent: int,
    name: str,
    out: Path,
    created: str,
) -> RunView:
    """Write the completions of a run; `name` is that of the model, for the run's id and for tables."""
    identity = {key: value for key, value in settings.as_json().items() if key != "cut_off"}
    digest = short_hash(json.dumps(identity, sort_keys=True))
    run_id = f"{settings.base.rpartition('-')[0]}_{slug(name, 32)}-{settings.context}-{digest}"
    queries = _queries(run, rows, scores)
    shown = {"run_id": run_id, "completion": f"{name} {settings.context}"}
    metrics = _metrics(run.metrics, queries).model_copy(update=shown)
    manifest = run.manifest.model_copy(
        update={
            "run_id": run_id,
            "created": created,
            "completion": settings,
            "code": code_state(),
            "versions": versions(),
        }
    )
    timing = TimeRow(step=STEP, seconds=round(seconds, 4), encoded=sent)
    times = [
        TimeRow(query_id=query_id, latency_ms=dict(milliseconds))
        for query_id, milliseconds in run.timings.queries.items()
    ]
    stored = {name: (run.folder / name).read_bytes() for name in (SOURCES, CHUNKS, QUERIES)}
    files = RunFiles(
        manifest=manifest,
        metrics=metrics,
        queries=queries,
        timings=[*run.timings.steps, timing, *times],
        qrels=run.text(QRELS),
        log=run.text(RETRIEVED),
        inspection=stored | {COMPLETIONS: jsonl(row.as_json() for row in rows).encode()},
    )
    return RunView(write_folder(out / run_id, files))


def _queries(run: RunView, rows: Sequence[CompletionRow], scores: RunScores) -> list[QueryRow]:
    """Return the rows of the completed queries, with their measures of texts and how much was shown."""
    columns = {name: values.tolist() for name, values in scores.values.items()}
    by_id = {row.query_id: row for row in run.query_rows()}
    queries = []
    for index, row in enumerate(rows):
        query = by_id[row.query_id]
        facts = {**query.facts, "fragments": len(row.fragments), "prompt_tokens": row.prompt_tokens}
        measures = query.measures | {name: column[index] for name, column in columns.items()}
        queries.append(query.model_copy(update={"facts": facts, "measures": measures}))
    return queries


def _metrics(metrics: Metrics, queries: Sequence[QueryRow]) -> Metrics:
    """Return the metrics of a run with the means of the measures that were added."""
    rows = [row.measures for row in queries]
    means = Means.of({name: [row[name] for row in rows] for name in rows[0]}, [row.repo or "all" for row in queries])
    return metrics.model_copy(update={"micro": means.micro, "macro": means.macro, "per_repo": means.per_repo})
