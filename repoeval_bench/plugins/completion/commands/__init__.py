"""The commands of this leaf, each imported when it is called."""

from __future__ import annotations

from repoeval_bench.cli.group import CommandGroup

_HERE = "repoeval_bench.plugins.completion.commands.complete"

group = CommandGroup(
    name="complete",
    help="Let a language model write the tasks of stored runs, and score what it writes.",
    table={
        "run": (f"{_HERE}:run_command", "Complete the tasks of stored runs and score what is written."),
        "prompt": (f"{_HERE}:prompt_command", "Print the prompt of a task and its hash; no server is asked."),
    },
    resuming=frozenset({"run"}),
    examples="""\
run RUN --model openai:NAME,base_url=http://127.0.0.1:8080/v1
run ast fixed --context none --context retrieved --model openai:NAME
prompt ast --task TASK
""",
)
