"""`lab sensitivity`: check whether a verdict on two chunkers holds when the setting changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repoeval_bench.cli.console import print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option, note, request_options
from repoeval_bench.cli.output import OUTPUT_JSON
from repoeval_bench.core.errors import ChunkError, ResultError
from repoeval_bench.core.files import write_named
from repoeval_bench.core.words import count
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.plugins.lab.grid import GridRequest, answerable_protocols, check_grid, scoring_protocols
from repoeval_bench.plugins.lab.report.sensitivity import sensitivity_tables
from repoeval_bench.plugins.lab.sensitivity import sensitivity
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.runs.executors import ProcessPool, start_server
from repoeval_bench.runs.materials import log_unread
from repoeval_bench.runs.parts import skipped_line
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.request import DataRequest


@click.command("sensitivity")
@request_options(GridRequest)
@click.option("-o", "--output", type=OUTPUT_JSON, help="Write the cells there as JSON.")
@home_option
@json_option
def sensitivity_command(
    *,
    as_json: bool,
    output: Path | None,
    home: Path | None,
    **fields: Any,
) -> None:
    """Compare every pair of --chunkers in every cell of protocol x query x relevance x retriever x size.

    A cell is decided if the 95 % interval of the difference over files excludes 0. It is noise if the difference is not
    larger than the spread of one chunker whose chunks start at other lines.
    """
    request = GridRequest.of(fields, typed=True)
    by_default = click.get_current_context().get_parameter_source("protocols") is ParameterSource.DEFAULT
    if by_default:
        request = request.model_copy(update={"protocols": scoring_protocols(request)})
    problems = Problems()
    check_grid(request, home, problems)
    problems.check()
    if request.limit is None:
        start_server(request.chunkers)
    log_unread(request.requests())
    data = request.model_dump(include=set(DataRequest.model_fields))
    protocols = map(Protocol.parse, request.protocols)
    without = passed_over(protocols, request.level)
    benchmark = load_benchmark(**data, without=without, home=home)
    if by_default:
        request = request.model_copy(update={"protocols": answerable_protocols(request.protocols, benchmark)})
    grid = request.model_dump(exclude={*DataRequest.model_fields, "chunkers"})
    failed: list[str] = []

    def fail(spec: str, error: ChunkError) -> None:
        failed.append(f"{spec}: {error}")
        note(skipped_line(spec, str(error)))

    with ProcessPool() as executor:
        result = sensitivity(benchmark, request.chunkers, **grid, home=home, executor=executor, fail=fail)
    text = json.dumps([contest.as_dict() for contest in result], indent=2, ensure_ascii=False)
    if output:
        write_named(output, text + "\n", "another file with --output")
    if as_json:
        echo(text)
    else:
        echo(benchmark.label)
        print_tables(sensitivity_tables(result))
    if failed:
        raise ResultError("\n  ".join([f"{count(len(failed), 'chunker')} failed:", *failed]))
