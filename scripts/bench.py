"""Measure speed and memory as ratios, on one screen: `make bench SOURCE=…`.

python scripts/bench.py [PART …] [--source SOURCE] [--quick]

Both sides of a ratio are measured side by side, in turns, so that other programs slow both. Seconds without a bar are
those of this machine. A part that fails is named, and the others go on. `--quick` runs the parts that need no data at
small sizes, to check that they run; its figures say nothing.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from repoeval_bench import choose, find_run, load_benchmark, make_chunker
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.source import SourceFile
from repoeval_bench.embedding import models
from repoeval_bench.embedding.batches import batches
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.metrics import EVAL_MEASURES, score_run
from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.vector_index import VectorIndex
from repoeval_bench.runs.runner import plan_run

TESTS = Path(__file__).resolve().parents[1] / "tests"
THREE = ("fixed", "ast", "chonkie")
PEERS = {"astchunk": 1.5, "chonkie": None, "llama-index": None, "langchain": None}
"""Peer -> the least ratio of its time to that of `ast`. chonkie and llama-index parse too; langchain does not."""
DIM = 384


class Row(NamedTuple):
    """A figure with its bar; `passed` is None without a bar."""

    what: str
    figure: str
    bar: str = ""
    passed: bool | None = None


class Spent(NamedTuple):
    """The cost of a process without its workers: seconds by the clock and of the processor, peak memory in bytes."""

    wall: float
    busy: float
    peak: int


def most(what: str, value: float, bar: float | None = None, *, beside: str = "") -> Row:
    """Return a figure that may be at most its bar."""
    return Row(what, f"{value:.2f}{beside}", *(() if bar is None else (f"<= {bar:g}", value <= bar)))


def least(what: str, value: float, bar: float | None = None, *, shown: str = ".2f", beside: str = "") -> Row:
    """Return a figure that has to reach its bar."""
    return Row(what, f"{value:{shown}}{beside}", *(() if bar is None else (f">= {bar:,g}", value >= bar)))


def command(*words: str | Path, home: Path) -> Spent:
    """Run a command of `repoeval-bench` in a process of its own, with its data in `home`; return the cost."""
    line = [sys.executable, "-m", "repoeval_bench", *map(str, words)]
    env = {**os.environ, "REPOEVAL_HOME": str(home)}
    started = time.perf_counter()
    process = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        # No SystemExit: it would end the process of the benchmark, without naming the command.
        raise RuntimeError(f"{' '.join(line)} failed; run it by hand to see why")
    return Spent(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def memory(field: str) -> int:
    """Return bytes of this process, by Linux's own count."""
    # getrusage would include the parent's peak.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return int(status[field].split()[0]) * 1024


