"""The steps of a completion, in order: fragments, prompts, answers, what is kept of them, scores, a run folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import LanguageError, SpecError, UsageError, all_mistakes
from repoeval_bench.core.files import readable, sha256_text
from repoeval_bench.core.identifiers import identifiers_in
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import nearest, short_hash, slug
from repoeval_bench.core.syntax import parse
from repoeval_bench.metrics import TEXT_MEASURES, Context, Written, score_run
from repoeval_bench.runs.completion.answers import Limits, answer_all
from repoeval_bench.runs.completion.ending import ENDING, cut, stops
from repoeval_bench.runs.completion.fragments import fragments_of
from repoeval_bench.runs.completion.layout import lay_out, layout_hash
from repoeval_bench.runs.completion.model import parse_model
from repoeval_bench.runs.completion.records import COMPLETIONS, CompletionRow
from repoeval_bench.runs.parts import silent, vectors_folder
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import QRELS, RETRIEVED, RUN, Completed, Means, TimeRow
from repoeval_bench.runs.store import RunFiles, check_writable, jsonl, write_folder
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Benchmark, Task
    from repoeval_bench.core.languages import Language
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.metrics import RunScores
    from repoeval_bench.runs.completion.answers import Answered
    from repoeval_bench.runs.completion.layout import Prompt
    from repoeval_bench.runs.completion.model import Asked, Model
    from repoeval_bench.runs.records import QueryRow
    from repoeval_bench.runs.request import CompletionRequest

CONTEXTS = ("none", "retrieved", "oracle")

STEP = "complete"
"""The step of timings.jsonl: its seconds, requests that were sent, and tokens that the server counted for them."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """A task with its prompt, its language, and how many chunks were passed over."""

    task: Task
    prompt: Prompt
    language: Language
    hidden: int


def prompts_of(run: RunView, benchmark: Benchmark, request: CompletionRequest, context: str) -> list[Prompted]:
    """The prompt of every task of a run, in the order of `benchmark`, which is the run's own."""
    shown = fragments_of(run, benchmark.tasks, context)
    found = []
    for task in benchmark.tasks:
        language = language_of(task.path, benchmark.by_name[task.file].text)
        if language is None:
            raise UsageError(f"{task.file}: its language is not known, so nothing can be put above its code")
        fragments, hidden = shown[task.task_id]
        prompt = lay_out(task.prompt, fragments, language.line_comment, budget=request.budget, most=request.fragments)
        found.append(Prompted(task, prompt, language, hidden))
    return found


def check_request(request: CompletionRequest) -> tuple[Model, Limits]:
    """The model and the limits of a request; a UsageError lists all that is wrong with it."""
    problems = [
        nearest("--context", context, CONTEXTS, f"choose from {', '.join(CONTEXTS)}")
        for context in request.shown
        if context not in CONTEXTS
    ]
    model, price = None, None
    try:
        model = parse_model(request.model or "")
    except SpecError as error:
        problems.append(str(error) if request.model else "no model was named; give --model openai:NAME,base_url=…")
    if request.price is not None:
        try:
            read, written = map(float, request.price.split(":"))
            price = (read, written)
        except ValueError:
            price = None
        if price is None or not all(0 <= each < 1e9 for each in price):
            problems.append(f"--price {request.price!r} is not IN:OUT; write it as 0.15:0.60")
    elif request.cost_limit is not None:
        problems.append("--cost-limit needs --price, as a server does not say what it takes")
    if problems or model is None:
        raise UsageError(all_mistakes(problems))
    limits = Limits(concurrency=request.concurrency, rate=request.rate, price=price, cost=request.cost_limit)
    return model, limits


