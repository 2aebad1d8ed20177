"""Compare three chunkers on RepoEval and print their scores and differences.

python scripts/compare_chunkers.py [SOURCE]
"""

import sys

from repoeval_bench import compare, evaluate, load_benchmark
from repoeval_bench.core.notices import show_notices

SPECS = ("fixed:max_nws=1500", "ast:max_nws=1500", "chonkie")
MEASURES = ("ndcg@5", "ndcg@10", "recall@5", "recall@10")


def main() -> None:
    """Evaluate, print one row per chunker, then what differs from the first."""
    show_notices(print)
    benchmark = load_benchmark(sys.argv[1] if len(sys.argv) > 1 else "auto")
    runs = [evaluate(benchmark, spec) for spec in SPECS]

    width = max(len(run.metrics.chunker) for run in runs)
    print(benchmark.label)
    print("chunker".ljust(width) + "".join(f"{name:>11}" for name in MEASURES))
    for run in runs:
        scores = run.metrics.micro
        print(run.metrics.chunker.ljust(width) + "".join(f"{scores[name]:11.4f}" for name in MEASURES))

    for c in compare(runs):
        if c.measure in MEASURES:
            low, high = c.ci or (float("nan"), float("nan"))
            print(
                c.treatment.ljust(width)
                + f"{c.measure:>11} {c.difference:+.4f} [{low:+.4f}, {high:+.4f}] {c.verdict.outcome}"
            )


if __name__ == "__main__":
    main()
