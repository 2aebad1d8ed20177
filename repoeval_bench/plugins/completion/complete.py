"""The steps of a completion, in order: fragments, prompts, answers cut at their end, scores, a run folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Annotated, Any, Literal

import click

from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.options import home_option, json_option, note, request_options, runs_folder
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.definitions import identifiers_in
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.extras import require
from repoeval_bench.core.fields import Natural, Positive
from repoeval_bench.core.files import sha256_text, short_hash, slug
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import spliced
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.core.words import count
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.metrics import TEXT_MEASURES, RunScores, WrittenCompletion, score_run
from repoeval_bench.metrics import Context as ScoringContext
from repoeval_bench.plugins.completion import layout
from repoeval_bench.plugins.completion.model import Model, answer_all, parse_model
from repoeval_bench.report.table import Column, Table, number, table_of
from repoeval_bench.report.text import heading
from repoeval_bench.runs import records
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.parts import shown_place, vectors_folder
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.replay import benchmark_of
from repoeval_bench.runs.request import DataRequest, Flag, Request
from repoeval_bench.runs.store import check_writable, jsonl, write_folder
from repoeval_bench.runs.view import RunView

Context = Literal["none", "retrieved"]
"""The context above the code."""

STEP = "complete"
"""Name of the step in timings.jsonl, which has its seconds and the number of requests sent."""


class CompletionRequest(Request):
    """The options of a completion of stored runs."""

    model: Annotated[
        str | None,
        Flag("openai:NAME; after commas base_url=…, api=chat, max_tokens=N, timeout=SECONDS.", "SPEC"),
    ] = None
    shown: Annotated[
        tuple[Context, ...],
        Flag("Context above the code: none or retrieved; may be repeated.", "KIND", spelled="--context"),
    ] = ("retrieved",)
    budget: Annotated[Natural, Flag("Tokens of the retrieved code with its heading, counted by a rule.", "TOKENS")] = (
        2000
    )
    concurrency: Annotated[Positive, Flag("Requests at a time.", "N")] = 8


def prompts_of(
    run: RunView, benchmark: Benchmark, languages: Mapping[str, Language], context: Context, budget: int
) -> list[layout.Prompt]:
    """Return the prompt of every task of a run, in the order of its `benchmark`."""
    ranked = layout.fragments_of(run) if context == "retrieved" else {}
    return [
        layout.lay_out(task, ranked.get(task.task_id, ()), languages[task.file].line_comment, budget=budget)
        for task in benchmark.tasks
    ]


def languages_of(benchmark: Benchmark) -> dict[str, Language]:
    """Return file name -> language, of each file with a task; a UsageError if a language is not known."""
    files = benchmark.by_name
    languages = {}
    for name in dict.fromkeys(task.file for task in benchmark.tasks):
        language = language_of(files[name].path, files[name].text)
        if language is None:
            raise UsageError(f"{name}: its language is not known, so nothing can be put above its code")
        languages[name] = language
    return languages


def check_request(request: CompletionRequest) -> Model:
    """Return the model of a request; a UsageError if it names none, or a package is missing."""
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

    `benchmark` is the result of `benchmark_of`, `created` an ISO 8601 time. Answers are cached in `home`.
    """
    model = check_request(request)
    if done := run.manifest.completion:
        raise UsageError(f"{run.run_id} is completed already; complete {done.base}")
    languages = languages_of(benchmark)
    prompts = prompts_of(run, benchmark, languages, context, request.budget)
    check_writable(out)
    cache = VectorCache(vectors_folder(home))
    requests = [
        model.request(prompt.text, layout.stops(task, languages[task.file].name, chat=model.chat), task.level)
        for task, prompt in zip(benchmark.tasks, prompts, strict=True)
    ]
    started = perf_counter()
    answers, sent = answer_all(model, requests, cache, concurrency=request.concurrency)
    timing = records.TimeRow(step=STEP, seconds=round(perf_counter() - started, 4), encoded=sent)
    rest = ", the rest was in the cache" if sent < len(answers) else ""
    NOTICES.info(f"{count(len(answers), 'distinct prompt')}: {sent:,} sent{rest}")
    rows = [
        records.CompletionRow(
            query_id=task.task_id,
            prompt_sha256=sha256_text(prompt_request.prompt),
            prompt_tokens=prompt.tokens,
            context_tokens=prompt.context_tokens,
            fragments=prompt.shown,
            hidden=prompt.hidden,
            finish=answers[prompt_request].finish,
            text=layout.cut(answers[prompt_request].text, task, chat=model.chat),
        )
        for task, prompt, prompt_request in zip(benchmark.tasks, prompts, requests, strict=True)
    ]
    settings = records.Completed(
        base=run.run_id,
        model=model.spec,
        context=context,
        budget=request.budget if context != "none" else 0,
        fragments=layout.MOST_FRAGMENTS if context != "none" else 0,
        layout=layout.LAYOUT,
        ending=layout.ENDING,
        measures=TEXT_MEASURES,
        cut_off=sum(answers[prompt_request].cut_off for prompt_request in requests),
    )
    return _save(run, settings, benchmark, rows, timing, out=out, created=created)


