"""The commands of this leaf, each imported when it is called."""

from __future__ import annotations

from repoeval_bench.cli.group import CommandGroup

group = CommandGroup(
    name="lab",
    help="Compare in many settings, reproduce published tables, and rank all runs of a folder.",
    table={
        "sensitivity": (
            "repoeval_bench.plugins.lab.sensitivity:sensitivity_command",
            "Count the settings of a file in which one chunker beats another.",
        ),
        "reproduce": (
            "repoeval_bench.plugins.lab.reproduction:reproduce_command",
            "Measure published numbers again, and say which are reproduced.",
        ),
        "leaderboard": ("repoeval_bench.plugins.lab.leaderboard:leaderboard_command", "Rank all runs of a folder."),
    },
    examples="""\
sensitivity
sensitivity FILE --source FOLDER
reproduce
reproduce --source FOLDER --embedder st:BAAI/bge-base-en-v1.5
leaderboard
leaderboard -o leaderboard.csv
""",
)
