"""Measure published numbers again and write the page: python scripts/reproduce.py [--source SOURCE].

Vectors and runs are kept, so an interrupted reproduction goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from repoeval_bench import load_benchmark
from repoeval_bench.analysis.reproduction import reproduce
from repoeval_bench.cli import INTERRUPTED, fail
from repoeval_bench.core.errors import BenchError, ResultError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.report.reproduction import format_page

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=os.environ.get("REPOEVAL_SOURCE", "auto"))
    parser.add_argument("--out", type=Path, default=Path("results/reproduce"))
    parser.add_argument(
        "--embedder", action="append", default=[], help="a model whose CodeRAG-Bench row is wanted, such as st:NAME"
    )
    arguments = parser.parse_args()

    def say(line: str) -> None:
        """Progress goes to standard error, the page to standard output."""
        print(line, file=sys.stderr)

    try:
        # What `eval` finds by itself needs no name.
        named = "" if arguments.source in ("auto", os.environ.get("REPOEVAL_SOURCE")) else arguments.source
        benchmark = load_benchmark(arguments.source, notify=say)
        measured = reproduce(benchmark, arguments.out, embedders=arguments.embedder, source=named, notify=say)
        page = format_page(benchmark.label, measured.rows, measured.repositories)
        try:
            write_atomic(
                arguments.out / "reproduction.json", json.dumps([*map(asdict, measured.rows)], indent=2) + "\n"
            )
            write_atomic(arguments.out / "reproduction.md", page)
        except OSError as error:
            raise ResultError(f"{arguments.out} cannot be written ({error}); choose another with --out") from error
        print(page, end="")
    except BenchError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        fail(INTERRUPTED, 130)
