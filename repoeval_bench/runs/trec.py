"""TREC files: runs and qrels for trec_eval and ir_measures.

A run line is `query Q0 chunk rank score tag`, a qrels line `query 0 chunk gain`. As in trec_eval, a reader orders a run
by (score as float32, chunk id), both descending, and ignores the file's own ranks and order. A run that is written here
is read back in the same order.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.run import Qrels, Run, trec_order
from repoeval_bench.core.source import encode_id
from repoeval_bench.core.words import count

# Real gains are written as whole thousandths, because trec_eval reads whole numbers.
GAIN_FACTOR = 1000

# The largest gain: in thousandths, floating point cannot tell a larger one from the next whole number.
LARGEST_GAIN = 1e12

# The chunk id in the only row, with gain 0, of a query without a relevant chunk: every mean needs a row.
NO_CHUNK = "none"

BEIR = ["query-id", "corpus-id", "score"]
"""The first line of BEIR's qrels."""

# The first character of a line that is skipped, in runs and qrels, as trec_eval does.
_COMMENT = "#"

_QUERY, _CHUNK = "query id", "chunk id"

# How far (relative) a score may be above the one before it, so that it is still written one step below that one.
_SLACK = 1e-5


def run_lines(rankings: Mapping[str, Sequence[tuple[str, float]]], tag: str) -> Iterator[str]:
    """Yield the lines of a run file, those of one query at a time; ids and tags with a blank are percent-encoded.

    Scores are written with `%.9g`, which is exact for float32. MetricError for a score that float32 cannot hold, or
    that is clearly above the one before it.
    """
    word = as_field(tag or "run", "tag")
    for query_id, ranking in rankings.items():
        query = as_field(query_id, _QUERY)
        chunks = [as_field(chunk_id, _CHUNK) for chunk_id, _ in ranking]
        scores = _in_file_order(query_id, ranking, chunks)
        yield "".join(
            [
                f"{query} Q0 {chunk} {rank} {score} {word}\n"
                for rank, (chunk, score) in enumerate(zip(chunks, scores, strict=True), start=1)
            ]
        )


def format_qrels(qrels: Mapping[str, Mapping[str, float]]) -> tuple[str, int]:
    """Return the text of a qrels file, and the factor of its gains: 1, or 1000 if one is not an integer.

    A query without a relevant chunk gets one row with gain 0.
    """
    whole = all(float(gain).is_integer() for gains in qrels.values() for gain in gains.values())
    factor = 1 if whole else GAIN_FACTOR
    lines: list[str] = []
    for query_id, gains in qrels.items():
        query = as_field(query_id, _QUERY)
        for chunk_id, gain in gains.items() if gains else ((NO_CHUNK, 0.0),):
            # A relevant chunk has a gain of at least 1, and an imported grade below 0 stays below 0.
            written = max(1, round(gain * factor)) if gain > 0 else math.floor(gain * factor)
            lines.append(f"{query} 0 {as_field(chunk_id, _CHUNK)} {written}\n")
    return "".join(lines), factor


def read_run(path: Path | str) -> Run:
    """Read a run file, each query ordered by (score as float32, chunk id), both descending.

    MetricError with file:line for a line without six fields, a second tag, a score that is no finite number, or a chunk
    that appears twice in a query. A query without a result has no line, so it is missing.
    """
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    tag = ""
    for number, (query_id, _, chunk_id, _, text, of_line) in _rows(path, 6, "query Q0 chunk rank score tag"):
        tag = tag or of_line
        if of_line != tag:
            raise MetricError(f"{path}:{number}: tag {of_line!r} after {tag!r}; a run is of one system, split the file")
        score = _number(path, number, "score", text)
        if math.isinf(score):
            raise MetricError(f"{path}:{number}: the score {text!r} is not a finite number")
        if chunk_id in scores[query_id]:
            raise MetricError(f"{path}:{number}: {chunk_id!r} appears twice in query {query_id!r}; keep one line")
        scores[query_id][chunk_id] = score
    rankings = {
        q: tuple((chunk_id, of_query[chunk_id]) for chunk_id in trec_order(of_query)) for q, of_query in scores.items()
    }
    return Run(tag=tag, rankings=rankings)


def read_qrels(path: Path | str, factor: float = 1) -> Qrels:
    """Read a qrels file: query_id -> chunk_id -> gain / factor, only gains above 0; an empty dict without any.

    MetricError with file:line for a line without four fields, a chunk that appears twice in a query, or a gain that is
    no finite number of at most `LARGEST_GAIN` times the factor.
    """
    qrels: Qrels = {}
    for _, query_id, chunk_id, gain in qrels_rows(path, factor):
        gains = qrels.setdefault(query_id, {})
        if gain > 0:  # a negative grade is not relevant, as in trec_eval
            gains[chunk_id] = gain / factor
    return qrels


