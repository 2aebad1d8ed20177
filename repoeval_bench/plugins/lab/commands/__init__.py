"""The commands of this leaf, each imported when it is called."""

from __future__ import annotations

from repoeval_bench.cli.group import CommandGroup

_HERE = "repoeval_bench.plugins.lab.commands"

group = CommandGroup(
    name="lab",
    help="Compare in many settings, reproduce published tables, and rank all runs of a folder.",
    table={
        "sensitivity": (
            f"{_HERE}.sensitivity:sensitivity_command",
            "Count the settings in which one chunker beats another.",
        ),
        "reproduce": (
            f"{_HERE}.reproduce:reproduce_command",
            "Measure published numbers again, and say which are reproduced.",
        ),
        "leaderboard": (f"{_HERE}.leaderboard:leaderboard_command", "Rank all runs of a folder."),
        "add": (f"{_HERE}.leaderboard:add_command", "Verify runs of another machine and add them to a folder."),
        "stability": (f"{_HERE}.stability:stability_command", "Count the texts that a new version embeds again."),
    },
    resuming=frozenset({"reproduce"}),
    examples="""\
sensitivity -c ast -c fixed
sensitivity -c ast -c fixed --retriever bm25 --protocol body --output grid.json
reproduce
reproduce --source FOLDER --embedder st:BAAI/bge-base-en-v1.5
leaderboard
leaderboard --site site
add FOLDER
stability pypi:requests==2.32.2 pypi:requests==2.32.3 -c ast
""",
)
