"""The command line: the one place that names concrete parts, catches errors, and sets the exit code.

0 = done, 1 = a failed run or gate, 2 = a usage error, 130 = interrupted, 141 = the reader of a pipe has gone.
Each command is in a file of its own and is imported when it is called, so that `--help` and a warm run stay fast.
"""

from __future__ import annotations

import errno
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
    from repoeval_bench.cli.interrupts import interrupts_heeded
    from repoeval_bench.core.errors import BenchError, os_reason, shortened
    from repoeval_bench.core.spec import nearest
except KeyboardInterrupt:  # Ctrl-C comes at any time, also before there is a command that could end cleanly
    sys.stderr.write("error: interrupted before anything was computed\n")
    sys.exit(130)


COMMANDS = {
    "recommend": ("recommend:recommend_command", "Say which chunker and size to use for some code."),
    "eval": ("evaluate:evaluate_command", "Run chunkers and say how well they retrieve."),
    "run": ("run:run_command", "Run a benchmark described by a YAML file."),
    "complete": (
        "complete:complete_command",
        "Let a language model complete the tasks of stored runs, and score what it writes.",
    ),
    "compare": ("compare:compare_command", "Test which differences between runs are real."),
    "runs": ("runs:runs_command", "List the stored runs and their names."),
    "diff": ("diff:diff_command", "List the queries whose score changed, and why."),
    "segments": ("diff:segments_command", "Show for which queries a run is good, or which of two runs."),
    "diagnose": ("diagnose:diagnose_command", "Find what is wrong with a run, and show its worst queries."),
    "gate": ("gate:gate_command", "Fail if a run does not meet the limits in a file."),
    "retrieval": ("retrieval:retrieval_command", "Measure a log's reranker, router, freshness, …"),
    "hard-negatives": ("retrieval:hard_negatives_command", "Put hard negatives at a run's top and report the loss."),
    "pool": ("bounds:pool_command", "Write the top of several runs into one file to judge."),
    "bounds": ("bounds:bounds_command", "Bound a run's scores with a second set of judgements."),
    "merge": ("merge:merge_command", "Bring the runs of several folders together."),
    "import-run": ("import_run:import_run_command", "Score a run log of another system, or a TREC or ranx run."),
    "verify": ("verify:verify_command", "Compute a run's numbers again, and say whether it is what it claims."),
    "sweep": ("sweep:sweep_command", "Show the effect of size alone, or how scores grow with k."),
    "sensitivity": ("sensitivity:sensitivity_command", "Count the settings in which one chunker beats another."),
    "reproduce": ("reproduce:reproduce_command", "Measure published numbers again, and say which are reproduced."),
    "leaderboard": ("leaderboard:leaderboard_group", "Rank all runs of a folder; add a run to them."),
    "report": ("report:report_command", "Write stored runs as one HTML page."),
    "export": ("export:export_command", "Write runs as Markdown, LaTeX, CSV, JSON or TREC files, and their plots."),
    "export-beir": (
        "export_beir:export_beir_command",
        "Write runs' corpus, queries and qrels as BEIR, datasets and MTEB read them.",
    ),
    "data": ("data:data_group", "Fetch, verify and describe the benchmark's data."),
    "cache": ("cache:cache_group", "Describe, verify, prune and share the cache of vectors."),
    "list": ("listing:list_command", "List chunkers, protocols, retrievers, measures, …"),
    "explain": ("explain:explain_command", "Explain a chunker, a protocol, a retriever, a measure, …"),
    "score": ("score:score_command", "Score a TREC run file against a qrels file."),
    "chunk": ("chunk:chunk_command", "Show the chunks of a file or folder."),
    "chunk-stats": ("chunk:chunk_stats_command", "Sizes of chunks, definitions kept whole, lines that appear twice."),
    "check-chunker": ("chunk:check_chunker_command", "Test a chunker on inputs that often break chunkers."),
}
"""Name -> (where it is in this package, what it is for). `--help` shows them without importing any."""

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
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(f"{__name__}.{module}"), attribute)
        assert isinstance(command, click.Command)
        if "Examples:" not in (command.epilog or ""):
            command.epilog = "\n\n".join(filter(None, [command.epilog, epilog(cmd_name)]))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands in `--help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or offer the nearest one.

        Refused are an empty word, which would mean the current folder, and a second value of an option that has one.
        """
        for before, word in zip(["", *args], args, strict=False):
            if not word or (word.startswith("--") and word.endswith("=")):
                place = f"after {before}" if not word else f"of {word}"
                raise click.UsageError(f"the value {place} is empty, as an unset variable leaves it; give one", ctx)
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(nearest("command", args[0], COMMANDS), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            from repoeval_bench.cli.options import refuse_repeated  # `--help` imports no options

            refuse_repeated(command, rest, ctx)
        return name, command, rest


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
        with interrupts_heeded():
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
    except OSError as error:
        # To ask whether a file is there is an error for names that no file may have, and in folders that are closed.
        if error.filename is None:
            raise
        code = 2 if error.errno == errno.ENAMETOOLONG else 1
        fail(f"{error.filename}: {os_reason(error)}; give another file or folder", code)
    except ReaderGone:
        # Python would write what is left once more at exit, and complain. 141 is what a shell gives for SIGPIPE: a
        # gate that was not read to its end must not look passed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def fail(sentence: str, code: int) -> NoReturn:
    """Print one sentence on standard error and exit."""
    echo(f"error: {shortened(sentence)}", err=True)
    sys.exit(code)
