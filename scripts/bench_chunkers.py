"""The speed of the chunkers: ratios measured side by side, in one process, on the same files."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from _bench import Row, memory

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset.loader import load_benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PEERS = {"chonkie": None, "astchunk": 1.5, "llama-index": None, "langchain": None}
"""Peer -> the least ratio of its time to ast's, or None.

chonkie and llama-index parse the same bytes, which takes most of their time; langchain does not parse."""


def within(what: str, ratio: float, *, most: float | None = None, least: float | None = None) -> Row:
    """Return a ratio with its bar."""
    if most is not None:
        return Row(what, f"{ratio:.2f}", f"<= {most:g}", ratio <= most)
    if least is not None:
        return Row(what, f"{ratio:.2f}", f">= {least:g}", ratio >= least)
    return Row(what, f"{ratio:.2f}")


def best(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the seconds of the quickest of several calls, the one that other programs slowed least."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def parse_all(files: Sequence[SourceFile]) -> None:
    """Parse the same bytes with tree-sitter alone: no chunker on syntax trees can be quicker."""
    import tree_sitter_python
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_python.language()))
    for file in files:
        parser.parse(file.text.encode())


def chunk_all(spec: str, files: Sequence[SourceFile]) -> int:
    """Chunk every file; return the number of chunks."""
    chunker = make_chunker(spec)
    return sum(len(chunker.chunk(file)) for file in files)


def large_file(megabytes: float) -> SourceFile:
    """Generate a module of functions, classes and literals, in the proportions of ordinary code."""
    pieces = []
    size = index = 0
    while size < megabytes * 1e6:
        index += 1
        body = "".join(f"        value_{n} = self.compute({n}, key='k{n}')  # step {n}\n" for n in range(index % 40))
        pieces.append(
            f"# About part {index}.\n@register\ndef function_{index}(a, b=None):\n"
            f'    """Part {index}."""\n    return [a, b, {index}]\n\n\n'
            f"class Class{index}(Base):\n    limit = {{'a': {index}, 'b': [1, 2, 3]}}\n\n    def run(self):\n{body}"
            f"        return self\n\n\n"
        )
        size += len(pieces[-1])
    return SourceFile("bench", "large.py", "".join(pieces))


def nested_file(levels: int) -> SourceFile:
    """Generate brackets in brackets, each on a line of its own."""
    return SourceFile("bench", "nested.py", "x = " + "[\n" * levels + "1" + "]\n" * levels)


def speed_rows(files: Sequence[SourceFile]) -> list[Row]:
    """Compare `ast` with the bare parse and with the peers that are installed."""
    megabytes = sum(len(file.text.encode()) for file in files) / 1e6
    work: dict[str, Callable[[], object]] = {"": partial(parse_all, files), "ast": partial(chunk_all, "ast", files)}
    absent: list[Row] = []
    for name in PEERS:
        try:
            make_chunker(name)
        except SpecError as error:
            absent.append(Row(f"{name} / ast, time (not measured: {error})", ""))
        else:
            work[name] = partial(chunk_all, name, files)
    for warm_up in work.values():
        warm_up()
    # Measured in turns, so that other load on the machine affects all of them equally.
    turns = [{name: best(run, 1) for name, run in work.items()} for _ in range(5)]
    seconds = {name: min(turn[name] for turn in turns) for name in work}
    rows: list[Row] = [
        Row(f"bare tree-sitter parse of {megabytes:.2f} MB, {len(files)} files", f"{megabytes / seconds['']:.1f} MB/s"),
        Row("ast", f"{megabytes / seconds['ast']:.1f} MB/s"),
        within("ast / bare parse, time", seconds["ast"] / seconds[""], most=1.3),
    ]
    for name, bar in PEERS.items():
        if name in seconds:
            rows.append(within(f"{name} / ast, time", seconds[name] / seconds["ast"], least=bar))
    return rows + absent


def memory_of(path: str) -> float:
    """Return how far a fresh process's peak memory rises above its memory before, in multiples of the file's bytes.

    This is an upper bound: if reading the file took more memory than chunking it, that is measured.
    """
    text = Path(path).read_text("utf-8")
    file = SourceFile("bench", "large.py", text)
    chunk_all("ast", [SourceFile("bench", "small.py", "x = 1\n" * 1000)])
    before = memory("VmRSS")
    chunk_all("ast", [file])
    return (memory("VmHWM") - before) / len(text.encode())


def growth_rows() -> list[Row]:
    """Measure how time grows with the file and with its nesting, and the memory for a large file."""
    chunker = AstChunker()
    small, large = large_file(2.5), large_file(20)
    one = best(lambda: chunker.chunk(small), 3)
    eight = best(lambda: chunker.chunk(large), 2)
    nested, deeper = nested_file(10_000), nested_file(40_000)
    level = best(lambda: chunker.chunk(nested), 3)
    levels = best(lambda: chunker.chunk(deeper), 3)
    with TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        path = Path(folder) / "large.py"
        path.write_text(large.text, "utf-8")
        memory = pool.submit(memory_of, str(path)).result()
    return [
        within("20 MB / 2.5 MB file, time (8 is linear, 64 a square)", eight / one, most=12),
        within("40,000 / 10,000 levels, time (4 is linear, 16 a square)", levels / level, most=6),
        within("memory above the start on a 20 MB file / the file", memory, most=5),
    ]


def chunk_large(megabytes: float, copies: int) -> int:
    """Chunk generated files, in a worker."""
    return chunk_all("ast", [large_file(megabytes)] * copies)


def worker_rows() -> list[Row]:
    """Compare two processes with one on 20 MB in files of half a megabyte."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(chunk_large, [0.1, 0.1], [1, 1]))
        one = best(lambda: pool.submit(chunk_large, 0.5, 40).result(), 2)
        two = best(lambda: list(pool.map(chunk_large, [0.5, 0.5], [20, 20])), 2)
    return [within(f"one worker / two workers on 20 MB, {os.cpu_count()} cores, time", one / two, least=1.6)]


def rows(source: str) -> list[Row]:
    """Every figure with its bar."""
    benchmark = load_benchmark(source)
    files = [file for repository in benchmark.files.values() for file in repository]
    return [*speed_rows(files), *growth_rows(), *worker_rows()]
