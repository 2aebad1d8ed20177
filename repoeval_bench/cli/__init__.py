"""The command line: the one place that names concrete parts, catches errors, and sets the exit code.

0 = done, 1 = a failed run or gate, 2 = a usage error, 130 = interrupted.
Each command is in a file of its own and is imported when it is called, so that `--help` and a warm run stay fast.
"""

import errno
import gc
import os
import re
import sys

# Without this, pydantic reads the metadata of every installed package in search of its plug-ins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

try:
    import traceback
    from pathlib import Path
    from typing import Any, NoReturn

    import click

    from repoeval_bench.cli.console import echo
    from repoeval_bench.cli.group import PLUG_INS, ROOT, CommandGroup
    from repoeval_bench.core.errors import BenchError, nearest, os_reason, shortened
    from repoeval_bench.core.notices import show_notices
except KeyboardInterrupt:  # Ctrl-C may come before there is a command that could end cleanly
    sys.stderr.write("error: interrupted before anything was computed\n")
    sys.exit(130)


COMMANDS = {
    "recommend": (".recommend:recommend_command", "Recommend a chunker and a size for your code."),
    "eval": (".evaluate:evaluate_command", "Run chunkers, and print how well each retrieves."),
    "compare": (".compare:compare_command", "Test which differences between runs are significant."),
    "report": (".export:report_command", "Write stored runs as one HTML page."),
    "runs": (".runs:runs_command", "List the stored runs and their names."),
    "diff": (".runs:diff_command", "List the queries whose score changed, and why."),
    "segments": (".runs:segments_command", "Show on which queries a run scores well, or where two runs differ."),
    "sweep": (".evaluate:sweep_command", "Show the effect of chunk size alone, or of the number of chunks (k)."),
    "gate": (".gate:gate_command", "Fail if a run does not meet the limits in a file, or a choice no longer holds."),
    "verify": (".runs:verify_command", "Make a stored run again, and check that its scores are the same."),
    "run": (".evaluate:run_command", "Run a benchmark described by a YAML file."),
    "data": (".data:data_group", "Fetch, verify and describe the benchmark's data."),
    "list": (".listing:list_command", "List chunkers, protocols, retrievers, measures, …, or explain one."),
    "cache": (".cache:cache_group", "Describe and verify the cache of vectors."),
    "chunker": (".:chunker_group", "Show how a chunker splits code; no model is needed."),
    "export": (".:export_group", "Write runs in the formats that other programs and papers read."),
}
"""Name -> (its location, its purpose), so that `--help` imports no command."""

# Commands that `--help` lists apart, with those of plug-ins.
_FURTHER = frozenset({"cache", "chunker", "export"})

EXAMPLES = """\
recommend CHECKOUT --current langchain:chunk_size=1000,chunk_overlap=200
recommend ./my-project --retriever bm25 --report page.html
recommend pypi:click==8.1.7 -c ast -c fixed --sizes 500,1000
recommend ./my-project --queries questions.jsonl --time-limit 10
eval -c ast -c fixed
eval -c ast --retriever bm25 --source FOLDER
eval -c fixed:max_nws=800 --protocol body --embedder st:BAAI/bge-base-en-v1.5
eval -c py:cutter:halves -m ndcg@10 -m lines@1500 --details
eval -c 'exec:node cut.js' --limit 20 --retriever bm25
run repoeval
run bench.yaml --dry-run
run bench.yaml --source FOLDER
compare -c fixed -c ast
compare ast fixed --details
compare -c ast -c chonkie --match-size fixed --baseline ast
compare latest @2 -m ndcg@10 --equivalence 0.02
compare -c fixed -c ast --protocol body --set exclusion=hidden
runs
runs --out other-results --json
diff fixed ast --measure recall@10
diff @2 latest --limit 50
segments latest --by repo --by is_method
segments ast fixed --by repo
gate latest --config gates.yaml --junit gates.xml
gate latest --config gates.yaml --baseline fixed
gate chunking.toml --source .
verify latest --source FOLDER
verify RUN --allow py:cutter:halves
sweep -c fixed -c ast --sizes 500,1000,1500,3000,6000
sweep -c ast --retriever bm25
sweep -c ast:max_tokens=256 --sizes 128,256,512
report
report ast fixed -o report.html
data fetch
data fetch --source FOLDER --json
data build . pypi:click==8.1.7 -o packs/mine
cache info
cache verify --delete
list chunkers
list measures --json
list chunkers ast
list measures "lines found"
list protocols code-chunk
"""
"""An example a line, without `repoeval-bench`."""


