"""The steps of a completion, in order: fragments, prompts, answers, what is kept of them, scores, a run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import GrammarError, SpecError, UsageError, all_mistakes
from repoeval_bench.core.extras import install_command, require
from repoeval_bench.core.files import readable, sha256_text
from repoeval_bench.core.identifiers import identifiers_in
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.source import SourceFile, spliced
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.core.words import count
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.metrics import TEXT_MEASURES, Context, RunScores, Written, score_run
from repoeval_bench.plugins.completion.answers import Answered, Limits, answer_all
from repoeval_bench.plugins.completion.ending import ENDING, cut, stops
from repoeval_bench.plugins.completion.folder import Spent, save
from repoeval_bench.plugins.completion.fragments import fragments_of
from repoeval_bench.plugins.completion.layout import MOST_FRAGMENTS, Prompt, lay_out, layout_hash
from repoeval_bench.plugins.completion.model import Asked, Model, parse_model
from repoeval_bench.runs.parts import silent, vectors_folder
from repoeval_bench.runs.records import Completed
from repoeval_bench.runs.row_records import CompletionRow
from repoeval_bench.runs.store import check_writable

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark, Task
    from repoeval_bench.plugins.completion.request import CompletionRequest
    from repoeval_bench.runs.view import RunView

CONTEXTS = ("none", "retrieved", "oracle")


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
    files = benchmark.by_name
    found = []
    for task in benchmark.tasks:
        language = _language(files[task.file])
        fragments, hidden = shown[task.task_id]
        prompt = lay_out(task.prompt, fragments, language.line_comment, budget=request.budget)
        found.append(Prompted(task, prompt, language, hidden))
    return found


def _language(file: SourceFile) -> Language:
    language = language_of(file.path, file.text)
    if language is None:
        raise UsageError(f"{file.name}: its language is not known, so nothing can be put above its code")
    return language


def check_request(request: CompletionRequest) -> tuple[Model, Limits]:
    """The model and the limits of a request; a UsageError lists all that is wrong with it."""
    require("complete", "rapidfuzz")
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
    model, limits = check_request(request)
    prompted = prompts_of(run, benchmark, request, context)
    _check_grammars(prompted)
    check_writable(out)
    cache = VectorCache(vectors_folder(home), notify)
    asked = [
        model.asked(each.prompt.text, stops(each.task, each.language.name, chat=model.chat), each.task.level)
        for each in prompted
    ]
    started = perf_counter()
    answered = answer_all(model, asked, cache, limits)
    spent = Spent(perf_counter() - started, answered.sent, answered.usage)
    notify(_account(answered, len(set(asked))))
    rows = [_row(each, request_of, answered, chat=model.chat) for each, request_of in zip(prompted, asked, strict=True)]
    scores = score_texts(rows, benchmark)
    settings = Completed(
        base=run.run_id,
        model=model.spec,
        identity=model.identity,
        context=context,  # type: ignore[arg-type]  # one of CONTEXTS
        budget=request.budget if context != "none" else 0,
        fragments=MOST_FRAGMENTS if context != "none" else 0,
        layout=layout_hash(),
        ending=ENDING,
        measures=tuple(scores.values),
        cut_off=sum(answered.answers[each].cut_off for each in asked),
    )
    return save(run, settings, scores, rows, spent, name=model.name, out=out, created=created)


def _account(answered: Answered, distinct: int) -> str:
    tokens = "".join(f", {count:,} {name.replace('_', ' ')}" for name, count in answered.usage.items())
    cost = "" if answered.cost is None else f", cost {answered.cost:.4f}"
    rest = ", the rest was in the cache" if answered.sent < distinct else ""
    return f"{count(distinct, 'distinct prompt')}: {answered.sent:,} sent{tokens}{cost}{rest}"


def _check_grammars(prompted: Sequence[Prompted]) -> None:
    missing = {each.language.name: each.language for each in prompted if not each.language.installed}
    if missing:
        raise GrammarError(
            f"the grammar of {', '.join(sorted(missing))} is not installed, and identifiers are found by it; run "
            f"{install_command()}"
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


def score_texts(rows: Sequence[CompletionRow], benchmark: Benchmark) -> RunScores:
    """The measures of what was written, in the order of the rows, each of a task of `benchmark`; none appears twice."""
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
            hole = task.body
            # An empty completion has no name, and the file need not be parsed with it.
            again = replace(file, text=spliced(file.text, hole, row.text))
            completed = parse(again, language) if row.text else as_it_is
            written[row.query_id] = Written(
                text=row.text,
                truth=task.ground_truth,
                names=_names(completed, hole.start, row.text),
                true_names=_names(as_it_is, hole.start, task.ground_truth),
            )
    qrels: Mapping[str, Mapping[str, float]] = {row.query_id: {} for row in rows}
    return score_run({}, qrels, TEXT_MEASURES, Context(written=written))


def _names(parsed: Parsed, start: int, text: str) -> frozenset[str]:
    """The identifiers of a text that begins at a line of the file."""
    lines = LineSpan(start, min(start + len(text.splitlines()), parsed.file.n_lines))
    return identifiers_in(parsed, lines) if lines else frozenset()
