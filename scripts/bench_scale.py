"""Measure a comparison on trees of 1 to 100 MB.

python scripts/bench_scale.py --tree FOLDER [--megabytes 1,3,10,30,100]

FOLDER has real Python files, such as the site-packages of an environment. A tree consists of the first of them, by a
hash of their paths, up to its size. It becomes a pack of 400 tasks, whose queries under `body` search all of it. One
`compare` of three chunkers by BM25 runs on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from _bench import Row, Spent, command, one_core, print_rows

from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNKERS = ("fixed", "ast", "recursive")
TASKS = 400
LARGEST = 200_000
"""Larger files, in bytes, are left out: they are tables, and few of them would fill a tree."""


class Measured(NamedTuple):
    """One size: the costs of building the pack and of the comparison, and the chunks of three chunkers."""

    megabytes: float
    build: Spent
    compared: Spent
    chunks: int


def write_tree(source: Path, root: Path, megabytes: float) -> float:
    """Copy the first files of a tree, by a hash of their paths, up to this size; return the size, in megabytes."""
    files = {path.relative_to(source).as_posix(): path for path in source.rglob("*.py") if path.is_file()}
    done = 0
    for name in sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest()):
        text = files[name].read_bytes()
        if len(text) > LARGEST:
            continue
        if done >= megabytes * 1e6:
            return done / 1e6
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        done += len(text)
    raise SystemExit(f"{source} has {done / 1e6:.0f} MB of Python files; name a larger folder, or fewer --megabytes")


def measure(source: Path, folder: Path, megabytes: float) -> Measured:
    """Build a pack of this size, and compare three chunkers on it."""
    tree, pack, out = (folder / f"{name}-{megabytes:g}" for name in ("tree", "pack", "out"))
    size = write_tree(source, tree, megabytes)
    with one_core():
        build = command("data", "build", tree, "-o", pack, "--tasks", str(TASKS), "--resolve", "no")
        words = ("--protocol", "body", "--retriever", "bm25", "--source", pack, "--out", out)
        compared = command("compare", *(part for name in CHUNKERS for part in ("-c", name)), *words)
    runs = [RunView(manifest.parent) for manifest in sorted(out.glob("*/manifest.json"))]
    return Measured(size, build, compared, sum(run.counts.chunks for run in runs))


def power(before: Measured, after: Measured, value: float, larger: float) -> float:
    """Return the exponent with which a figure grows with size: 1 is linear."""
    return math.log(larger / value) / math.log(after.megabytes / before.megabytes)


def rows(measured: Sequence[Measured]) -> Iterator[Row]:
    """Yield each size, and how time and memory grow between the last two."""
    for one in measured:
        yield Row(
            f"{one.megabytes:.0f} MB, {one.chunks:,} chunks of {len(CHUNKERS)} chunkers: data build; compare",
            f"{one.build.busy:.0f} s; {one.compared.busy:.0f} s",
        )
        yield Row("  their peak memory", f"{one.build.peak / 2**20:.0f}; {one.compared.peak / 2**20:.0f} MiB")
    before, last = measured[-2:]
    time_power = power(before, last, before.compared.busy, last.compared.busy)
    yield Row("compare: time grows with size to the power of", f"{time_power:.2f}", "<= 1.1", time_power <= 1.1)
    memory = power(before, last, before.compared.peak, last.compared.peak)
    yield Row("compare: memory grows with size to the power of", f"{memory:.2f}", "<= 1.1", memory <= 1.1)
    gib = last.compared.peak / 2**30
    yield Row(f"compare on {last.megabytes:.0f} MB: peak memory", f"{gib:.2f} GiB", "<= 2 GiB", gib <= 2)


def main() -> None:
    """Print the figures of every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True, help="a folder of real Python files")
    parser.add_argument("--megabytes", default="1,3,10,30,100", help="sizes of trees, ascending")
    options = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as name:
        for size in options.megabytes.split(","):
            measured.append(measure(options.tree, Path(name), float(size)))
            print(f"{measured[-1].megabytes:.0f} MB done", flush=True)
    print_rows("Scale", rows(measured))


if __name__ == "__main__":
    main()