START = f"""\
Measure which code chunker retrieves better, on your own code or on the RepoEval benchmark.

  {ROOT} recommend ./my-project
      Which chunker and size to use for the code in a folder, with lines to paste.

  {ROOT} compare -c fixed -c ast
      Which of two or more chunkers retrieves significantly more on RepoEval. `eval -c ast` scores one alone.

  {ROOT} gate latest --config gates.yaml
      Fail in CI if the newest run (`latest`) does not meet the limits in a file.

All commands: {ROOT} --help. Options and examples of one: {ROOT} COMMAND --help.
Names: {ROOT} list chunkers (or protocols, retrievers, measures).\
"""
"""The screen without a command: what most people need, and where the rest is."""

chunker_group = CommandGroup(
    name="chunker",
    package=__name__,
    help="Show how a chunker splits code; no model is needed.",
    table={
        "show": (".chunk:show_command", "Show the chunks of a file or folder."),
        "stats": (".chunk:stats_command", "Sizes of chunks, definitions kept whole, lines that appear twice."),
        "check": (".chunk:check_command", "Test a chunker on inputs that often break chunkers."),
    },
    examples="""\
show src/main.py -c ast:max_nws=800
show src/ -c fixed --json
stats -c ast -c fixed src/
stats -c chonkie --source FOLDER
check py:cutter:halves
check 'exec:node cut.js' --examples 200 --seed 1
""",
)

export_group = CommandGroup(
    name="export",
    package=__name__,
    help="Write runs in the formats that other programs and papers read.",
    table={
        "runs": (".export:export_command", "Write runs as Markdown, LaTeX, CSV or TREC files, and their plots."),
        "beir": (
            ".export:export_beir_command",
            "Write a run's corpus, queries and qrels as BEIR, datasets and MTEB read them.",
        ),
    },
    examples="""\
runs ast fixed --format latex -m "lines found" -m ndcg@10 -o table.tex
runs latest --format csv -o scores.csv
runs ast fixed --plots plots
beir ast -o beir
beir ast --source FOLDER -o beir
""",
)

app = CommandGroup(
    name=ROOT,
    package=__name__,
    table=COMMANDS,
    examples=EXAMPLES,
    further=_FURTHER,
    plug_ins=PLUG_INS,
    help="Measure which code chunker retrieves better, on your own code or on the RepoEval benchmark.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    params=[
        click.Option(
            ["--variables"],
            is_flag=True,
            help="If an option is not given, take it from an environment variable such as CHUNKER; make uses this.",
        )
    ],
)
app = click.version_option(package_name="repoeval-bench", prog_name="repoeval-bench")(app)


