"""The command line: the one place that names concrete parts, catches errors, and sets the exit code.

0 = done, 1 = a failed run or gate, 2 = a usage error, 130 = interrupted, 141 = the reader of a pipe has gone.
Each command is in a file of its own and is imported when it is called, so that `--help` and a warm run stay fast.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

try:
    import click

    from repoeval_bench.cli.echo import echo, spelling
    from repoeval_bench.cli.examples import epilog
    from repoeval_bench.core.errors import BenchError
    from repoeval_bench.core.spec import nearest
except KeyboardInterrupt:  # Ctrl-C comes at any time, also before there is a command that could end cleanly
    sys.stderr.write("error: interrupted before anything was computed\n")
    sys.exit(130)


COMMANDS = {
    "recommend": "repoeval_bench.cli.recommend:recommend_command",
    "eval": "repoeval_bench.cli.evaluate:evaluate_command",
    "run": "repoeval_bench.cli.run:run_command",
    "complete": "repoeval_bench.cli.complete:complete_command",
    "validity": "repoeval_bench.cli.validity:validity_command",
    "compare": "repoeval_bench.cli.compare:compare_command",
    "runs": "repoeval_bench.cli.runs:runs_command",
    "diff": "repoeval_bench.cli.diff:diff_command",
    "segments": "repoeval_bench.cli.diff:segments_command",
    "diagnose": "repoeval_bench.cli.diagnose:diagnose_command",
    "gate": "repoeval_bench.cli.gate:gate_command",
    "retrieval": "repoeval_bench.cli.retrieval:retrieval_command",
    "hard-negatives": "repoeval_bench.cli.retrieval:hard_negatives_command",
    "pool": "repoeval_bench.cli.bounds:pool_command",
    "bounds": "repoeval_bench.cli.bounds:bounds_command",
    "merge": "repoeval_bench.cli.merge:merge_command",
    "import-run": "repoeval_bench.cli.import_run:import_run_command",
    "verify": "repoeval_bench.cli.verify:verify_command",
    "sweep": "repoeval_bench.cli.sweep:sweep_command",
    "sensitivity": "repoeval_bench.cli.sensitivity:sensitivity_command",
    "reproduce": "repoeval_bench.cli.reproduce:reproduce_command",
    "leaderboard": "repoeval_bench.cli.leaderboard:leaderboard_group",
    "report": "repoeval_bench.cli.report:report_command",
    "cite": "repoeval_bench.cli.cite:cite_command",
    "export": "repoeval_bench.cli.export:export_command",
    "export-beir": "repoeval_bench.cli.export_beir:export_beir_command",
    "data": "repoeval_bench.cli.data:data_group",
    "cache": "repoeval_bench.cli.cache:cache_group",
    "list": "repoeval_bench.cli.listing:list_command",
    "explain": "repoeval_bench.cli.explain:explain_command",
    "score": "repoeval_bench.cli.score:score_command",
    "chunk": "repoeval_bench.cli.chunk:chunk_command",
    "chunk-stats": "repoeval_bench.cli.chunk:chunk_stats_command",
    "check-chunker": "repoeval_bench.cli.chunk:check_chunker_command",
}

_RUNS = {"recommend", "eval", "run", "complete", "compare", "sweep", "sensitivity", "reproduce", "report", "verify"}
_GOES_ON = {*_RUNS, "data", "cache", "merge"}
"""Commands that keep what they computed or fetched, and find it when they are called again."""


class ReaderGone(Exception):  # noqa: N818 - nothing went wrong
    """The reader of standard output (head, less) has closed it."""


class Interrupted(Exception):  # noqa: N818 - the person wants it
    """A command was interrupted by Ctrl-C."""

    def __init__(self, command: str | None) -> None:
        kept = command in _GOES_ON
        super().__init__("interrupted" + ("; what was finished is kept, so run the same command again" if kept else ""))


@contextmanager
def _pipe_watched() -> Iterator[None]:
    """A broken pipe leaves as `ReaderGone`: click itself would end with 1, as if the command had failed."""
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error


class LazyGroup(click.Group):
    """A group whose commands are imported on request."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the command line; `--help` prints here."""
        with _pipe_watched():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _pipe_watched():
            try:
                return super().invoke(ctx)
            except (KeyboardInterrupt, click.Abort) as error:
                raise Interrupted(ctx.invoked_subcommand) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and take the command out of it."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        if "Examples:" not in (command.epilog or ""):
            command.epilog = "\n\n".join(filter(None, [command.epilog, epilog(cmd_name)]))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or offer the nearest one; an empty word is refused, which would mean the current folder."""
        for before, word in zip(["", *args], args, strict=False):
            if not word or (word.startswith("--") and word.endswith("=")):
                place = f"after {before}" if not word else f"of {word}"
                raise click.UsageError(f"the value {place} is empty, as an unset variable leaves it; give one", ctx)
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(nearest("command", args[0], COMMANDS), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="repoeval-bench", prog_name="repoeval-bench")
@click.option(
    "--variables",
    is_flag=True,
    help="Read options that are not given from variables in capitals, as make has them: CHUNKER, MATCH_SIZE, …",
)
@click.pass_context
def app(context: click.Context, *, variables: bool) -> None:
    """Compare code chunkers on RepoEval: chunk, embed, retrieve, score."""
    if variables and context.invoked_subcommand:
        from repoeval_bench.cli.options import as_variables, option_variables

        command = app.get_command(context, context.invoked_subcommand)
        assert command is not None
        spelling.set(partial(as_variables, command))
        context.default_map = {context.invoked_subcommand: option_variables(command, os.environ)}


def main() -> NoReturn:
    """Run the command line and exit; a user's mistake ends in one sentence, never in a traceback."""
    # A run keeps nearly all that it makes until it ends: looking for garbage every 700 objects is a tenth of its time.
    gc.set_threshold(200_000, 20, 100)
    try:
        code = app.main(prog_name="repoeval-bench", standalone_mode=False)
    except BenchError as error:
        fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        way_out = f" (see {context.command_path} --help)" if context else ""
        fail(error.format_message().rstrip(".") + way_out, error.exit_code)
    except Interrupted as error:
        fail(str(error), 130)
    except (KeyboardInterrupt, click.Abort):
        fail("interrupted", 130)
    except ReaderGone:
        # Python would write what is left once more at exit, and complain. 141 is what a shell gives for SIGPIPE: a
        # gate that was not read to its end must not look passed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def fail(sentence: str, code: int) -> NoReturn:
    """Print one sentence on standard error and exit."""
    echo(f"error: {sentence}", err=True)
    sys.exit(code)
