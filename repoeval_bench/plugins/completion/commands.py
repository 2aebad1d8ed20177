"""The commands of this leaf, each imported when it is called."""

from repoeval_bench.cli.group import CommandGroup

group = CommandGroup(
    name="complete",
    help="Let a language model write the code of the tasks, with the chunks that runs retrieved, and score it.",
    package=__package__,
    table={"run": (".complete:run_command", "Complete the tasks of stored runs and score what is written.")},
    examples="""\
run RUN --model openai:NAME,base_url=http://127.0.0.1:8080/v1
run ast fixed --context none --context retrieved --model openai:NAME
""",
)
