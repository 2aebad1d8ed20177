"""`recommend`: which chunker, and which size, to use for some code."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repoeval_bench.analysis.evidence import PURPOSES, Recommendation
from repoeval_bench.cli import options
from repoeval_bench.cli.console import echo, print_json, print_lines, print_paragraph, print_table
from repoeval_bench.cli.options import note
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.words import count
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.code import is_test
from repoeval_bench.own.packs.pack import NoTaskError, benchmark_of
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.own.recommend.beside import BESIDE
from repoeval_bench.own.recommend.chosen import chosen_of, dump_chosen
from repoeval_bench.own.recommend.own_history import COMMITS, OwnHistory, own_history
from repoeval_bench.own.recommend.recommendation import about_sizes, check_recommendation, recommend, without_runs
from repoeval_bench.own.recommend.request import RecommendRequest
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.comparison import MOST_NOTES
from repoeval_bench.report.html.report import check_page, report_page
from repoeval_bench.report.recommendation import answer_lines, recommendation_record, recommendation_table, setup_lines
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool, start_server
from repoeval_bench.runs.jobs import Workers, check_execution, executor_of
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.parts import PACKS, installed, needs_vectors
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.request import DataRequest, ExecutionRequest, eval_line, shell_line
from repoeval_bench.runs.store import check_writable

_CHOICES = [
    name
    for name in RecommendRequest.model_fields
    if name not in DataRequest.model_fields or name in {"questions", "tests", "extensions"}
]


@click.command("recommend")
@click.argument("source", metavar="PATH")
@options.request_options(RecommendRequest, only=_CHOICES)
@click.option(
    "--report", type=options.OUTPUT, metavar="FILE", help="Write the runs behind the answer as an HTML page too."
)
@options.no_text_option
@click.option(
    "--write",
    type=options.OUTPUT,
    metavar="FILE",
    help="Write the choice and its evidence as TOML; `gate FILE` tests the choice on later commits.",
)
@options.details_option
@options.out_option
@options.home_option
@options.execution_options
@options.json_option
def recommend_command(
    *,
    source: str,
    report: Path | None,
    no_text: bool,
    write: Path | None,
    out: Path,
    home: Path | None,
    execution: ExecutionRequest,
    details: bool,
    as_json: bool,
    **fields: Any,
) -> None:
    """Recommend a chunker and a size for the code in PATH.

    PATH is a folder, a package such as pypi:click==8.1.7, an archive, or a pack made by `data build`.

    At each size, all chunkers have the same mean chunk size. A chunker named with a size, such as ast:max_nws=800, is
    tried only at that size. All are scored on equal amounts of retrieved text. The answer names a chunker and size, its
    costs and its expected loss: our estimate of how much more the truly best candidate finds. It includes code to paste
    for chonkie, LangChain and LlamaIndex.

    For search in a git repository, the queries are subjects of commits. Their target is the lines that the commit
    changed, plus up to five around each. With fewer than 60 usable commits, docstrings are the queries, if there are
    20. For small code bases the answer relies mainly on results from other repositories. An answer by BM25 is printed
    before the embedding model begins. After an interruption, the same command continues.
    """
    request = _with_installed_parts(RecommendRequest.of({"source": source, **fields}, typed=True))
    _check(request, execution, report)
    check_writable(out)
    if is_test(f"{Path(request.source).resolve().name}/"):  # a folder of tests: their helpers are no other code
        request = request.model_copy(update={"tests": "all"})
    if execution.executor is None:
        start_server(request.chunkers)
    with executor_of(execution, out=out, home=home) as executor:
        benchmark = _benchmark_of(request, out)
        history = _history(request, out, home, executor)
        if isinstance(benchmark, NoTaskError) and history and history.data:
            benchmark = history.data.source
        if isinstance(benchmark, NoTaskError):
            recommendation, shown = _unmeasured(benchmark, history, request), request
        else:
            recommendation, shown = _recommend(request, benchmark, history, executor, out=out, home=home)
    if recommendation.runs or recommendation.default:
        try:
            _print(recommendation, shown, out, details=details, as_json=as_json, written=write)
        finally:  # the reader of a pipe may be gone (`| head`), and the files are wanted all the same
            _write(recommendation, benchmark, request, write)
            _report(recommendation, report, out, text=not no_text)
    _check_finished(recommendation)


def _benchmark_of(request: RecommendRequest, out: Path) -> str | NoTaskError:
    """Return the benchmark, or the pack that is made of the code; an error where no task can be made of it."""
    asking = [Protocol.parse(name) for name in request.protocols or PURPOSES[request.purpose]]
    try:
        build = BuildRequest(
            sources=(request.source,),
            tasks=request.tasks,
            ask_tests=request.tests == "all",
            # To find the definitions that code uses takes seconds.
            resolve="names" if any(protocol.of_definitions for protocol in asking) else "no",
            extensions=request.extensions,
        )
        return benchmark_of(build, out / PACKS)
    except NoTaskError as error:
        return error


def _recommend(
    request: RecommendRequest,
    source: str,
    history: OwnHistory | None,
    executor: Executor | Workers,
    *,
    out: Path,
    home: Path | None,
) -> tuple[Recommendation, RecommendRequest]:
    """Return the recommendation for a benchmark or pack, and the request with the source of its deciding questions."""
    # A worker may run in another folder.
    absolute = str(Path(source).resolve()) if Path(source).exists() else source
    data = request.model_dump(include=set(DataRequest.model_fields)) | {"source": absolute, "extensions": None}
    benchmark = load_benchmark(**data, home=home)
    pack = Pack.find(source)
    fields = request.model_dump(exclude=set(DataRequest.model_fields))
    recommendation = recommend(
        benchmark,
        **fields,
        out=out,
        home=home,
        executor=executor,
        data=DataRequest(**data),
        history=history,
        compared=_compared(request),
        unread=pack.unread if pack else {},
    )
    of_commits = recommendation.evidence and recommendation.evidence[0].protocol == COMMITS
    past = history.data if history and of_commits else None
    return recommendation, request.model_copy(update={"source": past.source if past else source, "extensions": None})


def _check_finished(recommendation: Recommendation) -> None:
    """Raise a ResultError if a run failed, or if none was made in time."""
    if recommendation.n_failed:
        raise ResultError(
            "\n  ".join([f"{count(recommendation.n_failed, 'run')} failed; skipped:", *recommendation.skipped])
        )
    if not recommendation.runs and not recommendation.default:
        raise ResultError("nothing was finished within --time-limit; raise it, or name fewer chunkers and sizes")


def _history(
    request: RecommendRequest, out: Path, home: Path | None, executor: Executor | Workers
) -> OwnHistory | None:
    """Read the history of the source; its commits ask where docstrings would, or where they are named."""
    by_purpose = not (request.protocols or request.questions) and request.purpose != "completion"
    asks = by_purpose or COMMITS in request.protocols
    return own_history(
        request.source,
        out / PACKS,
        home=home,
        asks=asks,
        tests=request.tests,
        extensions=request.extensions or (),
        executor=executor if isinstance(executor, ProcessPool) else IN_PROCESS,
    )


def _with_installed_parts(request: RecommendRequest) -> RecommendRequest:
    """Return the request without the default chunkers and retrievers that are not installed; what was typed stays."""
    source_of = click.get_current_context().get_parameter_source
    kinds = [kind for kind in ("chunker", "retriever") if source_of(f"{kind}s") is ParameterSource.DEFAULT]
    available = {f"{kind}s": installed(kind, getattr(request, f"{kind}s")) for kind in kinds}
    by_vectors = [name for name in available.get("retrievers", ()) if needs_vectors(name)]
    default_model = source_of("embedder") is ParameterSource.DEFAULT
    if by_vectors and default_model and not installed("embedder", [request.embedder]):
        available["retrievers"] = tuple(name for name in available["retrievers"] if name not in by_vectors)
    return request.model_copy(update=available)


def _compared(request: RecommendRequest) -> tuple[str, ...]:
    """Return the retrievers to compare on the choice: those that were named, else all that are installed."""
    if click.get_current_context().get_parameter_source("retrievers") is not ParameterSource.DEFAULT:
        return request.retrievers
    by_vectors = any(map(needs_vectors, request.retrievers))
    return (*request.retrievers, *(name for name in BESIDE if by_vectors or not needs_vectors(name)))


def _unmeasured(error: NoTaskError, history: OwnHistory | None, request: RecommendRequest) -> Recommendation:
    skipped = [str(error), *([history.too_few()] if history and history.n_questions else [])]
    note(f"note: {'; '.join(skipped)}")
    (source,) = error.sources
    code = about_sizes(source.repository, source.files, source.lines, source.unread)
    return without_runs(code.model_copy(update={"tests": request.tests}), request, tuple(skipped))


def _check(request: RecommendRequest, execution: ExecutionRequest, report: Path | None) -> None:
    """Report every mistake that shows before code is read or fetched."""
    problems = Problems()
    if report is not None:
        with problems.about("report"):
            check_page("--report")
    with problems.about("executor"):
        check_execution(execution)
    check_recommendation(request, problems)
    problems.check()


def _report(recommendation: Recommendation, report: Path | None, out: Path, *, text: bool) -> None:
    """Write the page, if a file was named; its failure loses nothing that was printed."""
    if report and not recommendation.evidence:
        note(f"{report} is not written: nothing was measured that it could show")
    elif report:
        runs = find_runs(recommendation.evidence[0].runs.values(), out)
        options.write_and_say(
            report, report_page(runs, str(report), answer=recommendation, text=text), "another file with --report"
        )


def _write(
    recommendation: Recommendation, benchmark: str | NoTaskError, request: RecommendRequest, path: Path | None
) -> None:
    """Write the choice, if a file was named, and say how to test it later."""
    if path:
        if isinstance(benchmark, NoTaskError):
            chosen = chosen_of(recommendation, benchmark.sources, request.extensions or ())
        elif pack := Pack.find(benchmark):
            chosen = chosen_of(recommendation, pack.content.sources, pack.content.extensions)
        else:
            chosen = chosen_of(recommendation)
        options.write_and_say(path, dump_chosen(chosen), "another file with --write")
        code = request.source if chosen.commit and not Pack.find(request.source) else "CHECKOUT"
        gate = shell_line(["gate", str(path), "--source", code])
        note(f"test it on later commits: {gate} (docs/ci.md)")


def _print(
    recommendation: Recommendation,
    request: RecommendRequest,
    out: Path,
    *,
    details: bool,
    as_json: bool,
    written: Path | None,
) -> None:
    """Print the answer; `written` is the file that the choice is written to."""
    if as_json:
        print_json(recommendation_record(recommendation, request.source).as_json())
        return
    use, *evidence = answer_lines(recommendation)
    print_paragraph(use)
    if evidence:
        echo()
    for paragraph in evidence:
        print_paragraph(paragraph)
    if setups := setup_lines(recommendation):
        echo()
        print_lines(setups)
    echo()
    echo(f"{'Measured on' if recommendation.decision else 'Not measured:'} {recommendation.data}")
    table = recommendation_table(recommendation, details=details)
    print_table(table if details or not recommendation.decision else replace(table, notes=table.notes[:MOST_NOTES]))
    if not recommendation.decision:
        return
    first = recommendation.evidence[0]
    rival = recommendation.decision.candidates[1].name
    if recommendation.current and recommendation.current.gains:
        rival = recommendation.current.label
        # The protocol whose gain is the clearest: after `Switch`, one that says to switch.
        clearest = max(recommendation.current.gains, key=lambda gain: gain.ci[0] if gain.ci else -1.0).protocol
        first = next(one for one in recommendation.evidence if one.protocol == clearest)
    two_runs = [first.runs[label] for label in (rival, recommendation.decision.choice.name)]
    deciding_run = next(run for run in request.requests([first.protocol]) if run.retriever == first.retriever)
    spec = recommendation.candidates[recommendation.decision.choice.name].spec
    own_run = eval_line(deciding_run.model_copy(update={"chunker": spec}), out=out)
    keep = [] if written else ["keep the choice, and test it in CI: --write chunking.toml (docs/ci.md)"]
    more = [] if details else [f"all {len(recommendation.decision.candidates)} candidates and every note: --details"]
    print_lines(
        [
            *more,
            f"HTML page: {shell_line(['report'], out=out)}",
            f"test the choice against {rival}: {shell_line(['compare', *two_runs], out=out)}",
            *keep,
            f"run the choice alone, on all queries of {first.protocol}: {own_run}",
        ]
    )
