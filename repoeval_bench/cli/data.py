"""`repoeval-bench data`: fetch RepoEval, build a pack of any code, show what is here, verify it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.cli.console import echo, print_json, print_lines, print_table
from repoeval_bench.cli.group import NamedGroup
from repoeval_bench.cli.options import OUTPUT_FOLDER, json_option, note, refuse_unread, request_options, set_options
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.dataset.home import data_home
from repoeval_bench.dataset.loader import Obtained, describe, load_set, obtain, task_set_at
from repoeval_bench.dataset.pack import Pack, PackFile
from repoeval_bench.dataset.verification import RepositorySummary, summarize
from repoeval_bench.dataset.verification import verify as verify_set
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.report.table import Column, Table, figures, make_table
from repoeval_bench.runs.request import shell_line


@click.group("data", cls=NamedGroup)
def data_group() -> None:
    """Fetch, verify and describe the benchmark's data."""


@data_group.command(short_help="Fetch the data that is missing, and show it.")
@set_options
@json_option
def fetch(*, as_json: bool, **options: Any) -> None:
    """Fetch the data that is missing; show its tasks, files, licences and fingerprint."""
    obtained = _obtain(**options, upgrade=True)
    benchmark = load_set(obtained.installed)
    rows = summarize(benchmark, obtained.installed)
    if as_json:
        facts = {
            "name": benchmark.name,
            "fingerprint": benchmark.fingerprint,
            "source": benchmark.source,
            "folder": str(obtained.installed.root),
            "tasks": len(benchmark.tasks),
            "whole_tasks": benchmark.whole_tasks,
            "files": sum(map(len, benchmark.files.values())),
            "whole_repositories": benchmark.whole_repos,
            "repositories": {repo: asdict(row) for repo, row in rows.items() if row.files},
            "missing": [repo for repo, row in rows.items() if not row.files],
            "undecodable": list(benchmark.undecodable),
        }
        print_json(facts)
        return
    echo(benchmark.label)
    echo(describe(obtained, benchmark.tasks))
    echo(f"{'fetched into' if obtained.fetched else 'already in'} {obtained.installed.root}")
    print_table(_table(rows))
    if benchmark.undecodable:
        echo(f"left out, not UTF-8: {', '.join(benchmark.undecodable)}")
    echo("The repositories keep their own licences; check them before you pass anything on.")


@data_group.command(short_help="Check every ground truth and every file.")
@set_options
@json_option
def verify(*, as_json: bool, **options: Any) -> int:
    """Check that every ground truth is at its lines and that no file has changed; exit code 1 if not."""
    obtained = _obtain(**options)
    result = verify_set(obtained.installed)
    if as_json:
        print_json(asdict(result) | {"passed": result.passed})
    else:
        note(describe(obtained, obtained.installed.read_tasks()))
        for line in (*result.wrong_tasks, *result.wrong_files):
            echo(line)
        right = result.tasks - len(result.wrong_tasks)
        echo(f"{right} of {result.tasks} ground truths are at their lines")
        echo(f"{count(result.files, 'file')} hashed again, {len(result.wrong_files)} wrong")
    return 0 if result.passed else 1