def qrels_rows(path: Path | str, factor: float = 1) -> Iterator[tuple[int, str, str, float]]:
    """Yield (line number, query id, chunk id, gain as written) of every line but comments.

    MetricError as in `read_qrels`.
    """
    rows = _rows(path, 4, "query 0 chunk gain")
    return _judged(path, ((number, query_id, chunk_id, gain) for number, (query_id, _, chunk_id, gain) in rows), factor)


def beir_rows(path: Path | str) -> Iterator[tuple[int, str, str, float]]:
    """Yield (line number, query id, chunk id, gain) of qrels in BEIR's `.tsv`; MetricError as in `read_qrels`."""
    return _judged(path, _beir_fields(path))


def _beir_fields(path: Path | str) -> Iterator[tuple[int, str, str, str]]:
    lines = ((number, line.rstrip("\r").split("\t")) for number, line in _lines(path) if line.strip())
    if next(lines, (0, []))[1] != BEIR:
        raise MetricError(
            f"{path}: BEIR's qrels begin with a line of {', '.join(BEIR)}, separated by tabs; write it, or name TREC "
            "qrels .qrels"
        )
    for number, fields in lines:
        if len(fields) != len(BEIR) or not all(fields):
            raise MetricError(f"{path}:{number}: a line has {', '.join(BEIR)}, separated by tabs; write all three")
        query_id, chunk_id, score = fields
        yield number, query_id, chunk_id, score


def _judged(
    path: Path | str, rows: Iterable[tuple[int, str, str, str]], factor: float = 1
) -> Iterator[tuple[int, str, str, float]]:
    """Check the gains of (line number, query id, chunk id, gain as text), and that no chunk is judged twice."""
    seen: set[tuple[str, str]] = set()
    for number, query_id, chunk_id, text in rows:
        gain = _number(path, number, "gain", text)
        if abs(gain) > LARGEST_GAIN * factor:
            raise MetricError(f"{path}:{number}: the gain is {text}; write numbers of at most {LARGEST_GAIN:g}")
        if (query_id, chunk_id) in seen:
            raise MetricError(f"{path}:{number}: {chunk_id!r} appears twice in query {query_id!r}; keep one line")
        seen.add((query_id, chunk_id))
        yield number, query_id, chunk_id, gain


def as_field(name: str, what: str) -> str:
    """Return the name as one field of a line: percent-encoded if it contains a blank, else unchanged."""
    if not name:
        raise MetricError(f"a {what} is empty; a field of a TREC file needs at least one character")
    field = name if name.split() == [name] else encode_id(name)
    # A query id's first character could make a line of qrels a comment, so it is encoded too.
    return f"%{ord(_COMMENT):02X}{field[1:]}" if what == _QUERY and field.startswith(_COMMENT) else field


@np.errstate(over="ignore")  # beyond float32
def _in_file_order(query_id: str, ranking: Sequence[tuple[str, float]], chunks: Sequence[str]) -> list[str]:
    """Return the scores as text, such that trec_eval's order of the file is the ranking."""
    texts = [f"{score:.9g}" for _, score in ranking]
    singles = np.array([float(text) for text in texts], dtype=np.float32).tolist()
    above, id_above, score_above = math.inf, "", math.inf
    for i, ((chunk_id, score), chunk, single) in enumerate(zip(ranking, chunks, singles, strict=True)):
        read = single
        if not math.isfinite(read):
            raise MetricError(f"query {query_id!r}: the score of {chunk_id!r} is {score}; a run file needs finite ones")
        if read > above or (read == above and chunk >= id_above):
            if score - score_above > _SLACK * max(1.0, abs(score_above)):
                raise MetricError(
                    f"query {query_id!r}: rank {i + 1} scores {score}, above rank {i}; a run file is read by "
                    "score, so give it scores that fall"
                )
            # A reader would reorder chunks whose scores are equal in float32 but not in the order of ids.
            read = float(np.nextafter(np.float32(above), np.float32(-np.inf)))
            texts[i] = f"{read:.9g}"
        above, id_above, score_above = read, chunk, score
    return texts


def _rows(path: Path | str, n_fields: int, shape: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of every line but comments."""
    for number, line in _lines(path):
        fields = [field for field in line.strip(" \t\r").replace("\t", " ").split(" ") if field]
        if not fields or line.startswith(_COMMENT):
            continue
        if len(fields) != n_fields:
            raise MetricError(f"{path}:{number}: {count(len(fields), 'field')}, not {n_fields}; a line is `{shape}`")
        yield number, fields


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    with json_reader.faults_as(MetricError, Path(path), "give a TREC file in UTF-8"):
        lines = json_reader.read_text(Path(path)).split("\n")
    return enumerate(lines, start=1)


def _number(path: Path | str, line: int, what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise MetricError(f"{path}:{line}: the {what} {text!r} is not a number")
    return value