def quickest(turns: int, **work: Callable[[], object]) -> dict[str, float]:
    """Return the least seconds of each piece of work, done in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(turns):
        for name, call in work.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: min(times) for name, times in seconds.items()}


def planned_texts(benchmark: Benchmark) -> list[str]:
    """Return the distinct texts of three chunkers and their queries."""
    plans = [plan_run(benchmark, spec).texts() for spec in THREE]
    return list(dict.fromkeys(text for planned in plans for of_role in planned.values() for text in of_role))


def embed_alone(source: str, first: int) -> float:
    """Return the seconds to embed the texts of three chunkers, by every sixteenth batch and its share of the tokens."""
    texts = planned_texts(load_benchmark(source))
    encoder = SentenceTransformerEncoder(models.locate("minilm"))
    tokens = encoder.count_tokens(texts, "document")
    planned = [*batches(tokens, limit=encoder.files.max_tokens, tokens=encoder.batch_tokens)]
    sizes = [batch.width * batch.rows for batch in planned]
    some = [position for batch in planned[first::16] for position in batch.positions]
    list(encoder.encode_batches(texts[:1], "document", tokens[:1]))
    started = time.perf_counter()
    list(encoder.encode_batches([texts[i] for i in some], "document", [tokens[i] for i in some]))
    return (time.perf_counter() - started) * sum(sizes) / sum(sizes[first::16])


def commands(source: str, _quick: bool) -> Iterator[Row]:
    """Compare a cold comparison with embedding alone; show what warm commands take."""
    three = [word for spec in THREE for word in ("-c", spec)]
    with TemporaryDirectory() as name:
        home = Path(name) / "home"

        def run(out: str, *words: str) -> Spent:
            return command(*words, "--source", source, "--out", Path(name) / out, home=home)

        command("data", "fetch", "--source", source, home=home)
        # Some texts before and some after, so that other load on the machine affects both.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            before = pool.submit(embed_alone, source, 0).result()
            cold = run("cold", "compare", *three)
            alone = (before + pool.submit(embed_alone, source, 8).result()) / 2
        what = "cold compare of three chunkers / embedding alone"
        yield most(what, cold.wall / alone, 1.1, beside=f" ({alone:.0f} s)")
        yield most("  its peak memory, GiB", cold.peak / 2**30, 2)
        warm = min(run(f"warm{turn}", "compare", *three).wall for turn in range(3))
        yield Row("compare of three, vectors cached", f"{warm:.1f} s")
        yield Row("  the runs stored too", f"{min(run('warm0', 'compare', *three).wall for _ in range(3)):.1f} s")
        lexical = min(run(f"bm25{turn}", "compare", *three, "--retriever", "bm25").wall for turn in range(3))
        yield Row("compare of three by BM25", f"{lexical:.1f} s")


def embedding(source: str, _quick: bool) -> Iterator[Row]:
    """Compare time and vectors with `SentenceTransformer.encode` in fp32."""
    from sentence_transformers import SentenceTransformer

    texts = sorted(planned_texts(load_benchmark(source)))[::25][:192]
    files = models.locate("minilm")
    plain, encoder = SentenceTransformer(str(files.folder), device="cpu"), SentenceTransformerEncoder(files)

    def ours() -> np.ndarray:
        result: list[Any] = [None] * len(texts)
        for positions, vectors in encoder.encode_batches(texts, "document", encoder.count_tokens(texts, "document")):
            for position, vector in zip(positions, vectors, strict=True):
                result[position] = vector
        return np.array(result)

    cosine = float((plain.encode(texts) * ours()).sum(axis=1).min())
    seconds = quickest(3, plain=lambda: plain.encode(texts), ours=ours)
    bar = None if files.precision == "fp32" else 2.0
    what = f"plain encode in fp32 / ours in {files.precision}, time"
    yield least(what, seconds["plain"] / seconds["ours"], bar, beside=f" ({len(texts) / seconds['ours']:.0f} texts/s)")
    yield least("  least cosine of the two", cosine, 0.9999, shown=".6f")


def search(_source: str, quick: bool) -> Iterator[Row]:
    """Search exactly in a million vectors; compare with faiss, and with a product in double precision."""
    n, k, n_queries = (10_000 if quick else 1_000_000), 100, 500
    rng = np.random.default_rng(0)
    before = memory("VmRSS")
    rows = rng.standard_normal((n, DIM), dtype=np.float32)
    queries = rows[:: n // n_queries][:n_queries] + rng.standard_normal((n_queries, DIM), dtype=np.float32) / 20
    rankings = list(VectorIndex(rows).search(queries, k))
    peak = (memory("VmHWM") - before) / rows.nbytes
    import faiss  # after our own search, which sets faiss's processor level

    flat: Any = faiss.IndexFlatIP(DIM)
    flat.add(rows)
    seconds = quickest(
        2, ours=lambda: list(VectorIndex(rows).search(queries, k)), faiss=lambda: flat.search(queries, k)
    )
    wrong = 0
    for query, ours in list(zip(queries, rankings, strict=True))[:: n_queries // 20]:
        exact = np.concatenate(
            [rows[i : i + 65536].astype(np.float64) @ query.astype(np.float64) for i in range(0, n, 65536)]
        )
        near = np.argpartition(exact, n - 2 * k)[n - 2 * k :]
        best = [
            rank(((f"{item:09d}", float(score)) for item, score in zip(*scored, strict=True)), k)
            for scored in ((near, exact[near]), ours)
        ]
        wrong += best[0] != best[1]
    yield least(f"faiss IndexFlatIP / ours, {n:,} vectors, time", seconds["faiss"] / seconds["ours"])
    yield most("  peak memory / the vectors", peak, 1.1)
    yield Row("  rankings unlike a product in double precision, of 20", f"{wrong}", "0", wrong == 0)


def cache(_source: str, quick: bool) -> Iterator[Row]:
    """Write vectors into the cache, and read and check them."""
    n, at_once = (2_000 if quick else 100_000), 1_000
    rng = np.random.default_rng(0)
    keys, vectors = [rng.bytes(32) for _ in range(n)], rng.standard_normal((n, DIM)).astype("<f4")
    with TemporaryDirectory() as name:

        def write() -> None:
            store = VectorCache(Path(name))
            for start in range(0, n, at_once):
                part = zip(keys[start : start + at_once], vectors[start : start + at_once], strict=True)
                store.write({key: vector.tobytes() for key, vector in part})
            store.close()

        def read() -> None:
            store = VectorCache(Path(name))
            assert b"".join(value or b"" for value in store.read(keys)) == vectors.tobytes()
            store.close()

        written, reading = quickest(1, write=write)["write"], quickest(3, read=read)["read"]
        # Blocks, not lengths: a small file takes a whole block.
        space = sum(512 * path.stat().st_blocks for path in Path(name).rglob("*") if path.is_file()) / vectors.nbytes
    yield least("vector cache: vectors written a second", n / written, 15_000, shown=",.0f")
    yield least("  read and checked a second", n / reading, 30_000, shown=",.0f")
    yield most("  bytes on disk / bytes of the vectors", space, 1.2)


def metrics(_source: str, quick: bool) -> Iterator[Row]:
    """Score random rankings as dicts, beside pytrec_eval."""
    import pytrec_eval

    their_measures = {"ndcg_cut.5,10", "recall.5,10", "P.5,10", "success.5,10", "recip_rank"}
    rng = np.random.default_rng(0)
    names = [f"repo/package/module.py@{1500 * i}-{1500 * i + 1500}" for i in range(400)]
    for n, turns in ((455, 20), (1_000 if quick else 20_000, 3)):
        run, qrels = {}, {}
        for query in range(n):
            picked, scores = rng.choice(400, 100, replace=False).tolist(), rng.random(100).round(5).tolist()
            run[f"q{query}"] = {names[i]: score for i, score in zip(picked, scores, strict=True)}
            qrels[f"q{query}"] = {names[i]: 1 for i in (*picked[: 1 + query % 7], int(rng.integers(400)))}
        seconds = quickest(
            turns,
            ours=partial(score_run, run, qrels),
            theirs=lambda run=run, qrels=qrels: pytrec_eval.RelevanceEvaluator(qrels, their_measures).evaluate(run),
        )
        what, beside = f"score_run / pytrec_eval, {n:,} queries, time", f" ({1000 * seconds['ours']:.0f} ms)"
        yield most(what, seconds["ours"] / seconds["theirs"], 1, beside=beside)


def statistics(_source: str, quick: bool) -> Iterator[Row]:
    """Compare five large runs, and choose among 21 as the page does."""
    sys.path.insert(0, str(TESTS))
    from support.runs import write_runs

    rng = np.random.default_rng(0)

    def written_runs(folder: Path, n_runs: int, n: int, n_files: int | None) -> list[Path]:
        file = np.arange(n) * (n_files or n) // n
        ease = rng.normal(0.5, 0.2, (n, 1)) + rng.normal(0, 0.1, (n_files or n, 1))[file]
        columns = {}
        for at in range(n_runs):
            scores = np.clip(ease + 0.01 * at + rng.normal(0, 0.15, (n, len(EVAL_MEASURES))), 0, 1)
            columns[f"run{at}"] = dict(zip(EVAL_MEASURES, scores.T, strict=True))
        files = None if n_files is None else [f"f{i}.py" for i in file]
        repos = [f"r{8 * i // n}" for i in range(n)]
        return [run.folder for run in write_runs(folder, columns, files=files, repos=repos)]

    with TemporaryDirectory() as name:
        n = 1_000 if quick else 100_000
        took = command("compare", *written_runs(Path(name) / "large", 5, n, None), "--json", home=Path(name))
        yield Row(f"compare of 5 runs of {n:,} queries", f"{took.wall:.1f} s")
        yield most("  its peak memory, GiB", took.peak / 2**30, 1)
        folders = written_runs(Path(name) / "page", 21, 300 if quick else 1_500, 100 if quick else 400)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            megabytes = pool.submit(choice_memory, folders).result()
        yield most("choice of 21 runs of 1,500 queries: MB above the runs", megabytes, 300)


def choice_memory(folders: Sequence[Path]) -> float:
    """Return the MB by which a choice among stored runs raises the peak of a fresh process."""
    runs = [find_run(folder) for folder in folders]
    _ = [run.scores for run in runs]
    before = memory("VmHWM")
    choose(runs)
    return (memory("VmHWM") - before) / 1e6


def chunk_all(spec: str, files: Sequence[SourceFile]) -> int:
    """Chunk every file; return the number of chunks."""
    chunker = make_chunker(spec)
    return sum(len(chunker.chunk(file)) for file in files)


def generated(megabytes: float) -> SourceFile:
    """Generate a module of functions, classes and literals, in the proportions of ordinary code."""
    body = "".join(f"        value_{n} = self.compute({n}, key='k{n}')  # step {n}\n" for n in range(19))
    piece = (
        '# About part {i}.\n@register\ndef function_{i}(a, b=None):\n    """Part {i}."""\n    return [a, b, {i}]\n\n\n'
        "class Class{i}(Base):\n    limit = dict(a={i}, b=[1, 2, 3])\n\n    def run(self):\n" + body + "\n\n"
    )
    text = "".join(piece.format(i=i) for i in range(round(megabytes * 1e6 / len(piece))))
    return SourceFile("bench", "large.py", text)


def chunkers(source: str, _quick: bool) -> Iterator[Row]:
    """Compare `ast` with the bare parse, with its peers, and with itself on a file eight times as large."""
    import tree_sitter_python
    from tree_sitter import Language, Parser

    files = [file for repository in load_benchmark(source).files.values() for file in repository]
    parser, texts = Parser(Language(tree_sitter_python.language())), [file.text.encode() for file in files]
    work: dict[str, Callable[[], object]] = {name: partial(chunk_all, name, files) for name in ("ast", *PEERS)}
    work["parse"] = lambda: [parser.parse(text) for text in texts]
    seconds = quickest(4, **work)
    speed = f" ({sum(map(len, texts)) / 1e6 / seconds['ast']:.1f} MB/s)"
    yield most("chunker ast / bare tree-sitter parse, time", seconds["ast"] / seconds["parse"], 1.3, beside=speed)
    for name, bar in PEERS.items():
        yield least(f"  {name} / ast, time", seconds[name] / seconds["ast"], bar)
    small, large = [generated(1)], [generated(8)]
    grown = quickest(2, small=partial(chunk_all, "ast", small), large=partial(chunk_all, "ast", large))
    yield most("ast on a file of 8 MB / of 1 MB, time (8 is linear)", grown["large"] / grown["small"], 12)


def packs(_source: str, quick: bool) -> Iterator[Row]:
    """Build packs of two sizes, and compare chunkers on them by BM25: how time and memory grow."""
    small, large = (0.2, 0.4) if quick else (5, 20)
    costs: dict[str, list[Spent]] = {"data build": [], "compare by BM25": []}
    chosen = [word for spec in ("fixed", "ast", "recursive") for word in ("-c", spec)]
    with TemporaryDirectory() as name:
        home = Path(name) / "home"
        for size in (small, large):
            tree, pack, out = (Path(name) / f"{what}-{size}" for what in ("tree", "pack", "out"))
            tree.mkdir()
            text = generated(0.02).text
            for number in range(round(size * 50)):
                (tree / f"m{number}.py").write_text(text.replace("_", f"_{number}_"))
            build = ("data", "build", tree, "-o", pack, "--tasks", "400", "--resolve", "no")
            costs["data build"].append(command(*build, home=home))
            words = ("--protocol", "body", "--retriever", "bm25", "--source", pack, "--out", out)
            costs["compare by BM25"].append(command("compare", *chosen, *words, home=home))
    ratio = large / small
    for what, (before, after) in costs.items():
        sizes, seconds = f"{what} of {large:g} MB / of {small:g} MB", f" ({after.busy:.0f} s)"
        yield most(f"{sizes}, time ({ratio:g} is linear)", after.busy / before.busy, 1.25 * ratio, beside=seconds)
        yield most("  peak memory", after.peak / before.peak, ratio, beside=f" ({after.peak / 2**20:.0f} MiB)")


PARTS = {part.__name__: part for part in (commands, embedding, search, cache, metrics, statistics, chunkers, packs)}
WITH_DATA = {"commands", "embedding", "chunkers"}


def rows_of(name: str, source: str, quick: bool) -> list[Row]:
    """Return the rows of a part, in a list, which can be sent to another process."""
    return [*PARTS[name](source, quick)]


def main() -> None:
    """Print every row, then how many bars were missed; exit 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: auto, a folder, a URL")
    parser.add_argument(
        "--quick", action="store_true", help="parts without data, at small sizes; the figures say nothing"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    missed, failed, began = 0, [], time.perf_counter()
    for name in options.parts or [part for part in PARTS if not (options.quick and part in WITH_DATA)]:
        # In a process of its own, because the reported peak of a child begins with its parent's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            done = pool.submit(rows_of, name, options.source, options.quick)
            if problem := done.exception():
                failed.append(name)
                print(f"{name} failed: {type(problem).__name__}: {problem}")
                continue
        for row in done.result():
            missed += row.passed is False
            verdict = {True: "holds", False: "MISSED", None: ""}[row.passed]
            print(f"{row.what:60} {row.figure:>18}  {row.bar:10} {verdict}".rstrip(), flush=True)
    print(f"bars missed: {missed}; took {(time.perf_counter() - began) / 60:.1f} minutes")
    if failed:
        sys.exit(f"parts that failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
