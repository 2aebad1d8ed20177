"""Groups of commands that fewer people need: what a chunker does, and runs in the formats of other programs."""

from __future__ import annotations

from repoeval_bench.cli.group import CommandGroup

_CHUNK = "repoeval_bench.cli.chunk"

chunker = CommandGroup(
    name="chunker",
    help="See how a chunker cuts, without a model.",
    table={
        "show": (f"{_CHUNK}:show_command", "Show the chunks of a file or folder."),
        "stats": (f"{_CHUNK}:stats_command", "Sizes of chunks, definitions kept whole, lines that appear twice."),
        "check": (f"{_CHUNK}:check_command", "Test a chunker on inputs that often break chunkers."),
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

export = CommandGroup(
    name="export",
    help="Write runs in the formats that other programs and papers read.",
    table={
        "runs": (
            "repoeval_bench.cli.export:export_command",
            "Write runs as Markdown, LaTeX, CSV or TREC files, and their plots.",
        ),
        "beir": (
            "repoeval_bench.cli.export_beir:export_beir_command",
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
