"""Read damaged inputs with the public readers: each is accepted or refused in a sentence, and none is a traceback.

python scripts/fuzz.py [--rows 200000] [--seed 0] [--only KIND --first N]

A row is one input, made from the seed, its kind and its number. An accepted number that is not finite counts as a fault
too, and so does a row that takes longer than 50 seconds.
"""

import argparse
import gzip
import io
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import BaseModel

from repoeval_bench import Benchmark, LineSpan, SourceFile, Task, evaluate, find_run, gate, read_gates, segment
from repoeval_bench.analysis.gates import GateConfig
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import BenchError
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.questions import with_questions
from repoeval_bench.dataset.repoeval import parse_tasks
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.metrics import Measure
from repoeval_bench.own.packs.pack import build_pack
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.own.recommend.chosen import read_chosen
from repoeval_bench.plugins.logs.diagnosis import diagnose
from repoeval_bench.plugins.logs.import_gold import by_file, hits_of, judge_log, read_log
from repoeval_bench.plugins.logs.import_log import import_run
from repoeval_bench.plugins.logs.pipeline import pipeline_report
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.benchmark_file import read_benchmark
from repoeval_bench.runs.parts import choose_retriever
from repoeval_bench.runs.trec import read_qrels, read_run
from repoeval_bench.runs.view import RunView

Rows = list[dict[str, Any]]

METADATA = {
    "task_id": "acme--tools/7",
    "ground_truth": "    return os.stat(path).st_size\n",
    "fpath_tuple": ["acme_tools", "tools", "files.py"],
    "context_start_lineno": 0,
    "lineno": 4,
    "function_name": "size",
}
TASKS: Rows = [
    {"prompt": "import os\n\n\ndef size(path):\n", "metadata": METADATA},
    {"prompt": "import os\n", "metadata": METADATA | {"task_id": "b/8", "fpath_tuple": ["acme--tools", "a b.py"]}},
]
HIT = {"file": "docs/f.md", "start_line": 2, "end_line": 20, "doc_version": "2024-05-01"}
LOG: Rows = [
    {
        "query_id": f"q{i}",
        "query": "how large is a file",
        "system": "search 1.0",
        "k_raw": 10,
        "topk": [HIT | {"rank": rank, "chunk_id": f"f{rank}@0-9", "score": 1.0 / rank} for rank in (1, 2)],
        "index_version": "3",
        "chunker": {"algo": "fixed", "parameters": {"max_nws": 1500}},
        "latency_ms": {"retrieve": 5.5, "rerank": 1.0},
        "as_of": "2024-06-01T10:00:00+02:00",
        "conversation": f"c{i % 2}",
        "extra": {"note": "any", "n": [1, 2.5, None]},
    }
    for i in range(3)
]
GOLD: Rows = [{"query_id": f"q{i}", "chunk_id": f"f{i + 1}@0-9", "gain": 2.0 - i} for i in range(3)]
QUESTIONS: Rows = [
    {"query": "how large is a file", "file": "r/part1.py", "start_line": 3, "end_line": 6, "quote": "os.stat"},
    {"query": "names", "id": "n", "places": [{"file": "./r/part2.py", "start_line": 1, "end_line": 2}]},
]
RUN = b"q0 Q0 a 1 0.9 t\nq0 Q0 b 2 0.5 t\nq1 Q0 a 1 0.25 t\nq2 Q0 c 1 -3e-1 t\n"
QRELS = b"q0 0 a 1\nq0 0 b 0\nq1 0 c 2\nq2 0 none 0\n"
GATES = b"""\
baseline: last
gates:
  - {measure: recall@10, max_drop: 0.02, mean: macro, segment: {is_method: true}}
latency:
  - step: retrieve
    median_ms: 20.5
"""
BENCH = b"""\
pack: repoeval@chunking-v1
chunkers:
  - ast
  - fixed:max_nws=800
protocol: [context, body]
retrievers: bm25
k: 50
baseline: ast
"""
CHOSEN = b"""\
version = 1
spec = "ast:max_nws=150"
opponent = "fixed:max_nws=9000"
retriever = "bm25"
extensions = [".rb"]
expected_loss = 0.01
date = "2026-11-01"
tool = "0.2.0"
[[evidence]]
protocol = "uses"
retriever = "bm25"
measure = "line_recall_auc"
questions = 90
files = 30
mean = 1e-05
"""
SPECS: dict[str, tuple[Callable[[str], object], Sequence[str]]] = {
    "chunker": (make_chunker, ["ast:max_nws=800,overlap=0", "window:lines=20,step=10", "file"]),
    "measure": (Measure.parse, ["ndcg@10", "line_recall@3000", "rbp:p=0.8", "mrr"]),
    "protocol": (Protocol.parse, ["context", "body+exclusion=body", "context+relevance=iou:0.5"]),
    "retriever": (choose_retriever, ["bm25:k1=1.2,b=0.75", "hybrid:k=60", "dense"]),
    "embedder": (choose_embedder, ["minilm:max_length=128", "hash:dim=64,seed=1"]),
}
GATE = GateConfig.model_validate({"gates": [{"measure": "ndcg@10", "at_least": 0.1}]})
CODE = '"""Part {i}."""\n\n\ndef value(path):\n    """The size of a path."""\n    return os.stat(path).st_size + {i}\n'