@data_group.command(short_help="Build a pack, a benchmark of any code.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", required=True, type=OUTPUT_FOLDER, metavar="PACK", help="Where to write the pack.")
@request_options(BuildRequest, only=BuildRequest.model_fields.keys() - {"sources", "ask_tests"})
@click.option(
    "--commits",
    is_flag=True,
    help="Instead of tasks, queries from the history of SOURCE, a checkout or bare repository.",
)
@click.option(
    "--since", default="", metavar="DATE|REV", help="With --commits: use later commits only. [default: 5 years]"
)
@click.option(
    "--windows",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="With --commits: search at most N older trees, each with the subjects of the commits after it.",
    metavar="N",
)
@json_option
def build(*, as_json: bool, output: Path, commits: bool, **fields: Any) -> None:
    """Build a pack of tasks (complete a function) from any code in ten languages; the same source gives the same tasks.

    \b
    SOURCE is  a folder, or a git checkout (what git ignores is left out)
               an archive: zip or tar
               pypi:NAME==VERSION, the pure-Python wheel or else the sdist, from pip's index
               sdist:NAME==VERSION, the sdist, which often has the tests that a wheel lacks
               npm:NAME@VERSION, the tarball from npm's registry

    Nothing of a source is run. Vendored, generated and minified files are left out and counted; docs/data.md has the
    rules. PACK is then a --source like any other. A pack of --commits is scored by --protocol commits. It holds
    subjects of commits and code, and no author's name.
    """  # noqa: D301  # click keeps the lines below this character as they are
    history = {name: fields.pop(name) for name in ("since", "windows")}
    if commits:
        content = _history_pack(output, history, **fields).content
    else:
        from repoeval_bench.own.packs.pack import build_pack

        refuse_unread(set(history), "without --commits", "or add --commits")
        content = build_pack(BuildRequest.of(fields, typed=True), output).content
    if as_json:
        print_json(content.model_dump(by_alias=True))
        return
    echo(f"{content.name} · {', '.join(content.languages)} · {output}")
    print_table(_counted(content, commits=commits))
    print_lines([f"choose a chunker on this pack: {shell_line(['recommend', str(output)])}"])


def _history_pack(
    output: Path,
    history: dict[str, Any],
    *,
    sources: tuple[str, ...],
    name: str,
    extensions: tuple[str, ...] | None,
    **code: Any,
) -> Pack:
    from repoeval_bench.own.history.benchmark import build_history_pack
    from repoeval_bench.own.history.questions import CommitOptions
    from repoeval_bench.runs.executors import ProcessPool

    refuse_unread(set(code), "with --commits, which makes no tasks of code")
    if len(sources) > 1:
        raise UsageError(f"--commits reads one history, and {len(sources)} sources are named; build a pack of each")
    with ProcessPool() as pool:
        return build_history_pack(sources[0], output, CommitOptions(**history), name, extensions or (), pool.map)


def _counted(content: PackFile, *, commits: bool) -> Table:
    """Tabulate what became of the commits, or of the functions: what is kept, and the others by reason."""
    from repoeval_bench.own.history.questions import REASONS
    from repoeval_bench.own.packs.candidates import LEFT_OUT

    (level,) = content.levels.values()
    if commits:
        heads, reasons = figures("commits", number=""), REASONS
        rows = [("commits read", level.candidates, ""), ("queries", level.tasks, "kept in the pack")]
    else:
        heads, reasons = figures("functions", number=""), LEFT_OUT
        drawn = ("tasks", level.tasks, "drawn from the candidates, and kept in the pack")
        rows = [("candidates", level.candidates, "functions that could be tasks"), drawn]
    rows += ((f"left out: {reason}", n, reasons[reason]) for reason, n in level.left_out.items() if n)
    return make_table(["", *heads, Column(name="meaning", prose=True)], rows)


def _obtain(
    *, source: str, level: str, context: str, tokenizer: str, home: Path | None, upgrade: bool = False
) -> Obtained:
    return obtain(source, task_set_at(source, level, context, tokenizer), data_home(home), upgrade=upgrade)


def _table(rows: dict[str, RepositorySummary]) -> Table:
    """Tabulate the repositories, and below them the total."""
    cells = [
        (repo, _part(row.tasks, row.whole_tasks), _part(row.files, row.whole_files), row.licence)
        for repo, row in rows.items()
    ]
    summaries = rows.values()
    cells.append(("total", str(sum(row.tasks for row in summaries)), str(sum(row.files for row in summaries)), ""))
    return make_table(["repository", *figures("tasks", "files"), "licence"], cells)


def _part(present: int, whole: int | None) -> str:
    return str(present) if whole in {None, present} else f"{present} of {whole}"
