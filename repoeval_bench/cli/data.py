"""`repoeval-bench data`: fetch RepoEval, show what is here, verify it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, say, set_options

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.dataset.obtain import Obtained
    from repoeval_bench.dataset.summary import RepositorySummary
    from repoeval_bench.report.table import Table


@click.group("data")
def data_group() -> None:
    """Fetch, verify and describe the benchmark's data."""


@data_group.command()
@set_options
@click.option("--upgrade", is_flag=True, help="Try to get more if only a part of the data is present.")
def fetch(*, upgrade: bool, **options: Any) -> None:
    """Fetch the data where it is missing; data that is here is not fetched again."""
    from repoeval_bench.dataset.loader import describe, load_set
    from repoeval_bench.dataset.summary import summarize

    obtained = _obtain(**options, upgrade=upgrade)
    benchmark = load_set(obtained.installed)
    echo(describe(obtained, benchmark.tasks))
    echo(f"{'fetched into' if obtained.fetched else 'already in'} {obtained.installed.root}")
    print_table(_table(summarize(benchmark, obtained.installed)))
    echo("The repositories keep their own licences; check them before you pass anything on.")


@data_group.command()
@set_options
@json_option
def info(*, as_json: bool, **options: Any) -> None:
    """Show tasks, files and licence of each repository, the fingerprint, the source and what is missing."""
    from repoeval_bench.dataset.loader import describe, load_set
    from repoeval_bench.dataset.summary import summarize

    obtained = _obtain(**options)
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
    echo(f"folder {obtained.installed.root}")
    print_table(_table(rows))
    if benchmark.undecodable:
        echo(f"left out, not UTF-8: {', '.join(benchmark.undecodable)}")


@data_group.command()
@set_options
@json_option
def verify(*, as_json: bool, **options: Any) -> None:
    """Check that every ground truth is at its lines and that no file has changed; exit code 1 where not."""
    from repoeval_bench.dataset.loader import describe
    from repoeval_bench.dataset.verification import verify as verify_set

    obtained = _obtain(**options)
    result = verify_set(obtained.installed)
    if as_json:
        print_json(asdict(result) | {"passed": result.passed})
    else:
        say(describe(obtained, obtained.installed.read_tasks()))
        for line in (*result.wrong_tasks, *result.wrong_files):
            echo(line)
        right = result.tasks - len(result.wrong_tasks)
        echo(f"{right} of {result.tasks} ground truths are at their lines")
        echo(f"{result.files} files hashed again, {len(result.wrong_files)} wrong")
    if not result.passed:
        click.get_current_context().exit(1)


def _obtain(
    *, source: str, level: str, context: str, tokenizer: str, home: Path | None, upgrade: bool = False
) -> Obtained:
    from repoeval_bench.dataset.home import data_home
    from repoeval_bench.dataset.obtain import obtain
    from repoeval_bench.dataset.repoeval import combination

    return obtain(source, combination(level, context, tokenizer), data_home(home), upgrade=upgrade)


def _table(rows: dict[str, RepositorySummary]) -> Table:
    """Repositories, the total below."""
    from repoeval_bench.report.table import figures, make_table

    cells = [
        (repo, _part(row.tasks, row.whole_tasks), _part(row.files, row.whole_files), row.licence)
        for repo, row in rows.items()
    ]
    here = rows.values()
    cells.append(("total", str(sum(row.tasks for row in here)), str(sum(row.files for row in here)), ""))
    return make_table(["repository", *figures("tasks", "files"), "licence"], cells)


def _part(here: int, whole: int | None) -> str:
    return str(here) if whole in {None, here} else f"{here} of {whole}"