RAW = [
    *("NaN", "Infinity", "1e999", "-0.0", "1e-320", "9007199254740993", r'"\ud800"', "tru", "01"),
    *("9" * 5000, "[" * 5000),
]
"""Pieces that no JSON writer writes, or that readers interpret in different ways."""

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**53, 2**64, 10**100, 0.5, -0.0, 1e-300, 1e308),
    *("", " ", "a b", "a%20b", "../x.py", "C:\\x.py", "a/./b.py", "nul\x00.py", "\x1b]0;x\x07", "a\u202eb", "\ufeffq"),
    *("2024-99-99", "0001-01-01T00:00:00+23:59", "('r', 'a.py')", "(" * 200, "x" * 40_000, "1_0", "\u0661", "e\u0301"),
    *([], {}, [[]], [None], {"": 1}, {"a": {"b": [1]}}, ["a", 1]),
]
"""Valid JSON values, for places where they are not expected."""

TOKENS = [
    *(raw.encode() for raw in RAW),
    *(b"\xef\xbb\xbf", b"\xff", b"\x00", b"\r", b"\n\n", b"\t", b" ", b",", b":", b'"', b"\\", b"{", b"}", b"[", b"]"),
    *(b"- ;&a ;*a;!!float ;<<: ;? ;| ;%;=;@;nan;-1;1_0".split(b";")),
    b"\xe2\x80\xa8",
]
"""Bytes that are inserted, or replace others."""


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return the content with a few small changes, or rarely random bytes."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randint(0, 200))
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        index = rng.randrange(len(result) + 1)
        end = min(len(result), index + rng.choice((0, 1, 2, 8, 40)))
        pieces = (rng.choice(TOKENS), rng.randbytes(2), b"", bytes(result[index:end]) * 30)
        result[index:end] = rng.choice(pieces)
    return bytes(result[: rng.randrange(len(result) + 1)] if rng.random() < 0.05 else result)


def changed(rng: random.Random, content: Any) -> bytes:
    """Return the content as JSON, with one or two of its values replaced, removed, renamed or repeated."""
    whole = json.loads(json.dumps(content))
    raw: dict[str, str] = {}
    for number in range(rng.choice((1, 1, 2))):
        places = list(_places(whole))
        if not places:
            break
        holder, key = rng.choice(places)
        what = rng.randrange(8)
        if what == 0 and isinstance(holder, dict):
            holder[rng.choice(("", "extra ", "query_id", "\u202e", "x" * 40_000, "a\nb"))] = holder.pop(key)
        elif what == 1:
            del holder[key]
        elif what == 2:
            holder[key] = f"<<{number}>>"
            raw[f'"<<{number}>>"'] = rng.choice(RAW)
        elif what == 3 and isinstance(holder, list):
            holder.extend([holder[key]] * rng.choice((1, 200)))
        else:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
    text = json.dumps(whole, ensure_ascii=rng.random() < 0.5)
    for mark, piece in raw.items():
        text = text.replace(mark, piece)
    return text.encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key or index) of every value below this one."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def rows_of(rng: random.Random, rows: Rows) -> bytes:
    """Return rows as JSON lines, one of them changed or damaged."""
    lines = [json.dumps(row).encode() for row in rows]
    index = rng.randrange(len(lines))
    lines[index] = damaged(rng, lines[index]) if rng.random() < 0.3 else changed(rng, rows[index])
    if rng.random() < 0.1:
        lines.append(rng.choice(lines))
    return rng.choice((b"\n", b"\r\n", b"\n\n")).join(lines) + b"\n"


