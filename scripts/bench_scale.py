"""Measure the stages of a comparison on trees of 1 to 100 MB, and project them to a monorepo.

python scripts/bench_scale.py --tree FOLDER [--megabytes 1,3,10,30,100] [--to 10000] [--plot FILE.svg]

FOLDER has real Python files, such as the site-packages of an environment. A tree consists of the first of them, by a
hash of their paths, up to its size. It becomes a pack of 400 tasks, whose queries under `body` search all of it. One
`compare` of three chunkers by BM25 runs on one core. The seconds of a stage are those that the runs stored.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from _bench import Row, Spent, command, one_core, print_rows

from repoeval_bench.core.words import count
from repoeval_bench.embedding import models
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CHUNKERS = ("fixed", "ast", "recursive")
TASKS = 400
LARGEST = 200_000
"""Larger files, in bytes, are left out: they are tables, and few of them would fill a tree."""

SEEN = 192
"""Chunks that are embedded to measure the time of one."""

CORES = (1, 8, 64, 512)


class Measured(NamedTuple):
    """One size: the costs of building the pack and of the comparison, seconds by stage, chunks of three chunkers."""

    megabytes: float
    build: Spent
    compared: Spent
    stages: Counter[str]
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
    stages: Counter[str] = Counter()
    for run in runs:
        stages.update({row.step or "": row.seconds or 0.0 for row in run.timings.steps})
    return Measured(size, build, compared, stages, sum(run.counts.chunks for run in runs))


def seconds_to_embed(files: Iterable[Path]) -> float:
    """Return the seconds that the bundled model takes for the first 2,000 characters of a file."""
    texts = [path.read_text("utf-8", errors="replace")[:2000] for path in islice(files, SEEN)]
    encoder = SentenceTransformerEncoder(models.locate("minilm"))
    _ = list(encoder.encode_batches(texts[:1], "document", encoder.count_tokens(texts[:1], "document")))
    started = time.perf_counter()
    for _ in encoder.encode_batches(texts, "document", encoder.count_tokens(texts, "document")):
        pass
    return (time.perf_counter() - started) / len(texts)


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


def projected(measured: Sequence[Measured], embed: float, megabytes: float) -> Iterator[str]:
    """Yield a Markdown table of each stage's cost in one run on so much code, from the slope of the last two sizes."""
    before, last = measured[-2:]

    def at(small: float, large: float) -> float:
        slope = (large - small) / (last.megabytes - before.megabytes)
        return max(0.0, large + slope * (megabytes - last.megabytes))

    n = len(CHUNKERS)
    stages = {name: at(before.stages[name], seconds) / n for name, seconds in last.stages.items()}
    small = {name: seconds for name, seconds in stages.items() if seconds < 60}
    costs = {"data build": at(before.build.busy, last.build.busy)} | {
        name: seconds for name, seconds in stages.items() if name not in small
    }
    costs["other stages"] = sum(small.values())
    costs["embed, with a model"] = at(before.chunks, last.chunks) / n * embed
    yield f"| stage of one run, {megabytes / 1000:g} GB | " + " | ".join(count(cores, "core") for cores in CORES) + " |"
    yield "|---|" + "---:|" * len(CORES)
    for name, seconds in costs.items():
        yield f"| {name} | " + " | ".join(spoken(seconds / cores) for cores in CORES) + " |"
    memory = at(before.compared.peak, last.compared.peak) / 2**30
    yield f"\nmemory of one run over all of it: {memory:,.0f} GiB; documents: {at(before.chunks, last.chunks) / n:,.0f}"
    mib = (last.compared.peak - before.compared.peak) / 2**20 / (last.megabytes - before.megabytes)
    yield f"memory for each MB of code: {mib:.1f} MiB; 24 GiB hold {24 * 1024 / mib / 1000:.1f} GB"


def spoken(seconds: float) -> str:
    """Return seconds in a readable unit."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:,.0f} s"


def plot(measured: Sequence[Measured], path: Path) -> None:
    """Draw time and memory over size, both axes logarithmic."""
    from matplotlib import pyplot as plt

    figure, (time_axis, memory_axis) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sizes = [one.megabytes for one in measured]
    for name in ("build", "compared"):
        costs = [getattr(one, name) for one in measured]
        label = {"build": "data build", "compared": "compare of three"}[name]
        time_axis.loglog(sizes, [cost.busy for cost in costs], "o-", label=label)
        memory_axis.loglog(sizes, [cost.peak / 2**20 for cost in costs], "o-", label=label)
    for axis, what in ((time_axis, "processor time, s"), (memory_axis, "peak memory, MiB")):
        axis.set(xlabel="code, MB", ylabel=what)
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend()
    figure.savefig(path)


def main() -> None:
    """Print the figures and the projection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True, help="a folder of real Python files")
    parser.add_argument("--megabytes", default="1,3,10,30,100", help="sizes of trees, ascending")
    parser.add_argument("--to", type=float, default=10_000, help="megabytes of the projection")
    parser.add_argument("--plot", type=Path, help="an SVG or PNG file for time and memory over size")
    parser.add_argument("--json", type=Path, help="a file for the raw figures")
    options = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as name:
        for size in options.megabytes.split(","):
            measured.append(measure(options.tree, Path(name), float(size)))
            print(f"{measured[-1].megabytes:.0f} MB done", flush=True)
        embed = seconds_to_embed(Path(name).rglob("*.py"))
    if options.json:
        options.json.write_text(json.dumps([one._asdict() for one in measured], indent=1))
    print_rows("Scale", rows(measured))
    print()
    print(*projected(measured, embed, options.to), sep="\n")
    if options.plot:
        plot(measured, options.plot)


if __name__ == "__main__":
    main()
