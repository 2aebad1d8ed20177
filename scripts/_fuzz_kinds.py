"""The inputs of the fuzz by kind: make an input, read it with the public reader, and check an accepted one."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import shutil
import unicodedata
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _fuzz_inputs as valid
import numpy as np
from _fuzz_mutations import VALUES, changed_json, damaged, mutated, nonsense, rows_of
from pydantic import BaseModel

from repoeval_bench import compare, gate, read_gates, segment
from repoeval_bench.analysis.gates import GateConfig
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import BenchError
from repoeval_bench.core.files import path_problem
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.validation import LINES
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.questions import with_questions
from repoeval_bench.dataset.repoeval import parse_tasks
from repoeval_bench.dataset.sources.archived import SetManifest
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.metrics import Measure, score_run
from repoeval_bench.plugins.logs.diagnosis.report import diagnose
from repoeval_bench.plugins.logs.import_gold import judge_log, places_of, read_log
from repoeval_bench.plugins.logs.import_log import import_run
from repoeval_bench.plugins.logs.pipeline.report import pipeline_report
from repoeval_bench.plugins.logs.records import read_rows
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.html.report import report_page
from repoeval_bench.retrieval.choice import choose_retriever
from repoeval_bench.runs.benchmark_file import read_benchmark
from repoeval_bench.runs.facts import read_facts
from repoeval_bench.runs.log import moment
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.records import TimeRow
from repoeval_bench.runs.trec import read_qrels, read_run

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping

    from repoeval_bench import Benchmark
    from repoeval_bench.plugins.logs.import_gold import ByFile
    from repoeval_bench.runs.view import RunView

MEASURES = ("ndcg@10", "recall@5", "mrr", "ap", "precision@3", "rbp")


@dataclass(frozen=True)
class Inputs:
    """A folder for inputs, a benchmark, stored runs to damage, and the chunks that the valid log shows, by file."""

    folder: Path
    benchmark: Benchmark
    runs: tuple[RunView, ...]
    shown: ByFile

    @classmethod
    def make(cls, folder: Path) -> Inputs:
        """Store the runs in the folder."""
        benchmark = valid.benchmark()
        runs = valid.stored_runs(folder, benchmark)
        return cls(folder, benchmark, tuple(runs), places_of(read_log(folder / "log.jsonl")))

    def write(self, name: str, content: bytes) -> Path:
        """Write a file, and return its path."""
        path = self.folder / name
        path.write_bytes(content)
        return path


@dataclass(frozen=True)
class Kind:
    """A kind of input: its share of all rows, and a function that reads one row and returns what is out of range."""

    share: float
    read: Callable[[random.Random, Inputs], str]


def plain_faults(value: Any) -> str:
    """Return the first value that no reader may accept: a number that is not finite or exact, half of a character."""
    kind = type(value)
    if kind is str:
        halves = not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)
        return f"{value!r} holds half of a character" if halves else ""
    if kind is float:
        return "" if math.isfinite(value) else f"{value} is not finite"
    if kind is int:
        return "" if abs(value) <= EXACT else f"{str(value)[:30]} is beyond 2^53"
    if value is None or kind is bool:
        return ""
    if kind is np.ndarray:
        return "an array that is not finite" if value.dtype.kind == "f" and not np.isfinite(value).all() else ""
    return next(filter(None, map(plain_faults, _within(value))), "")


def _within(value: Any) -> Iterable[Any]:
    """Return the values in a record or a collection."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, BaseModel):
        return list(value.__dict__.values())
    return [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else ()


def score_faults(rankings: Mapping[str, Any], qrels: Mapping[str, Mapping[str, float]]) -> str:
    """Return a measure whose values are not between 0 and 1; "" if there is none."""
    if not qrels:
        return ""
    relevant = {query: {chunk: gain for chunk, gain in gains.items() if gain > 0} for query, gains in qrels.items()}
    for name, column in score_run(rankings, relevant, MEASURES).values.items():
        if not ((column >= 0) & (column <= 1 + 1e-9)).all():
            return f"{name} is {column}"
    return ""


def tasks(rng: random.Random, _: Inputs) -> str:
    result = parse_tasks(rows_of(rng, valid.TASKS), name="tasks.jsonl", level="function")
    if len({task.task_id for task in result}) < len(result):
        return "two tasks have one id"
    for task in result:
        if path_problem(f"{task.repo}/{task.path}") or not 0 <= task.context_start <= task.body.start <= LINES:
            return f"{task.file!r} {task.context_start} {task.body}"
        if not all(part.strip() for part in task.file.split("/")):
            return f"a part of {task.file!r} is blank"
    return plain_faults(list(result))


def questions(rng: random.Random, inputs: Inputs) -> str:
    path = inputs.write("fuzz.questions.jsonl", rows_of(rng, valid.QUESTIONS))
    for task in with_questions(inputs.benchmark, path).tasks:
        for location in task.places:
            file = inputs.benchmark.by_name[location.file]
            if not 0 <= location.lines.start < location.lines.end <= file.n_lines or not task.prompt.strip():
                return f"{task.task_id!r} {location}"
    return ""


def log(rng: random.Random, inputs: Inputs) -> str:
    for row in read_log(inputs.write("fuzz.log.jsonl", rows_of(rng, valid.LOG))):
        if [hit.rank for hit in row.ranked] != list(range(1, len(row.topk) + 1)):
            return "ranks are not 1, 2, 3"
        if row.as_of is not None and moment(row.as_of) is None:
            return f"{row.as_of!r} is not a time"
        if row.latency_ms is not None and min(row.latency_ms.model_dump(exclude_none=True).values(), default=0) < 0:
            return "a negative time"
        for hit in row.topk:
            if hit.doc_version is not None:
                moment(hit.doc_version)
            if hit.lines is not None and hit.lines.end > LINES:
                return f"{hit.lines}"
        if wrong := plain_faults(row):
            return wrong
    return ""


def gold(rng: random.Random, inputs: Inputs) -> str:
    rows = valid.GOLD[rng.choice(list(valid.GOLD))]
    judged_log = judge_log(inputs.shown, inputs.write("fuzz.gold.jsonl", rows_of(rng, rows)), None)
    rankings = {row["query_id"]: [(hit["chunk_id"], hit["score"]) for hit in row["topk"]] for row in valid.LOG}
    if any(gain < 0 for gains in judged_log.gains.values() for gain in gains.values()):
        return "a negative gain"
    return plain_faults(judged_log.gains) or score_faults(rankings, judged_log.gains)


def imported(rng: random.Random, inputs: Inputs) -> str:
    """Import a log and its gold, one of them mutated, and read the stored run."""
    log_rows, gold_rows = valid.LOG, valid.GOLD[rng.choice(list(valid.GOLD))]
    mutated = rng.randrange(3)
    files = [
        inputs.write(f"fuzz.{name}.jsonl", rows_of(rng, rows) if i == mutated else _jsonl(rows))
        for i, (name, rows) in enumerate((("log", log_rows), ("gold", gold_rows), ("timings", valid.TIMES)))
    ]
    folder = import_run(
        files[0], files[1], inputs.folder / "imported", created="2026-01-01T00:00:00+00:00", timings=files[2]
    ).folder
    try:
        run = find_run(str(folder), inputs.folder)
        return plain_faults([run.metrics, run.scores, run.timings, run.manifest])
    finally:
        shutil.rmtree(folder)


def _jsonl(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def timings(rng: random.Random, inputs: Inputs) -> str:
    results = [row for _, row in read_rows(inputs.write("fuzz.timings.jsonl", rows_of(rng, valid.TIMES)), TimeRow)]
    if any(value < 0 for row in results for value in (row.seconds or 0, *row.latency_ms.values())):
        return "a negative time"
    return plain_faults(results)


def odd_number(text: str) -> bool:
    """Return whether Python reads a text as a number, but no other reader of such files does."""
    try:
        float(text)
    except ValueError:
        return False
    return not re.fullmatch(r"[ \t]*[-+.0-9a-zA-Z]+[ \t]*", text)


def line_faults(content: bytes, name: str, error: BenchError) -> str:
    """Return what is wrong if the refusal of a file that is not UTF-8 does not name the line."""
    try:
        content.decode()
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        return "" if f"{name}:{line} " in str(error) or f"{name}:{line}:" in str(error) else f"not line {line}: {error}"
    return ""


def trec(rng: random.Random, inputs: Inputs) -> str:
    ranking, qrels_text = valid.RUN, valid.QRELS
    if rng.random() < 0.5:
        ranking = mutated(rng, ranking)
    else:
        qrels_text = mutated(rng, qrels_text)
    try:
        run = read_run(inputs.write("fuzz.run.trec", ranking))
        qrels = read_qrels(inputs.write("fuzz.qrels.trec", qrels_text))
    except BenchError as error:
        if wrong := line_faults(ranking, "fuzz.run.trec", error) or line_faults(qrels_text, "fuzz.qrels.trec", error):
            return wrong
        raise
    for content, field in ((ranking, 4), (qrels_text, 3)):
        for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            parts = re.split(rb"[ \t]+", line.strip(b" \t\r"))
            if parts != [b""] and odd_number(parts[field].decode()):
                return f"{parts[field]!r} is no number"
    return plain_faults([dict(run.rankings), qrels]) or score_faults(run.rankings, qrels)


def facts(rng: random.Random, inputs: Inputs) -> str:
    if rng.random() < 0.5:
        content = mutated(rng, valid.FACTS_CSV)
        path = inputs.write("fuzz.csv", content)
    else:
        content = b""
        path = inputs.write("fuzz.facts.jsonl", rows_of(rng, valid.FACTS))
    try:
        result = read_facts(path, ["q0", "q1", "q2"])
    except BenchError as error:
        if wrong := line_faults(content, "fuzz.csv", error):
            return wrong
        raise
    if any(unicodedata.category(char) == "Cc" for name in result for char in name):
        return f"a fact with a control character in its name: {list(result)}"
    # Blank lines before the head are left out, as the reader leaves them out.
    for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig").lstrip("\r\n"), newline="")):
        for name, text in row.items():
            values = result.get(name, ())
            if odd_number(text) and any(type(value) is float and value == float(text) for value in values):
                return f"{text!r} is no number"
    if not all(name.strip() and len(column) == 3 for name, column in result.items()):
        return f"a fact without a name, or without a value for each query: {result}"
    return plain_faults(result)


def gates(rng: random.Random, inputs: Inputs) -> str:
    return plain_faults(read_gates(inputs.write("fuzz.gates.yaml", mutated(rng, valid.GATES))))


def bench_files(rng: random.Random, inputs: Inputs) -> str:
    path = inputs.write("fuzz.bench.yaml", mutated(rng, valid.BENCH))
    return plain_faults(list(read_benchmark(path, {}, inputs.folder).requests))


NORMALISE: Mapping[str, Callable[[str], str]] = {
    "chunker": lambda text: make_chunker(text).spec,
    "measure": lambda text: str(Measure.parse(text)),
    "protocol": lambda text: Protocol.parse(text).name,
    "retriever": lambda text: choose_retriever(text).spec,
}


def specs(rng: random.Random, _: Inputs) -> str:
    what = rng.choice(list(valid.SPECS))
    raw = mutated(rng, rng.choice(valid.SPECS[what]).encode(), most=2)
    text = raw.decode("utf-8", "surrogateescape")
    if text.strip().startswith("py:"):  # it would import what it names
        return ""
    if what == "embedder":
        choose_embedder(text)
        return ""
    normalise = NORMALISE[what]
    spec = normalise(text)
    return "" if normalise(spec) == spec else f"{text!r} is {spec!r} once, and not twice"


def archives(rng: random.Random, inputs: Inputs) -> str:
    if rng.random() < 0.2:
        content = changed_json(rng, valid.MANIFEST) if rng.random() < 0.9 else nonsense(rng)
        return plain_faults(SetManifest.read(inputs.write("fuzz.repoeval.json", content), "the manifest"))
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in valid.MEMBERS.items():
            info = zipfile.ZipInfo("placeholder")
            odd = [value for value in VALUES if isinstance(value, str) and len(value) < 100]
            info.filename = rng.choice(odd) if rng.random() < 0.3 else name
            archive.writestr(info, member)
    content = packed.getvalue() if rng.random() < 0.3 else damaged(rng, packed.getvalue())
    names = [name for name, _ in read_zip(inputs.write("fuzz.zip", content), lambda _: True)]
    wrong = [name for name in names if path_problem(name) or Path(name).as_posix() != name]
    return f"{wrong} {names}" if wrong or len(set(names)) < len(names) else ""


GATE = GateConfig.model_validate(
    {"gates": [{"measure": "ndcg@10", "at_least": 0.1}], "latency": [{"median_ms": 100.0}]}
)


def run_folders(rng: random.Random, inputs: Inputs) -> str:
    """Damage one file of a stored run, and read it with one of its readers."""
    run = rng.choice(inputs.runs)
    path = rng.choice(sorted(path for path in run.folder.iterdir() if path.is_file()))
    whole = path.read_bytes()
    try:
        path.write_bytes(_damaged_file(rng, path, whole))
        return _read_folder(rng, run.folder, inputs)
    finally:
        path.write_bytes(whole)


def _damaged_file(rng: random.Random, path: Path, whole: bytes) -> bytes:
    if path.suffix == ".gz" and rng.random() < 0.7:
        return gzip.compress(_damaged_file(rng, path.with_suffix(""), gzip.decompress(whole)))
    if path.suffix not in (".json", ".jsonl") or rng.random() < 0.3:
        return damaged(rng, whole)
    if path.suffix == ".json":
        return changed_json(rng, json.loads(whole))
    lines = whole.splitlines()
    index = rng.randrange(len(lines))
    lines[index] = changed_json(rng, json.loads(lines[index]))
    return b"\n".join(lines) + b"\n"


def _read_folder(rng: random.Random, folder: Path, inputs: Inputs) -> str:
    run = find_run(str(folder), inputs.folder)
    read: list[Callable[[], Any]] = [
        lambda: [run.scores, run.timings, run.ranked_ids(), run.rankings(), run.qrels(), run.inspection],
        lambda: compare([run, inputs.runs[0]]) if not run.metrics.imported else compare([inputs.runs[1], run]),
        lambda: segment(run, measure="ndcg@10"),
        lambda: pipeline_report(run),
        lambda: diagnose(run),
        lambda: gate(run, GATE),
        lambda: report_page([run], "report.html"),
    ]
    # A page draws its figures, which takes a hundred times as long as reading the folder.
    result = rng.choices(read, weights=[6] * (len(read) - 1) + [1])[0]()
    return plain_faults([run.metrics, run.manifest]) or ("" if isinstance(result, str) else plain_faults(result))


KINDS = {
    "tasks": Kind(0.19, tasks),
    "questions": Kind(0.02, questions),
    "log": Kind(0.17, log),
    "gold": Kind(0.12, gold),
    "imported": Kind(0.01, imported),
    "timings": Kind(0.08, timings),
    "trec": Kind(0.13, trec),
    "facts": Kind(0.12, facts),
    "gates": Kind(0.04, gates),
    "bench files": Kind(0.01, bench_files),
    "specs": Kind(0.09, specs),
    "archives": Kind(0.01, archives),
    "run folders": Kind(0.01, run_folders),
}
"""Name -> reader; the shares add up to 1."""
