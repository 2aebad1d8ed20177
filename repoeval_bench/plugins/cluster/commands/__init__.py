"""The commands of this leaf, each imported when it is called."""

from __future__ import annotations

from repoeval_bench.cli.group import CommandGroup

_HERE = "repoeval_bench.plugins.cluster.commands"

group = CommandGroup(
    name="cluster",
    help="Bring runs of several folders together; share vectors between machines.",
    table={
        "merge": (f"{_HERE}.merge:merge_command", "Bring the runs of several folders together."),
        "push": (f"{_HERE}.vectors:push_command", "Write this machine's vectors into a store."),
        "pull": (f"{_HERE}.vectors:pull_command", "Take over the vectors of a store."),
    },
    resuming=frozenset({"merge", "push", "pull"}),
    examples="""\
merge part1 part2 --out results
push file:///shared/vectors
pull s3://bucket/vectors
""",
)
