"""The cost of protocol `uses` on RepoEval: resolving names with and without the index, and a comparison.

python scripts/bench_uses.py --source SOURCE
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from _bench import Row, command, one_core, print_rows, spent

if TYPE_CHECKING:
    from collections.abc import Iterator

CORES = 2
"""Cores that the limits of processor time allow for."""

_CHUNKERS = ("-c", "fixed", "-c", "ast", "-c", "recursive", "--baseline", "fixed", "--retriever", "bm25")
_LOAD = (
    "import sys; from repoeval_bench import load_benchmark as load; assert load(sys.argv[1]).tasks[0].uses is not None"
)


def rows(source: str) -> Iterator[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        build = Path(__file__).parent / "build_uses.py"
        resolved = spent(build, "--source", source, "--output", name).busy
        bar = CORES * 180
        yield Row(
            "resolving RepoEval's tasks from nothing, processor time", f"{resolved:.0f} s", f"< {bar} s", resolved < bar
        )
        indexed = spent("-c", _LOAD, source).busy
        yield Row("loading them with the index", f"{indexed:.1f} s", "< 5 s", indexed < 5)
        yield Row("from nothing, over with the index", f"{resolved / indexed:.0f}x")

        words = ("compare", *_CHUNKERS, "--protocol", "uses", "--source", source, "--out", name)
        with one_core():
            compared = command(*words).busy
        what = "compare under uses by BM25, three chunkers, processor time"
        yield Row(what, f"{compared:.1f} s", "< 10 s", compared < 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: a folder or a URL")
    print_rows("Protocol uses", rows(parser.parse_args().source))