def main() -> NoReturn:
    """Run the command line and exit; a user's mistake ends in one sentence, never in a traceback."""
    # A run keeps nearly all of its objects, and to look for garbage every 700 objects would take a tenth of its time.
    gc.set_threshold(200_000, 20, 100)
    show_notices(lambda line: echo(line, err=True))
    # With `2>&-` or `>&-` the first file that is opened would get the number.
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end
    if sys.stdout is None:
        fail("standard output is closed; send it to a file or to /dev/null", 1)
    try:
        code = _run()
    except BenchError as error:
        fail(str(error), error.exit_code)
    except click.ClickException as error:
        fail(_of_click(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        fail("interrupted; finished runs and vectors are kept, so the same command goes on from there", 130)
    except OSError as error:
        if error.filename is None:
            if not _is_of_printing(error):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would write the rest at exit
            fail(f"standard output cannot be written ({os_reason(error)}); send it to another file or disk", 1)
        # Even the question whether a file exists fails for a name that is too long, or in a folder without access.
        code = 2 if error.errno == errno.ENAMETOOLONG else 1
        fail(f"{error.filename}: {os_reason(error)}; give another file or folder", code)
    sys.exit(code if isinstance(code, int) else 0)


def _run() -> Any:
    """Run the command line, or print what a group without a command prints; return the exit code, or no number."""
    try:
        return app.main(prog_name=ROOT, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        if error.ctx is None or error.ctx.parent is None:
            echo(START)
            return 0
        echo(error.format_message(), err=True)
        return error.exit_code


def _of_click(error: click.ClickException) -> str:
    """Return an error of click as a sentence: an argument that is missing or too many comes with an example."""
    said, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    if isinstance(error, click.BadOptionUsage):
        said = re.sub(r"Option '(.*)' requires an argument", r"\1 needs a value", said)
    if context is None:
        return said
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error.option_name, context)
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter) and error.param:
        said = _bad_value(error, error.param)
    epilogs = [
        at.command.epilog or "" for at in (context, context.parent) if at is not None
    ]  # a group has those of all
    example = re.search(rf"^  ({context.command_path}\b.*)", "\n".join(epilogs), re.MULTILINE)
    if example and not said.endswith("?") and type(error) in (click.UsageError, click.MissingParameter):
        said = f"{context.command_path}: {said[0].lower()}{said[1:]}; type {example[1]}"
    return f"{said} (see {context.command_path} --help)"


def _unknown_option(given: str, context: click.Context) -> str:
    """Return the sentence on an option that a command lacks: a field of --set, or the nearest option."""
    from repoeval_bench.cli.options import rare_fields  # `--help` imports none

    fields = {
        f"--{name.replace('_', '-')}": f"--set {name}" + ("" if default is False else f"={flag.metavar or 'VALUE'}")
        for name, (flag, default) in rare_fields(context.command).items()
    }
    if field := fields.get(given.replace("_", "-")):
        return f"{given} is set by {field} (see {context.command_path} --help-all)"
    options = [name for param in context.command.get_params(context) for name in param.opts if name[0] == "-"]
    said = nearest("option", given, [*options, *fields], f"see {context.command_path} --help")
    return re.sub(r"'(--[\w-]+)'", lambda name: f"'{fields.get(name[1], name[1])}'", said)


def _bad_value(error: click.BadParameter, param: click.Parameter) -> str:
    """Return the sentence on a value that an option or argument cannot have; the nearest one, if it has a list."""
    name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
    said = error.message.rstrip(".")
    if isinstance(param.type, click.Choice) and (value := re.match(r"'(.*)' is not one of", said)):
        return f"{name}: {nearest('value', value[1], map(str, param.type.choices))}"
    for ours, theirs in _OF_CLICK.items():
        said = re.sub(theirs, ours, said)
    return f"{name}: {said[0].lower()}{said[1:]}"


_OF_CLICK = {
    r"a number of \2 or more was expected (it is \1)": r"^(.*) is not in the range x>=(\d+)",
    "is not a number": "is not a valid float( range)?",
    "is not a whole number": "is not a valid integer( range)?",
    "does not exist; name another": "does not exist$",
}
"""What this tool says -> the pattern of what click says."""


def _is_of_printing(error: OSError) -> bool:
    """Return whether a library that prints raised an error, as where standard output is on a full disk."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return Path(last.filename).parent.name in {"click", "rich"}


def fail(sentence: str, code: int) -> NoReturn:
    """Print one sentence on standard error and exit."""
    echo(f"error: {shortened(sentence)}", err=True)
    sys.exit(code)