def score_texts(rows: Sequence[records.CompletionRow], benchmark: Benchmark) -> RunScores:
    """Score the texts, in the order of the rows; each row belongs to another task of `benchmark`."""
    tasks, files = {task.task_id: task for task in benchmark.tasks}, benchmark.by_name
    stored = {name: parse(files[name], language) for name, language in languages_of(benchmark).items()}
    written = {}
    for row in rows:
        task = tasks[row.query_id]
        original = stored[task.file]
        # An empty completion has no names, so its file need not be parsed.
        changed = replace(original.file, text=spliced(original.file.text, task.body, row.text))
        completed = parse(changed, original.language) if row.text else original
        written[row.query_id] = WrittenCompletion(
            text=row.text,
            truth=task.ground_truth,
            names=_names(completed, task.body.start, row.text),
            true_names=_names(original, task.body.start, task.ground_truth),
        )
    qrels: Mapping[str, Mapping[str, float]] = {row.query_id: {} for row in rows}
    return score_run({}, qrels, TEXT_MEASURES, ScoringContext(written=written))


def _names(parsed: Parsed, start: int, text: str) -> frozenset[str]:
    """Return the identifiers of a text that begins at a line of the file."""
    lines = LineSpan(start, min(start + len(text.splitlines()), parsed.file.n_lines))
    return identifiers_in(parsed, lines) if lines else frozenset()


def _save(
    run: RunView,
    settings: records.Completed,
    benchmark: Benchmark,
    rows: Sequence[records.CompletionRow],
    timing: records.TimeRow,
    *,
    out: Path,
    created: str,
) -> RunView:
    name = Spec.parse(settings.model).target or ""
    identity = {key: value for key, value in settings.as_json().items() if key != "cut_off"}
    digest = short_hash(json.dumps(identity, sort_keys=True))
    run_id = f"{settings.base.rpartition('-')[0]}_{slug(name, 32)}-{settings.context}-{digest}"
    queries = _queries(run, rows, score_texts(rows, benchmark))
    shown = {"run_id": run_id, "completion": f"{name} {settings.context}"}
    provenance = {"created": created, "completion": settings, "code": code_state(), "versions": versions()}
    stored = {file: (run.folder / file).read_bytes() for file in (SOURCES, CHUNKS, QUERIES)}
    folder = write_folder(
        out / run_id,
        manifest=run.manifest.model_copy(update={"run_id": run_id, **provenance}),
        metrics=_metrics(run.metrics, queries).model_copy(update=shown),
        queries=queries,
        timings=[*run.rows(records.TIMINGS, records.TimeRow), timing],
        qrels=run.text(records.QRELS),
        log=run.text(records.RETRIEVED),
        others=stored | {records.COMPLETIONS: jsonl(row.as_json() for row in rows).encode()},
    )
    return RunView(folder)


def _queries(run: RunView, rows: Sequence[records.CompletionRow], scores: RunScores) -> list[records.QueryRow]:
    """Return the rows of the completed queries, with the measures of their texts and the number of fragments shown."""
    columns = {name: values.tolist() for name, values in scores.values.items()}
    by_id = {row.query_id: row for row in run.query_rows()}
    queries = []
    for index, row in enumerate(rows):
        query = by_id[row.query_id]
        facts = {**query.facts, "fragments": len(row.fragments), "prompt_tokens": row.prompt_tokens}
        measures = query.measures | {name: column[index] for name, column in columns.items()}
        queries.append(query.model_copy(update={"facts": facts, "measures": measures}))
    return queries


def _metrics(metrics: records.Metrics, queries: Sequence[records.QueryRow]) -> records.Metrics:
    """Return the metrics of a run with the means of the measures that were added."""
    rows = [row.measures for row in queries]
    means = records.Means.of(
        {name: [row[name] for row in rows] for name in rows[0]}, [row.repo or "all" for row in queries]
    )
    return metrics.model_copy(update={"micro": means.micro, "macro": means.macro, "per_repo": means.per_repo})


@click.command("run")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@request_options(CompletionRequest)
@request_options(DataRequest, only=("source",))
@runs_folder
@home_option
@json_option
def run_command(
    *, runs: tuple[str, ...], source: str, out: Path, home: Path | None, as_json: bool, **fields: Any
) -> None:
    """Send each RUN's prompts with its retrieved chunks, and store the scored completions as a run."""
    request = CompletionRequest.of(fields, typed=True)
    check_request(request)
    stored = [(run, benchmark_of(run, source, home=home)) for run in find_runs(runs, out)]
    done = []
    for context in request.shown:
        for run, benchmark in stored:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            done.append(complete(run, benchmark, request, context, out=out, created=created, home=home))
            note(f"{run.run_id} · {context} -> {shown_place(done[-1].folder)}")
    if as_json:
        contents = [run.metrics.as_json() for run in done]
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        print_table(_table(done))


def _table(runs: Sequence[RunView]) -> Table:
    """Tabulate for each completed run the headline means, the fragments shown, and the truncated answers."""

    def mean(name: str) -> Column:
        return number(heading(name), lambda run: run.metrics.headline_means[name])

    completions = [run.manifest.completion for run in runs if run.manifest.completion]
    notes = []
    if any(completed.cut_off for completed in completions):
        notes.append(
            "truncated: answers that ended at the limit of tokens; max_tokens=N in the model's spec gives more"
        )
    columns = [
        Column(name="chunker", width=36, value=lambda run: run.metrics.chunker),
        Column(name="context", value=lambda run: run.manifest.completion.context),
        number("tasks", lambda run: len(run.scores), ","),
        *map(mean, TEXT_MEASURES),
        number("fragments", lambda run: fmean(float(n or 0) for n in run.scores.facts["fragments"]), ".1f"),
        number("truncated", lambda run: run.manifest.completion.cut_off, ","),
    ]
    first = runs[0].metrics
    title = f"{completions[0].model} · {first.dataset.label} · {first.headline} means"
    return table_of(columns, runs, title=title, notes=notes)