@dataclass(frozen=True)
class Inputs:
    """A folder for inputs, a small benchmark, a stored and an imported run to damage, and a pack."""

    folder: Path
    benchmark: Benchmark
    runs: tuple[Path, ...]
    pack: Path

    @classmethod
    def make(cls, folder: Path) -> Self:
        """Store the runs in the folder."""
        files = {repo: tuple(SourceFile(repo, f"part{i}.py", CODE.format(i=i)) for i in range(4)) for repo in "rs"}
        facts: dict[str, Any] = {"ground_truth": METADATA["ground_truth"], "level": "function", "context_start": 0}
        tasks = tuple(
            Task(task_id=file.name, repo=repo, path=file.path, prompt=file.text[:40], body=LineSpan(5, 6), **facts)
            for repo, of_repo in files.items()
            for file in of_repo
        )
        known = {"name": "mine-function-2k-codex", "fingerprint": "0" * 12, "level": "function", "source": "mirror"}
        benchmark = Benchmark(tasks=tasks, files=files, whole_tasks=8, whole_repos=2, **known)
        run = evaluate(benchmark, "fixed:max_nws=100", retriever="bm25", k=10, allow_sparse_qrels=True, out=folder)
        source = folder / "code"
        source.mkdir()
        (source / "part.py").write_text(
            "".join(f"def value_{i}(path):\n    a = path\n    b = a\n    return value_1(b)\n\n" for i in range(4))
        )
        pack = build_pack(BuildRequest(sources=(str(source),)), folder / "pack").root
        alone = cls(folder, benchmark, (run.folder,), pack)
        imported = alone.imported(_jsonl(LOG), _jsonl(GOLD))
        return replace(alone, runs=(run.folder, imported.folder))

    def write(self, name: str, content: bytes) -> Path:
        """Write a file, and return its path."""
        path = self.folder / name
        path.write_bytes(content)
        return path

    def imported(self, log: bytes, gold: bytes, into: str = "") -> RunView:
        """Import a log with its gold."""
        paths = self.write("log.jsonl", log), self.write("gold.jsonl", gold)
        return RunView(import_run(*paths, self.folder / into, created="2026-01-01T00:00:00+00:00").folder)


def _jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def gold(rng: random.Random, inputs: Inputs) -> object:
    """Judge a valid log by changed gold."""
    shown = by_file(hits_of(read_log(inputs.write("log.jsonl", _jsonl(LOG)))))
    return judge_log(shown, inputs.write("gold.jsonl", rows_of(rng, GOLD)), {}).gains


def imported(rng: random.Random, inputs: Inputs) -> object:
    """Import a changed log, and read the stored run."""
    run = inputs.imported(rows_of(rng, LOG), _jsonl(GOLD), "imported")
    try:
        return [run.metrics, run.scores, run.timings, run.manifest]
    finally:
        shutil.rmtree(run.folder)


def specs(rng: random.Random, _: Inputs) -> object:
    """Parse a damaged spec."""
    parse, valid = rng.choice(list(SPECS.values()))
    text = damaged(rng, rng.choice(valid).encode()).decode("utf-8", "surrogateescape")
    if not text.strip().startswith(("py:", "exec:")):  # one that names a module would import it
        parse(text)
    return None


def archives(rng: random.Random, inputs: Inputs) -> object:
    """Read a damaged archive, or one with odd names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a/b.py", "a/c.py", "LICENSE"):
            info = zipfile.ZipInfo("placeholder")
            info.filename = str(rng.choice(VALUES))[:100] if rng.random() < 0.3 else name
            archive.writestr(info, b"x = 1\n")
    content = stream.getvalue() if rng.random() < 0.3 else damaged(rng, stream.getvalue())
    return [name for name, _ in read_zip(inputs.write("fuzz.zip", content), lambda _: True)]


def one_damaged(rng: random.Random, folder: Path, read: Callable[[], object]) -> object:
    """Damage one file of a folder, read the folder, and restore the file."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    whole = path.read_bytes()
    text = gzip.decompress(whole) if path.suffix == ".gz" else whole
    if not {".json", ".jsonl"} & {*path.suffixes} or rng.random() < 0.3:
        text = damaged(rng, text)
    elif path.suffix == ".json":
        text = changed(rng, json.loads(text))
    else:
        text = rows_of(rng, [json.loads(line) for line in text.splitlines()])
    try:
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" and rng.random() < 0.9 else text)
        return read()
    finally:
        path.write_bytes(whole)


