"""What building a pack takes, on made-up Python trees: processor time, and whether memory grows with the tree.

python scripts/bench_packs.py [--megabytes 40]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from _bench import Row, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = 10
"""Megabytes of the tree that the larger one is compared with."""

_WORDS = ("order", "price", "cache", "queue", "shelf", "node", "edge", "graph", "token", "parse", "merge", "split")


def function(rng: random.Random) -> str:
    """A documented function of 5 to 13 lines with names at random."""

    def name() -> str:
        return "_".join(rng.sample(_WORDS, 2))

    first, second = name(), name()
    lines = [f"def {name()}_{rng.randrange(9999)}({first}, {second}):"]
    lines.append(f'    """Compute the {first} of {second} for every {name()} in it."""')
    lines += (
        f"    {name()} = {name()}({first}, {rng.randrange(99)}) + {second}.{name()}({name()})"
        for _ in range(rng.randrange(3, 12))
    )
    return "\n".join([*lines, f"    return {first}", "", "", ""])


def write_tree(root: Path, megabytes: int) -> None:
    """Files of about 20 kB, 100 in a folder."""
    rng = random.Random(0)
    left, number = megabytes * 1_000_000, 0
    while left > 0:
        text = "import os\n\n\n" + "".join(function(rng) for _ in range(40))
        path = root / f"p{number // 100}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        left, number = left - len(text), number + 1


def cost(folder: Path, megabytes: int, *options: str) -> tuple[float, float]:
    """(seconds of processor time, peak MB) of building a pack of such a tree, as a whole process."""
    source, pack = folder / f"tree-{megabytes}", folder / f"pack-{len(list(folder.iterdir()))}"
    if not source.is_dir():
        write_tree(source, megabytes)
    line = [sys.executable, "-m", "repoeval_bench", "data", "build", str(source), "-o", str(pack), *options]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(line)} failed; run it by hand to see why")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024 * 1.048576


def rows(megabytes: int = 4 * SMALL) -> Iterator[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        plain, plain_memory = cost(Path(name), SMALL, "--resolve", "no")
        yield Row(f"data build of {SMALL} MB without names, processor time", f"{plain:.1f} s", "< 30 s", plain < 30)
        named, named_memory = cost(Path(name), SMALL)
        yield Row("the same with names", f"{named:.1f} s ({named_memory:.0f} MB)")
        large, large_memory = cost(Path(name), megabytes)
        yield Row(f"data build of {megabytes} MB, processor time", f"{large:.1f} s")
        share = large_memory / plain_memory
        figure = f"{share:.2f}x ({large_memory:.0f} MB)"
        yield Row(f"its peak memory, over that of {SMALL} MB without names", figure, "< 1.5x", share < 1.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=4 * SMALL)
    print_rows("Packs", rows(parser.parse_args().megabytes))
