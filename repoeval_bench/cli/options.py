"""Options that commands share. Those of a run are made from the fields of its request, so that each is written once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource

from repoeval_bench.cli.console import echo
from repoeval_bench.core.errors import ResultError, UsageError, nearest, os_errors_as
from repoeval_bench.core.files import check_writable, write_named
from repoeval_bench.runs.parts import RESULTS, is_url
from repoeval_bench.runs.request import DataRequest, ExecutionRequest, Flag, Request, RunRequest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic.fields import FieldInfo

    from repoeval_bench.runs.view import RunView


_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

home_option = click.option(
    "--home",
    envvar="REPOEVAL_HOME",
    type=click.Path(file_okay=False, path_type=Path),
    show_envvar=True,
    help="Folder of fetched data and of vectors; the user's cache folder by default.",
)
"""--home (a Path or None)."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the tables.")
"""--json (as_json)."""

details_option = click.option("--details", is_flag=True, help="Print every table and note, not only the answer.")
"""--details (a bool)."""


class _FolderOrUrl(click.Path):
    """A folder, or the URL of a store as it was typed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        if is_url(text):
            return value
        if (address := re.fullmatch(r"([a-z][a-z0-9+.-]+):/(.*)", text)) and not Path(text).exists():
            slashes = ":///" if address[1] == "file" else "://"
            self.fail(
                f"{text} is not a URL; write {address[1]}{slashes}{address[2]}, or ./{text} for a folder", param, ctx
            )
        return super().convert(value, param, ctx)


def _folder_at(location: str | Path, home: Path | None, *, reads: bool) -> Path:
    """Return a folder itself, or the cache of the store at a URL; with `reads` the whole store is fetched into it."""
    if isinstance(location, Path):
        return location
    from repoeval_bench.runs.results import results_at  # few commands are given a store

    results = results_at(location, home)
    if reads:
        results.read()
    return results.out


def _out(meaning: str, *, reads: bool = False) -> _Decorator:
    """Add --out; the command gets a folder (a Path), see `_folder_at`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_folder(**options: Any) -> Any:
            return command(**options | {"out": _folder_at(options["out"], options.get("home"), reads=reads)})

        location = _FolderOrUrl(path_type=Path, file_okay=not reads)
        return click.option(
            "--out", type=location, metavar="DIRECTORY|URL", default=RESULTS, show_default=True, help=meaning
        )(with_folder)

    return decorate


out_option = _out("Folder for runs, or the URL of a store that machines share: s3://BUCKET, file:///shared.")
"""--out (a Path)."""

runs_folder = _out("Folder of the runs, or the URL of a store, whose runs are fetched.", reads=True)
"""--out, the folder in which runs are found (a Path)."""


def request_options(
    model: type[Request], *, several: Collection[str] = (), only: Collection[str] | None = None
) -> _Decorator:
    """Add an option for each field of a request, passed on under the field's name; `--set` for the rare ones.

    `several`: fields that may be given more than once. `only`: the fields that the command reads.
    """
    names = [name for name in model.options() if only is None or name in only]
    # `--help` shows the options of the run before those of its data.
    names.sort(key=lambda name: name in DataRequest.model_fields)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = model.options()
        rare = [name for name in names if options[name].rare]
        if rare:
            fields = {name: (options[name], model.model_fields[name].default) for name in rare}
            command = click.option("--set", cls=RareFields, fields=fields)(_help_all(command))
        for name in reversed(names):
            if name not in rare:
                command = _option(name, options[name], model.model_fields[name], several=name in several)(command)
        return command

    return decorate


class RareFields(click.Option):
    """`--set FIELD=VALUE`: the fields that few people need, passed on under their names like options."""

    def __init__(self, spelled: Sequence[str], fields: Mapping[str, tuple[Flag, Any]]) -> None:
        super().__init__(
            spelled,
            multiple=True,
            metavar="FIELD=VALUE",
            expose_value=False,
            callback=self._assign,
            help="Set a rarely needed field; may be repeated. --help-all lists them.",
        )
        self.fields = fields
        """Field -> (its option, its default)."""

    def _assign(self, context: click.Context, _option: click.Parameter, assignments: Sequence[str]) -> None:
        values: dict[str, str] = {}
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            name = name.strip().replace("-", "_")
            if name not in self.fields:
                raise UsageError(f"--set {assignment}: {nearest('field', name, self.fields)}")
            if name in values:
                raise UsageError(f"--set {name} is given twice and takes one value; leave all but one out")
            if not value and self.fields[name][1] is not False:
                raise UsageError(f"--set {name} has no value; give --set {name}=VALUE")
            values[name] = value
        for name, (_, default) in self.fields.items():
            chosen = values.get(name, context.lookup_default(name))
            # The request converts the text by the field's type, or refuses it beside its other mistakes.
            context.params[name] = default if chosen is None else chosen or True
            source = ParameterSource.COMMANDLINE if name in values else ParameterSource.DEFAULT
            context.set_parameter_source(name, source)


