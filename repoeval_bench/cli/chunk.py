"""`chunker show`, `chunker stats` and `chunker check`: what a chunker does, without a model."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import check_chunker
from repoeval_bench.chunkers.tools.statistics import ChunkStats, chunk_stats
from repoeval_bench.cli.console import echo, print_json, print_table
from repoeval_bench.cli.options import home_option, json_option, note, refuse_unread, request_options
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, UsageError, of_each, os_errors_as
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile, count_nws
from repoeval_bench.core.words import count, one_line
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.reading.opening import ARCHIVES
from repoeval_bench.dataset.reading.plain import read_code
from repoeval_bench.dataset.trees import decode
from repoeval_bench.report.table import Column, number, table_of
from repoeval_bench.report.text import CHARACTERS_NOTE, heading
from repoeval_bench.retrieval.corpus import chunk_files
from repoeval_bench.runs.problems import check_distinct
from repoeval_bench.runs.request import DataRequest

_skip_option = click.option("--skip-errors", is_flag=True, help="Skip files that the chunker fails on, and count them.")


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--chunker",
    "-c",
    "spec",
    default="ast",
    show_default=True,
    metavar="SPEC",
    help="A chunker such as ast:max_nws=800, py:module:Class or exec:COMMAND; see `list chunkers`.",
)
@_skip_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line per chunk.")
def show_command(*, path: Path, spec: str, skip_errors: bool, as_json: bool) -> None:
    """Split the file, folder or archive PATH, and print each chunk with its lines, counted from 1.

    A folder or an archive is read as by `recommend`: without vendored, generated and minified files.
    In JSON, lines and characters are 0-based and half-open, as everywhere in this project's files.
    """
    chunker = make_chunker(spec)
    for file, chunks in _chunked(chunker, [*_read(path).values()], skip_errors=skip_errors):
        if not chunks:
            note(f"{one_line(file.path)}: no chunk")
        for chunk in chunks:
            if as_json:
                echo(json.dumps(_record(chunk), ensure_ascii=False))
            else:
                lines = f"{one_line(chunk.path)}:{chunk.lines.start + 1}-{chunk.lines.end}"
                echo(f"── {lines} · {count_nws(chunk.text)} characters {'─' * 20}", colour="cyan")
                echo(chunk.embed_text, nl=not chunk.embed_text.endswith("\n"))


@click.command("stats")
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, metavar="[PATH]...")
@click.option("--chunker", "-c", "specs", multiple=True, metavar="SPEC", help="A chunker; may be repeated, to compare.")
@_skip_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line per chunker.")
@request_options(DataRequest)
@home_option
def stats_command(
    *,
    paths: tuple[Path, ...],
    specs: tuple[str, ...],
    skip_errors: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure chunkers on the files and folders PATH, or without PATH on the benchmark's repositories."""
    if paths:
        refuse_unread({*DataRequest.model_fields, "home"}, "with PATH", "or leave out PATH")
    chunkers = of_each(make_chunker, specs or ("ast",))
    check_distinct(chunkers)
    if paths:
        files = [*{location: file for path in paths for location, file in _read(path).items()}.values()]
    else:
        benchmark = load_benchmark(**options)
        files = [file for repo_files in benchmark.files.values() for file in repo_files]
    measured = [chunk_stats(one.spec, _chunked(one, files, skip_errors=skip_errors)) for one in chunkers]
    if as_json:
        for stats in measured:
            echo(json.dumps(asdict(stats), ensure_ascii=False))
    else:
        _print_stats(measured)


@click.command("check")
@click.argument("spec")
@click.option("--examples", type=click.IntRange(min=0), default=40, show_default=True, help="Generated files to add.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the generated files.")
@json_option
def check_command(*, spec: str, examples: int, seed: int, as_json: bool) -> int:
    """Print which rules a chunker keeps, and the shortest input that breaks one; exit code 1 if any does."""
    report = check_chunker(make_chunker(spec), examples=examples, seed=seed)
    if as_json:
        print_json(asdict(report) | {"conforms": report.conforms})
    else:
        echo(str(report))
    return 0 if report.conforms else 1


def _read(path: Path) -> dict[Path, SourceFile]:
    """Read a file of any name, or those files of a folder or archive that a pack would have; return path -> file."""
    if not path.exists():
        raise UsageError(f"{path} does not exist; name a file, a folder or an archive")
    if path.is_dir() or path.name.lower().endswith(ARCHIVES):
        return {path.resolve() / file.path: file for file in read_code(str(path))[1]}
    with os_errors_as(DatasetError, f"{path} cannot be read", "name another file"):
        raw = path.read_bytes()
    try:
        return {path.resolve(): SourceFile(path.resolve().parent.name or "root", path.name, decode(raw))}
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 (byte {error.start}); convert it first") from error


def _chunked(
    chunker: Chunker, files: Sequence[SourceFile], *, skip_errors: bool
) -> list[tuple[SourceFile, tuple[Chunk, ...]]]:
    """Return each file with its chunks. A file that the chunker fails on ends the command, or is skipped and noted."""
    way_out = ", or leave such files out (--skip-errors)"
    try:
        chunked, skipped, *_ = chunk_files(files, chunker, skip_errors=skip_errors)
    except ChunkError as error:
        raise type(error)(str(error).replace(OR_SKIP, way_out)) from error
    if skipped:
        first = skipped[0].removesuffix(OR_SKIP)
        note(f"skipped: {count(len(skipped), 'file')} that {chunker.spec} failed on; the first: {first}")
    return chunked


def _record(chunk: Chunk) -> dict[str, object]:
    return {
        "chunk_id": chunk.chunk_id,
        "repo": chunk.repo,
        "path": chunk.path,
        "start": chunk.chars.start,
        "end": chunk.chars.end,
        "start_line": chunk.lines.start,
        "end_line": chunk.lines.end,
        "nws": count_nws(chunk.text),
        "text": chunk.text,
        **({"embedded": chunk.embed_text} if chunk.embed_text != chunk.text else {}),
    }


def _print_stats(measured: Sequence[ChunkStats]) -> None:
    columns = [
        Column(name="chunker", value=lambda row: row.spec),
        number("files", lambda row: row.files, ""),
        number("chunks", lambda row: row.chunks, ""),
        number(heading("mean_nws"), lambda row: row.mean, ".1f"),
        number("median", lambda row: row.median, ""),
        number("p95", lambda row: row.p95, ""),
        number("max", lambda row: row.max, ""),
        number("definitions whole", lambda row: _share(row.whole, row.definitions)),
        number("lines twice", lambda row: _share(row.shared_lines, row.lines)),
        number("lines lost", lambda row: row.uncovered_lines, ""),
    ]
    print_table(table_of(columns, measured))
    if measured[0].unknown:
        echo(f"{count(measured[0].unknown, 'file')} of an unknown language, whose definitions are not counted")
    echo(
        f"{count(measured[0].definitions, 'function or type', 'functions and types')}, "
        f"{count(measured[0].lines, 'non-blank line')}; {CHARACTERS_NOTE}"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
