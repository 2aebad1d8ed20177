"""The cost of packs, on made-up Python trees, and of a recommendation for a real package.

python scripts/bench_packs.py [--megabytes 40] [--package marshmallow==4.4.0]
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from _bench import Row, command, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = 10
"""Megabytes of the smaller tree, with which the larger one is compared."""

BARS = {"marshmallow==4.4.0": (8, 40), "networkx==3.6.1": (60, 100)}
"""Package -> the seconds that a recommendation for it may take, and the megabytes that it may write."""

_WORDS = ("order", "price", "cache", "queue", "shelf", "node", "edge", "graph", "token", "parse", "merge", "split")


def function(rng: random.Random, known: list[str]) -> str:
    """Make a documented function of 5 to 13 lines with random names, which calls one of the `known` functions."""

    def name() -> str:
        return "_".join(rng.sample(_WORDS, 2))

    first, second = name(), name()
    called = rng.choice(known) if known else name()
    known.append(f"{name()}_{rng.randrange(9999)}")
    lines = [f"def {known[-1]}({first}, {second}):"]
    lines.append(f'    """Compute the {first} of {second} for every {name()} in it."""')
    lines += (
        f"    {name()} = {name()}({first}, {rng.randrange(99)}) + {second}.{name()}({name()})"
        for _ in range(rng.randrange(3, 11))
    )
    return "\n".join([*lines, f"    {first} = {called}({second}, {first})", f"    return {first}", "", "", ""])


def write_tree(root: Path, megabytes: int) -> None:
    """Write files of about 20 kB, 100 in a folder."""
    rng = random.Random(0)
    remaining, number = megabytes * 1_000_000, 0
    while remaining > 0:
        known: list[str] = []
        text = "import os\n\n\n" + "".join(function(rng, known) for _ in range(40))
        path = root / f"p{number // 100}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        remaining, number = remaining - len(text), number + 1


def cost(folder: Path, megabytes: int, *options: str) -> tuple[float, float]:
    """Build a pack of such a tree; return the seconds of processor time and the peak MB."""
    took = command(
        "data", "build", tree(folder, megabytes), "-o", folder / f"pack-{len(list(folder.iterdir()))}", *options
    )
    return took.busy, took.peak / 1e6


def recommendation(folder: Path, package: str) -> Row:
    """Recommend by BM25 for a package of the index, which is fetched before."""
    where, home, out = f"pypi:{package}", folder / "home", folder / "answer"
    fetch = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder / "fetched", package)
    if subprocess.run(fetch, capture_output=True, check=False).returncode:
        return Row(f"recommend {where} by BM25 (not measured: pip cannot fetch it)", "")
    command("data", "build", where, "-o", folder / "built", home=home)
    took = command("recommend", where, "--retriever", "bm25", "--out", out, home=home)
    # Runs share equal files, which count once.
    sizes = {status.st_ino: status.st_size for path in out.rglob("*") if path.is_file() for status in [path.stat()]}
    written = sum(sizes.values()) / 1e6
    seconds, megabytes = BARS.get(package, (math.inf, math.inf))
    return Row(
        f"recommend {where} by BM25; MB written",
        f"{took.wall:.1f} s; {written:.1f}",
        f"< {seconds:g} s; {megabytes:g}" if package in BARS else "",
        took.wall < seconds and written < megabytes if package in BARS else None,
    )


def tree(folder: Path, megabytes: int) -> Path:
    """Return the generated tree of this size, which is written once."""
    root = folder / f"tree-{megabytes}"
    if not root.is_dir():
        write_tree(root, megabytes)
    return root


def rows(megabytes: int = 4 * SMALL, package: str = next(iter(BARS)), *, small: int = SMALL) -> Iterator[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        plain, plain_memory = cost(Path(name), small, "--resolve", "no")
        yield Row(f"data build of {small} MB without names, processor time", f"{plain:.1f} s", "< 30 s", plain < 30)
        named, named_memory = cost(Path(name), small)
        yield Row("the same with names", f"{named:.1f} s ({named_memory:.0f} MB)")
        large, large_memory = cost(Path(name), megabytes)
        yield Row(f"data build of {megabytes} MB, processor time", f"{large:.1f} s")
        share = large_memory / plain_memory
        figure = f"{share:.2f}x ({large_memory:.0f} MB)"
        yield Row(f"its peak memory, over that of {small} MB without names", figure, "< 1.5x", share < 1.5)
        yield recommendation(Path(name), package)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=4 * SMALL)
    parser.add_argument("--package", default=next(iter(BARS)), help="the package for recommend")
    options = parser.parse_args()
    print_rows("Packs", rows(options.megabytes, options.package))
