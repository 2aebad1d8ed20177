"""The commands of this leaf, each imported when it is called."""

from repoeval_bench.cli.group import CommandGroup

group = CommandGroup(
    name="logs",
    help="Judge logs of other systems, and find what is wrong with a run.",
    package=__package__,
    table={
        "import": (".import_log:import_command", "Score a run log of another system, or a TREC run."),
        "questions": (".questions:questions_command", "Write another benchmark's questions as gold and queries."),
        "diagnose": (".diagnosis:diagnose_command", "Find what is wrong with a run, and its worst queries."),
        "pipeline": (".pipeline:pipeline_command", "Measure a log's reranker, router, freshness, …"),
        "hard-negatives": (
            ".pipeline:hard_negatives_command",
            "Put hard negatives at a run's top and report the loss.",
        ),
        "pool": (".judgements:pool_command", "Write the top of several runs into one file to judge."),
        "bounds": (".judgements:bounds_command", "Bound a run's scores with a second set of judgements."),
    },
    examples="""\
import log.jsonl --gold gold.jsonl --files src/
import run.trec --gold qrels.trec --depth 100
import run.trec --gold gold.jsonl --corpus chunks.jsonl --files src/
questions semble annotations/ -o questions/
questions swe-explore bench.jsonl -o questions/
diagnose latest --worst 5
diagnose RUN --measure lines@1500 --json
pipeline RUN --section latency
hard-negatives RUN -n 1 -n 5
pool RUN RUN -k 10 -o pool.jsonl
bounds RUN --judgements pool.jsonl --calibration calibration.jsonl
""",
)