def complete(
    run: RunView,
    benchmark: Benchmark,
    request: CompletionRequest,
    context: str = "retrieved",
    *,
    out: Path,
    created: str,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> RunView:
    """Complete every task of a run and store that as a run of its own in `out`, with the measures of what was written.

    `benchmark` is the one of `benchmark_of`, `created` an ISO 8601 time. Answers are cached in `home`.
    """
    from repoeval_bench.embedding.storage import VectorCache

    model, limits = check_request(request)
    prompted = prompts_of(run, benchmark, request, context)
    _check_grammars(prompted)
    check_writable(out)
    asked = [
        model.asked(each.prompt.text, stops(each.task, each.language.name, chat=model.chat), each.task.level)
        for each in prompted
    ]
    started = perf_counter()
    answered = answer_all(model, asked, VectorCache(vectors_folder(home), notify), limits)
    seconds = perf_counter() - started
    notify(_account(answered, len(set(asked))))
    rows = [_row(each, request_of, answered, chat=model.chat) for each, request_of in zip(prompted, asked, strict=True)]
    scores = _scores(rows, prompted, benchmark)
    settings = Completed(
        base=base_of(run),
        model=model.spec,
        identity=model.identity,
        context=context,  # type: ignore[arg-type]  # checked above
        budget=request.budget if context != "none" else 0,
        fragments=request.fragments if context != "none" else 0,
        layout=layout_hash(),
        ending=ENDING,
        measures=tuple(scores.values),
        cut_off=sum(answered.answers[each].cut_off for each in asked),
    )
    timing = TimeRow(step=STEP, seconds=round(seconds, 4), encoded=answered.sent, usage=dict(answered.usage))
    return _save(run, settings, scores, rows, timing, out=out, created=created, model=model)


def base_of(run: RunView) -> str:
    """The id of the run that only retrieves: the run's own, unless it was completed."""
    done = run.manifest.completion
    return done.base if done else run.run_id


def _account(answered: Answered, distinct: int) -> str:
    tokens = "".join(f", {count:,} {name.replace('_', ' ')}" for name, count in answered.usage.items())
    cost = "" if answered.cost is None else f", cost {answered.cost:.4f}"
    return f"{distinct:,} distinct prompts: {answered.sent:,} sent{tokens}{cost}, the rest was in the cache"


def _check_grammars(prompted: Sequence[Prompted]) -> None:
    missing = {each.language.name: each.language for each in prompted if not each.language.installed}
    if missing:
        wanted = sorted({each.requirement for each in missing.values()})
        raise LanguageError(
            f"the grammar of {', '.join(sorted(missing))} is not installed, and identifiers are found by it; run pip "
            f"install {' '.join(wanted)}"
        )


def _row(each: Prompted, asked: Asked, answered: Answered, *, chat: bool) -> CompletionRow:
    answer = answered.answers[asked]
    return CompletionRow(
        query_id=each.task.task_id,
        prompt_sha256=sha256_text(asked.prompt),
        prompt_tokens=each.prompt.tokens,
        context_tokens=each.prompt.context_tokens,
        fragments=each.prompt.shown,
        hidden=each.hidden,
        finish=answer.finish,
        text=readable(cut(answer.text, each.task, chat=chat)),
    )


def _scores(rows: Sequence[CompletionRow], prompted: Sequence[Prompted], benchmark: Benchmark) -> RunScores:
    files = benchmark.by_name
    written = {}
    for row, each in zip(rows, prompted, strict=True):
        file, task = files[each.task.file], each.task
        written[row.query_id] = Written(
            text=row.text,
            truth=task.ground_truth,
            names=_names(spliced(file, task.body, row.text), task.body.start, row.text, each.language),
            true_names=_names(file, task.body.start, task.ground_truth, each.language),
            passed=row.passed,
        )
    qrels: Mapping[str, Mapping[str, float]] = {row.query_id: {} for row in rows}
    return score_run({}, qrels, TEXT_MEASURES, Context(written=written))


def spliced(file: SourceFile, hole: LineSpan, text: str) -> SourceFile:
    """The file with `text` in place of the lines of the hole."""
    lines = file.text.splitlines(keepends=True)
    return replace(file, text="".join([*lines[: hole.start], text, *lines[hole.end :]]))


def _names(file: SourceFile, start: int, text: str, language: Language) -> frozenset[str]:
    lines = LineSpan(start, min(start + len(text.splitlines()), file.n_lines))
    return identifiers_in(parse(file, language), lines) if lines else frozenset()


def _save(
    run: RunView,
    settings: Completed,
    scores: RunScores,
    rows: Sequence[CompletionRow],
    timing: TimeRow,
    *,
    out: Path,
    created: str,
    model: Model,
) -> RunView:
    """The run's folder again under another id, with the measures of the texts in place of those that it may have."""
    old = set(run.manifest.completion.measures) if run.manifest.completion else set()
    asked = {name: value for name, value in settings.as_json().items() if name != "cut_off"}
    digest = short_hash(json.dumps(asked, sort_keys=True))
    run_id = f"{settings.base.rpartition('-')[0]}_{slug(model.name, 32)}-{settings.context}-{digest}"
    columns = {name: values.tolist() for name, values in scores.values.items()}
    queries = [_with_texts(row, columns, at, old, rows[at]) for at, row in enumerate(_in_order(run, rows))]
    means = Means.of(
        {name: [row.measures[name] for row in queries] for name in queries[0].measures},
        [row.repo or "all" for row in queries],
    )
    metrics = run.metrics.model_copy(
        update={
            "run_id": run_id,
            "completion": f"{model.name} {settings.context}",
            "micro": means.micro,
            "macro": means.macro,
            "per_repo": means.per_repo,
        }
    )
    manifest = run.manifest.model_copy(
        update={
            "run_id": run_id,
            "created": created,
            "completion": settings,
            "code": code_state(),
            "versions": versions(),
        }
    )
    steps = [row for row in run.timings.steps if row.step != STEP]
    times = [TimeRow(query_id=query_id, latency_ms=dict(ms)) for query_id, ms in run.timings.queries.items()]
    files = RunFiles(
        manifest=manifest,
        metrics=metrics,
        queries=queries,
        timings=[*steps, timing, *times],
        run=run.text(RUN),
        qrels=run.text(QRELS),
        log=run.text(RETRIEVED),
        inspection={
            **{path.name: path.read_bytes() for path in sorted(run.folder.glob("*.jsonl.gz"))},
            COMPLETIONS: jsonl(row.as_json() for row in rows).encode(),
        },
    )
    return RunView(write_folder(out / run_id, files))


def _in_order(run: RunView, rows: Sequence[CompletionRow]) -> list[QueryRow]:
    by_id = {row.query_id: row for row in run.query_rows()}
    return [by_id[row.query_id] for row in rows]


def _with_texts(
    row: QueryRow, columns: Mapping[str, Sequence[float]], at: int, old: set[str], written: CompletionRow
) -> QueryRow:
    kept = {name: value for name, value in row.measures.items() if name not in old}
    facts = {**row.facts, "fragments": len(written.fragments), "prompt_tokens": written.prompt_tokens}
    measures = kept | {name: column[at] for name, column in columns.items()}
    return row.model_copy(update={"facts": facts, "measures": measures})