def run_folders(rng: random.Random, inputs: Inputs) -> object:
    """Damage one file of a stored run, and read it with one of its readers."""
    folder = rng.choice(inputs.runs)
    read: list[Callable[[RunView], object]] = [
        lambda run: [run.metrics, run.scores, run.timings, run.rankings(), run.qrels()],
        lambda run: run.inspection and [run.inspection.sources, run.inspection.chunks, run.inspection.queries],
        lambda run: segment(run, measure="ndcg@10"),
        pipeline_report,
        diagnose,
        lambda run: gate(run, GATE),
    ]
    return one_damaged(rng, folder, lambda: rng.choice(read)(find_run(str(folder), inputs.folder)))


KINDS: dict[str, tuple[float, Callable[[random.Random, Inputs], object]]] = {
    "tasks": (0.16, lambda rng, _: parse_tasks(rows_of(rng, TASKS), name="tasks.jsonl", level="function")),
    "questions": (0.02, lambda rng, i: with_questions(i.benchmark, i.write("q.jsonl", rows_of(rng, QUESTIONS))).tasks),
    "log": (0.2, lambda rng, i: list(read_log(i.write("l.jsonl", rows_of(rng, LOG))))),
    "gold": (0.18, gold),
    "imported": (0.01, imported),
    "run": (0.12, lambda rng, i: read_run(i.write("f.run.trec", damaged(rng, RUN))).rankings),
    "qrels": (0.12, lambda rng, i: read_qrels(i.write("f.qrels.trec", damaged(rng, QRELS)))),
    "gates": (0.04, lambda rng, i: read_gates(i.write("gates.yaml", damaged(rng, GATES)))),
    "bench files": (0.01, lambda rng, i: read_benchmark(i.write("b.yaml", damaged(rng, BENCH)), {}).requests),
    "chosen": (0.02, lambda rng, i: read_chosen(i.write("chunking.toml", damaged(rng, CHOSEN)))),
    "packs": (0.01, lambda rng, i: one_damaged(rng, i.pack, lambda: load_benchmark(i.pack, home=i.folder).tasks)),
    "specs": (0.09, specs),
    "archives": (0.01, archives),
    "run folders": (0.01, run_folders),
}
"""Name -> (share of the rows, function that makes and reads one row); the shares add up to 1."""


def not_finite(value: Any) -> bool:
    """Return whether a number within a value is not finite."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and not np.isfinite(value).all()
    if isinstance(value, dict):
        return any(map(not_finite, value.values()))
    if isinstance(value, list | tuple):
        return any(map(not_finite, value))
    if isinstance(value, BaseModel):
        return not_finite(value.__dict__)
    return is_dataclass(value) and any(not_finite(getattr(value, field.name)) for field in fields(value))


def outcome(kind: str, rng: random.Random, inputs: Inputs) -> tuple[str, str]:
    """Return the outcome of one row, and the reason if it is a fault."""
    signal.alarm(50)
    try:
        result = KINDS[kind][1](rng, inputs)
    except BenchError as error:
        return ("refused", "") if str(error).strip() else ("fault", "an error without a sentence")
    except Exception:  # noqa: BLE001 - the fault that the fuzz looks for
        return "fault", traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
    return ("fault", f"a number that is not finite: {result}") if not_finite(result) else ("accepted", "")


def fuzz(rows: int, seed: int, only: str = "", first: int = 0) -> dict[str, Counter[str]]:
    """Count outcomes by kind, and print the first three faults of each."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    counts: dict[str, Counter[str]] = {}
    memory = Path("/dev/shm")  # noqa: S108 - in a folder of its own; every row writes files
    parent = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=parent) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of very large and very small numbers
        inputs = Inputs.make(Path(folder))
        for kind, (share, _) in KINDS.items():
            if only not in ("", kind):
                continue
            counter = counts[kind] = Counter()
            for number in range(first, first + round(rows * (1 if only else share))):
                what, why = outcome(kind, random.Random(f"{seed} {kind} {number}"), inputs)
                counter[what] += 1
                if what == "fault" and counter[what] <= 3:
                    print(f"--only '{kind}' --first {number} --rows 1 --seed {seed}\n{why}", file=sys.stderr)
            outcomes = (f"{counter[name]:10,} {name}" for name in ("accepted", "refused", "fault"))
            print(f"{kind:12}", *outcomes, flush=True)
    return counts


def main() -> None:
    """Print the counts; exit with 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, default="")
    parser.add_argument("--first", type=int, default=0, metavar="N")
    options = parser.parse_args()
    total = sum(fuzz(options.rows, options.seed, options.only, options.first).values(), Counter())
    print(f"{total.total():,} rows, {total['fault']:,} faults")
    sys.exit(total["fault"] > 0)


if __name__ == "__main__":
    main()