def _print_all_help(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the help with the fields of `--set`."""
    if not value or context.resilient_parsing:
        return
    formatter = context.make_formatter()
    context.command.format_help(context, formatter)
    rows = [
        (name if default is False else f"{name}={option.metavar or 'VALUE'}", option.text)
        for name, (option, default) in rare_fields(context.command).items()
    ]
    with formatter.section("Fields of --set"):
        formatter.write_dl(rows)
    echo(formatter.getvalue().rstrip())
    context.exit()


def rare_fields(command: click.Command) -> Mapping[str, tuple[Flag, Any]]:
    """Return the fields of a command's `--set`: field -> (its option, its default)."""
    return next((option.fields for option in command.params if isinstance(option, RareFields)), {})


_help_all = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_all_help,
    help="Show this message with the fields of --set, and exit.",
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add every option of a run, --chunker as one that may be repeated, and --out, --home and --json."""
    return request_options(RunRequest, several=["chunker"])(out_option(home_option(json_option(command))))


def execution_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an executor; the command gets `execution`, an ExecutionRequest."""

    @wraps(command)
    def with_execution(**options: Any) -> Any:
        fields = {name: options.pop(name) for name in ExecutionRequest.model_fields}
        return command(execution=ExecutionRequest.of(fields, typed=True), **options)

    return request_options(ExecutionRequest)(with_execution)


def set_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --source, --home and --set for level, context and tokenizer, passed on under these names."""
    return request_options(DataRequest, only=("source", "level", "context", "tokenizer"))(home_option(command))


allow_option = click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="SPEC",
    help="Use this code (py:…, exec:…), model or server if the folder names it; may be repeated.",
)


def requests_of(chunkers: Sequence[str], fields: Mapping[str, Any]) -> list[RunRequest]:
    """Return a request for each chunker, or one without a chunker."""
    return [RunRequest.of({**fields, "chunker": chunker}, typed=True) for chunker in chunkers or (None,)]


def _option(name: str, option: Flag, field: FieldInfo, *, several: bool) -> _Decorator:
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not NoneType]
    default = field.default
    settings: dict[str, Any] = {"help": option.text, "metavar": option.metavar}
    if option.variable:
        settings |= {"envvar": option.variable, "show_envvar": True}
    if option.words:
        settings |= {"multiple": True, "callback": partial(words_of, kind=get_args(kinds[0])[0])}
    elif option.path:
        settings |= {"multiple": True, "default": (default,), "type": click.Path(), "callback": _as_path}
    elif several or isinstance(default, tuple):
        settings |= {"multiple": True, "default": default or ()}
    elif get_origin(field.annotation) is Literal:
        settings |= {"type": click.Choice(kinds), "default": default}
    elif kinds == [bool]:
        settings |= {"is_flag": True, "default": default}
    else:
        low = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
        settings |= {"type": click.IntRange(min=low) if low is not None else kinds[0], "default": default}
    settings["show_default"] = bool(settings.get("default"))
    spelled = option.spelled or f"--{name.replace('_', '-')}"
    return click.option(*filter(None, (spelled, option.also)), name, **settings)


def _as_path(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> str:
    """Join the values of an option as in PATH."""
    return os.pathsep.join(values)


def words_of(
    _context: click.Context, parameter: click.Parameter, values: Sequence[str], *, kind: type[str | int]
) -> tuple[str | int, ...] | None:
    """Split all values at blanks and commas, and convert each word to `kind`; None if there is no word."""
    text = " ".join(values)
    try:
        return tuple(map(kind, text.replace(",", " ").split())) or None
    except ValueError:
        raise UsageError(f"{parameter.opts[0]} {text!r}: give whole numbers, separated by commas") from None


def refuse_unread(names: Collection[str], because: str, way_out: str = "") -> None:
    """Raise a UsageError if one of these parameters is on the command line; `because` says why it is not read.

    `way_out`, such as `or add --execute`, is what the user can do instead of leaving it out.
    """
    context = click.get_current_context()
    typed = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    typed += [
        option.spelling(name)
        for name, (option, _) in rare_fields(context.command).items()
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if typed:
        one = len(typed) == 1
        raise UsageError(
            f"{', '.join(typed)} {'changes' if one else 'change'} nothing {because}; leave {'it' if one else 'them'} "
            f"out{way_out and f', {way_out}'}"
        )


def option_variables(command: click.Command, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return parameter -> the value of the variable with its name: CHUNKER for --chunker, MATCH_SIZE for --match-size.

    In the variable of a parameter that may be repeated, blanks separate the values. An empty variable counts as unset.
    For a group, return command -> its parameters.
    """
    values: dict[str, Any] = {}
    if isinstance(command, click.Group):
        return {name: option_variables(inner, environment) for name, inner in command.commands.items()}
    for parameter in command.params:
        if parameter.name in _NOT_VARIABLES or parameter.name is None:
            continue
        names = [spelled[2:].upper().replace("-", "_") for spelled in parameter.opts if spelled.startswith("--")]
        if value := next(filter(None, map(environment.get, names)), None):
            values[parameter.name] = parameter.type.split_envvar_value(value) if parameter.multiple else value
    return values | {name: value for name in rare_fields(command) if (value := environment.get(name.upper()))}


# Parameters that are never read from a variable: HOME is the user's, and the others are for one call.
_NOT_VARIABLES = frozenset({"home", "as_json", "dry_run", "help", "help_all", "set"})


def depth_option(meaning: str) -> _Decorator:
    """Add -k (int or None): the depth of the rankings; None means 10, or what the run ranks if that is less."""
    return click.option(
        "-k",
        type=click.IntRange(min=1),
        help=f"{meaning}  [default: 10, or what the run ranks where that is less]",
    )


def note(line: str) -> None:
    """Print a notice on standard error, so that the output stays clean."""
    echo(line, err=True)


class _Output(click.Path):
    """A file or folder that a command writes; whether it is writable is checked before anything is computed."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=not folder, dir_okay=folder)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_url(str(value)):
            raise UsageError(f"{value} is a URL; give a {'file' if self.file_okay else 'folder'} of this machine")
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        named = f" with {min(param.opts, key=len)}" if isinstance(param, click.Option) else ""
        check_writable(path, f"another {'file' if self.file_okay else 'folder'}{named}", folder=not self.file_okay)
        return path


INPUT = click.Path(path_type=Path, dir_okay=False, exists=True)
"""A file that is read; a missing one is a usage error in every command."""

OUTPUT = _Output()
OUTPUT_FOLDER = _Output(folder=True)

summary_option = click.option(
    "--github-summary",
    "summary",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    envvar="GITHUB_STEP_SUMMARY",
    show_envvar=True,
    metavar="FILE",
    help="Append the results as Markdown to this file.",
)

no_text_option = click.option(
    "--no-text",
    is_flag=True,
    help="Leave code, queries and subjects of commits out of the page; JSON and TOML never have them.",
)


def form_of(output: Path, endings: Mapping[str, str]) -> str:
    """Return the form that a file's ending means; a UsageError if it means none."""
    if form := endings.get(output.suffix.lower()):
        return form
    raise UsageError(f"{output} does not end in {', '.join(endings)}; say with --format what to write")


def append_summary(path: Path, markdown: str) -> None:
    """Append to a file that the user named; a ResultError if that fails."""
    with (
        os_errors_as(ResultError, f"{path} cannot be written", "choose another file"),
        path.open("a", encoding="utf-8") as stream,
    ):
        stream.write(markdown)


def measures_option(meaning: str) -> _Decorator:
    """Add --measure (measures: a tuple of names), which may be repeated."""
    return click.option("--measure", "-m", "measures", multiple=True, metavar="NAME", help=meaning)


name_option = click.option(
    "--name",
    "names",
    multiple=True,
    metavar="LABEL=RUN|SPEC",
    help="Call a run LABEL in every table, figure and page, such as ours=py:mychunk:blank_blocks. May be repeated.",
)
"""Add --name (names: a tuple of texts), which may be repeated."""


def plain(record: DataclassInstance, *omitted: str) -> dict[str, Any]:
    """Return a record as plain values, without the `omitted` fields."""
    return {name: value for name, value in asdict(record).items() if name not in omitted}


def write_and_say(path: Path, content: str, instead: str = "another file") -> None:
    """Write a file that the user named, and say so; `instead` is what to name if it cannot be written."""
    write_named(path, content, instead)
    note(f"wrote {path}")


def title_of(run: RunView) -> str:
    """Return the run's name in a heading."""
    metrics = run.metrics
    name = run.label or (metrics.retriever if metrics.imported else f"{metrics.chunker} · {metrics.retriever}")
    return f"{name}: {metrics.dataset.label}"
