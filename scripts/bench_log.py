"""The time and memory of commands over a large log of another system: each figure from its own process.

python scripts/bench_log.py
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _bench import Row, command, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERIES, RESULTS, FILES = 100_000, 20, 20_000


def log_rows() -> Iterator[dict[str, Any]]:
    """Yield the rows of a log whose queries retrieve chunks of neighbouring files."""
    rng = random.Random(0)
    for i in range(QUERIES):
        first = rng.randrange(10 * FILES)
        topk = []
        for rank in range(1, RESULTS + 1):
            file, start = f"docs/file{(first + 37 * rank) % FILES}.md", (first + rank) % 9000
            topk.append(
                {
                    "rank": rank,
                    "chunk_id": f"{file}@{start}-{start + 1500}",
                    "score": round(1 - rank * 0.01 - rng.random() * 0.005, 5),
                    "file": file,
                    "start_line": start // 40,
                    "end_line": start // 40 + 40,
                }
            )
        yield {
            "query_id": f"q{i}",
            "query": " ".join(f"word{rng.randrange(5000)}" for _ in range(12)),
            "query_tokens": 14,
            "system": "made",
            "k_raw": RESULTS,
            "topk": topk,
            "index_version": "1",
            "chunker": {"algo": "fixed", "parameters": {"max_nws": 1500}},
            "latency_ms": {"retrieve": 5.5},
        }


def write(folder: Path) -> tuple[Path, Path]:
    """Write a log and its gold: for each query one chunk that was retrieved, and one that was not."""
    log, gold = folder / "log.jsonl", folder / "gold.jsonl"
    rng = random.Random(1)
    with log.open("w", encoding="utf-8") as rows, gold.open("w", encoding="utf-8") as judgements:
        for row in log_rows():
            rows.write(json.dumps(row) + "\n")
            for chunk in (rng.choice(row["topk"])["chunk_id"], f"docs/none.md@{row['query_id']}"):
                judgements.write(json.dumps({"query_id": row["query_id"], "chunk_id": chunk}) + "\n")
    return log, gold


def rows() -> list[Row]:
    """Measure time and memory of `logs import`, `logs diagnose` and `logs pipeline`."""
    table = []
    with tempfile.TemporaryDirectory() as name:
        log, gold = write(Path(name))
        table.append(Row("the log", f"{log.stat().st_size / 2**20:.0f} MiB"))
        took = {"import": command("logs", "import", log, "--gold", gold, "--out", f"{name}/results")}
        (run,) = Path(name, "results").iterdir()
        took |= {verb: command("logs", verb, run) for verb in ("diagnose", "pipeline")}
    for verb, spent in took.items():
        table += [Row(f"{verb}: time", spent.time), Row(f"{verb}: peak memory", f"{spent.peak / 2**30:.2f} GiB")]
    return table


if __name__ == "__main__":
    print_rows(f"A log of {QUERIES:,} queries, {RESULTS} results each", rows())
