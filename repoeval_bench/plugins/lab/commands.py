"""The commands of this leaf, each imported when it is called."""

from repoeval_bench.cli.group import CommandGroup

group = CommandGroup(
    name="lab",
    help="Compare in many settings, reproduce published tables, and rank all runs of a folder.",
    package=__package__,
    table={
        "sensitivity": (
            ".sensitivity:sensitivity_command",
            "Count the settings of a file in which one chunker beats another.",
        ),
        "reproduce": (
            ".reproduction:reproduce_command",
            "Measure published numbers again, and say which are reproduced.",
        ),
        "leaderboard": (".leaderboard:leaderboard_command", "Rank all runs of a folder."),
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
