"""The scores of texts longer than the model reads: every policy for queries and chunks, as a Markdown table.

python scripts/long_texts.py --source SOURCE

A row is `repoeval-bench eval -c ast -c fixed --protocol PROTOCOL --embedder minilm:long_queries=…,long_chunks=…`.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

from repoeval_bench import load_benchmark
from repoeval_bench.core.notices import show_notices
from repoeval_bench.embedding.long_text import OPTIONS, POLICIES
from repoeval_bench.runs.runner import evaluate

CHUNKERS = ("ast", "fixed")
MEASURES = {"context": ("line_recall_auc", "ndcg@10"), "body": ("line_rprec", "ndcg@10")}
"""Protocol -> its headline, and the usual measure over chunks."""


def main() -> None:
    """Print the table; runs go to --out, and vectors are cached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the data is")
    parser.add_argument("--out", type=Path, default=Path("results/long-texts"))
    parser.add_argument("--repos", help="only these repositories, separated by commas")
    parser.add_argument("--queries", nargs="+", choices=list(POLICIES), default=list(POLICIES), help="only these rows")
    arguments = parser.parse_args()
    show_notices(lambda line: print(line, file=sys.stderr))
    benchmark = load_benchmark(arguments.source, repos=arguments.repos)
    columns = [
        (protocol, chunker, measure) for protocol in MEASURES for measure in MEASURES[protocol] for chunker in CHUNKERS
    ]
    print(benchmark.label + "\n")
    print("| queries | chunks | " + " | ".join(f"{p}, {m}: {c}" for p, c, m in columns) + " |")
    print("|---|---|" + "---:|" * len(columns))
    for queries, chunks in product(arguments.queries, POLICIES):
        embedder = f"minilm:{OPTIONS['query']}={queries},{OPTIONS['document']}={chunks}"
        results = {}
        for protocol in MEASURES:
            for chunker in CHUNKERS:
                run = evaluate(benchmark, chunker, protocol=protocol, embedder=embedder, out=arguments.out)
                results |= {(protocol, chunker, name): mean for name, mean in run.metrics.micro.items()}
        print(f"| {queries} | {chunks} | " + " | ".join(f"{results[key]:.4f}" for key in columns) + " |", flush=True)


if __name__ == "__main__":
    main()
