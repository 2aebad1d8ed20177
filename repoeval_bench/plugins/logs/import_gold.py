"""The gold of an imported log: chunk ids, files or line ranges, matched with the chunks of the corpus or the log.

Gold and log also name the repositories and clusters of queries.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from repoeval_bench.core.errors import UsageError, os_errors_as
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold as Places
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.dataset.trees import decode
from repoeval_bench.metrics import ChunkPlace, Context
from repoeval_bench.plugins.logs.records import RANKINGS, Gold, LogError, gold_rows, log_rows, read_rows
from repoeval_bench.runs.inspection import read_sources
from repoeval_bench.runs.log import LoggedChunk, LogRow, Retrieved

ByFile = Mapping[str, Mapping[str, "LineSpan | None"]]
"""File -> chunk_id -> its lines, where they are known."""


def read_log(path: Path, places: Mapping[str, LoggedChunk] | None = None, depth: int | None = None) -> Iterator[LogRow]:
    """Yield the rows of a log, or of a TREC run (see `log_rows`), with their rankings sorted by rank.

    A LogError with file:line names a repeated query or ranked chunk, ranks that are not 1, 2, 3, …, or a second system.
    """
    system: str | None = None
    seen: set[str] = set()
    for number, row in log_rows(path, places, depth):
        where = f"{path}:{number}"
        if row.query_id in seen:
            raise LogError(f"{where}: query {row.query_id!r} appears twice; keep one row of it")
        system = system or row.system
        if row.system != system:
            raise LogError(f"{where}: system {row.system!r} after {system!r}; a log is of one system, split it")
        seen.add(row.query_id)
        lists = ((name, getattr(row, name)) for name in RANKINGS)
        yield row.model_copy(
            update={name: _in_order(f"{where}: {name}", ranking) for name, ranking in lists if ranking}
        )
    if not seen:
        raise LogError(f"{path} holds no row; a log has one for each query")


def _in_order(where: str, ranking: Sequence[Retrieved]) -> list[Retrieved]:
    ordered = sorted(ranking, key=lambda entry: entry.rank)
    if [entry.rank for entry in ordered] != list(range(1, len(ordered) + 1)):
        raise LogError(f"{where}: ranks are {[entry.rank for entry in ordered][:5]} …; count them 1, 2, 3")
    seen: set[str] = set()
    for entry in ordered:
        if entry.chunk_id in seen:
            raise LogError(f"{where}: {entry.chunk_id!r} is ranked twice; keep one, or recall could pass 1")
        seen.add(entry.chunk_id)
    return ordered


def hits_of(rows: Iterable[LogRow]) -> list[Retrieved]:
    """Return the entries of all rankings of a log."""
    return [hit for row in rows for name in RANKINGS for hit in getattr(row, name) or ()]


def read_corpus(path: Path) -> dict[str, LoggedChunk]:
    """Return chunk_id -> chunk of a corpus; a LogError with file:line names an id with a second place."""
    results: dict[str, LoggedChunk] = {}
    for number, chunk in read_rows(path, LoggedChunk):
        known = results.setdefault(chunk.chunk_id, chunk)
        if (known.file, known.lines) != (chunk.file, chunk.lines):
            raise LogError(f"{path}:{number}: {_two_places(known, chunk)}; give each chunk an id of its own")
    return results


def check_places(log: Path, rows: Iterable[LogRow], corpus: Mapping[str, LoggedChunk]) -> None:
    """Raise a LogError for a chunk of a log that the corpus lacks or has elsewhere: it would never be relevant."""
    if hits := hits_of(rows):
        _check_shared("chunk id", ("corpus", corpus.keys()), ("log", {hit.chunk_id for hit in hits}))
    for hit in hits:
        if (chunk := corpus.get(hit.chunk_id)) is None:
            raise LogError(
                f"{log} ranks {hit.chunk_id!r}, which is not in the corpus; name every chunk there, by the same id"
            )
        if hit.file not in (None, chunk.file) or (chunk.lines and hit.lines not in (None, chunk.lines)):
            raise LogError(
                f"corpus and {log}: {_two_places(chunk, hit)}; give the corpus of the index that was searched"
            )


def _two_places(one: LoggedChunk, two: LoggedChunk | Retrieved) -> str:
    """Say where a chunk is, and where else."""
    both = " and ".join(
        (f"lines {span.lines.start} to {span.lines.end} of " if span.lines else "") + str(span.file)
        for span in (one, two)
    )
    return f"chunk {one.chunk_id!r} is {both}"


def by_file(chunks: Iterable[LoggedChunk | Retrieved]) -> dict[str, dict[str, LineSpan | None]]:
    """Return the chunks whose file is known, by file."""
    results: dict[str, dict[str, LineSpan | None]] = defaultdict(dict)
    for chunk in chunks:
        if chunk.file is not None:
            results[chunk.file][chunk.chunk_id] = chunk.lines
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """The judgements of chunks."""

    gains: dict[str, dict[str, float]]
    """query_id -> chunk_id -> gain, 0 for what was judged not relevant."""
    files: dict[str, tuple[str, ...]]
    """query_id -> its gold's files, sorted."""
    places: dict[str, Places]
    """query_id -> its gold's lines, if the gold is of kind `lines`."""
    names: dict[str, dict[str, str]]
    """query_id -> field (repository, conversation) -> its name, by gold or log."""
    kind: str
    """`chunks`, `files` or `lines`."""
    pooled: bool
    """Whether files or lines were matched with the chunks that the log shows, because no corpus was given.

    Then chunks that no system retrieved are not counted, and recall is too high.
    """
    chunks: ByFile
    """What files and lines were matched with."""

    @property
    def judged(self) -> AbstractSet[str]:
        """The chunk ids of the gold, or its files."""
        return set().union(*(self.files or self.gains).values())

    def named(self, field: str) -> dict[str, str]:
        """Return query_id -> its repository or conversation, of the queries of which it is known."""
        return {query_id: name for query_id in self.gains if (name := self.names[query_id].get(field))}

    def condensed(self, rankings: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[float]]:
        """Score by the measures that look at judged chunks alone; return measure -> one value per query."""
        results: dict[str, list[float]] = {"judged@5": [], "judged@10": [], "bpref": []}
        for query_id, gains in self.gains.items():
            ids = [chunk_id for chunk_id, _ in rankings.get(query_id, ())]
            results["judged@5"].append(judged_at(ids, gains, 5))
            results["judged@10"].append(judged_at(ids, gains, 10))
            results["bpref"].append(bpref(ids, gains))
        return results

    def known(self, rows: Mapping[str, LogRow], gold: Path, log: Path, *, corpus: bool) -> int:
        """Count the gold's files, or its chunk ids, that log or corpus have; a LogError if nothing can match.

        `rows` are those of the log, by query. Gold of files for a log without files or corpus is a UsageError.
        """
        if self.pooled and not self.chunks:
            raise UsageError(f"{log} has no files, so gold of {self.kind} needs the chunks' places; give --corpus")
        if not self.gains.keys() & rows.keys():
            raise LogError(f"{log} and {gold} share no query; check their query_id")
        ids: set[str] = set().union(*self.chunks.values())
        ranked = {hit.chunk_id for hit in hits_of(rows.values())}
        what, known = ("chunk id", ids | ranked) if self.kind == "chunks" else ("file", self.chunks.keys())
        more = "" if corpus else ", or name all with --corpus"
        other = "corpus" if corpus else "log"
        _check_shared(what, ("gold", self.judged), (other, known), more)
        if any(self.places.values()) and not any(map(any, self.gains.values())):
            place = next(place for places in self.places.values() for place in places)
            raise LogError(
                f"no chunk of the {other} has a line of the gold, such as {place.lines.start} to {place.lines.end} of "
                f"{place.file!r}; count the lines of both from 0, in the same files{more}"
            )
        return len(self.judged & known)


def judged_at(ranking: Sequence[str], judgements: Mapping[str, float], k: int) -> float:
    """Share of the top k that has a judgement of any grade; over what was retrieved if that is fewer, 0 without any."""
    top = ranking[:k]
    return sum(chunk_id in judgements for chunk_id in top) / len(top) if top else 0.0


def bpref(ranking: Sequence[str], judgements: Mapping[str, float]) -> float:
    """Binary preference (Buckley & Voorhees 2004), as trec_eval computes it; unjudged chunks are skipped.

    (1 / R) sum over retrieved relevant of 1 - min(n, R, N) / min(R, N); n are the judged non-relevant ranked higher, R
    and N the judged relevant and non-relevant. 0 without a relevant chunk.
    """
    relevant = sum(gain > 0 for gain in judgements.values())
    if not relevant:
        return 0.0
    # A grade below 0 is that of a chunk which was in the pool and which nobody judged, so only grade 0 is non-relevant.
    bound = min(relevant, sum(gain == 0 for gain in judgements.values()))
    above, total = 0, 0.0
    for chunk_id in ranking:
        gain = judgements.get(chunk_id)
        if gain is None or gain < 0:
            continue
        if gain > 0:
            total += 1 - min(above, bound) / bound if above else 1.0
        else:
            above += 1
    return total / relevant


def _check_shared(
    what: str, one: tuple[str, AbstractSet[str]], two: tuple[str, AbstractSet[str]], more: str = ""
) -> None:
    """Raise a LogError with a name of each, if two inputs (what it is, its names) share none."""
    if one[1] & two[1]:
        return
    shown = [f"the {name} has {min(names)!r}" if names else f"the {name} has none" for name, names in (one, two)]
    raise LogError(f"{one[0]} and {two[0]} share no {what}: {', '.join(shown)}; name {what}s alike in both{more}")


def judge_log(chunks: ByFile, gold: Path, rows: Mapping[str, LogRow], *, has_corpus: bool = False) -> Judgements:
    """Judge chunks: relevant are those that the gold names, those in a file that it names, those in its line ranges.

    A query may have any number of rows, in any number of files. `chunks` are those of the corpus, or those that
    the log shows, which are then taken for all. `rows` are the log's, by query. LogErrors: a gold row without a chunk
    or a file (or with both), gold of several kinds or without a gain above 0, a query whose repository has two names in
    gold and log, and a query with an answer that the log calls `no_answer`.
    """
    unanswerable = {query_id for query_id, row in rows.items() if row.no_answer}
    gains: dict[str, dict[str, float]] = {}
    files: dict[str, set[str]] = defaultdict(set)
    places: dict[str, list[Place]] = defaultdict(list)
    names: dict[str, dict[str, str]] = defaultdict(dict)
    kinds: set[str] = set()
    has_answer = False
    for number, row in gold_rows(gold):
        where = f"{gold}:{number}" if number else str(gold)
        _check_row(where, row, unanswerable)
        has_answer |= row.gain > 0
        _add_names(names[row.query_id], row)
        of_query = gains.setdefault(row.query_id, {})
        if row.chunk_id is not None:
            kinds.add("chunks")
            if row.chunk_id in of_query:
                raise LogError(f"{where}: {row.chunk_id!r} is judged twice for {row.query_id!r}; keep one row")
            of_query[row.chunk_id] = row.gain
        elif row.file is not None:
            kinds.add("files" if row.lines is None else "lines")
            files[row.query_id].add(row.file)
            if row.lines is not None and row.gain > 0:
                places[row.query_id].append(Place(row.file, row.lines))
            for chunk_id in _within(where, row.file, row.lines, chunks):
                of_query[chunk_id] = max(row.gain, of_query.get(chunk_id, 0.0))
    if not gains:
        raise LogError(f"{gold} holds no row; give one for each judgement")
    if len(kinds) > 1:
        raise LogError(f"{gold} mixes {' and '.join(sorted(kinds))}; give gold of one kind")
    (kind,) = kinds
    if not has_answer:
        raise LogError(f"{gold} has no gain above 0, so every score would be 0; add what is relevant")
    # Files of the gold are the clusters of queries, whatever their conversations.
    fields = NAMES if kind == "chunks" else (REPOSITORY,)
    for query_id in gains:
        if query_id in rows:
            _add_names(names[query_id], rows[query_id], fields)
    return Judgements(
        gains={query_id: of_query for query_id, of_query in gains.items() if query_id not in unanswerable},
        files={query_id: tuple(sorted(named)) for query_id, named in files.items()},
        places={query_id: tuple(places[query_id]) for query_id in files} if kind == "lines" else {},
        names=names,
        pooled=not has_corpus and kind != "chunks",
        kind=kind,
        chunks=chunks,
    )


def _check_row(where: str, row: Gold, unanswerable: AbstractSet[str]) -> None:
    if (row.chunk_id is None) == (row.file is None):
        raise LogError(f"{where}: name either a chunk_id or a file")
    if row.query_id in unanswerable and (row.file is not None or row.gain > 0):
        raise LogError(
            f"{where}: the log calls query {row.query_id!r} no_answer, but this is an answer to it; mend one of them"
        )


def _within(where: str, file: str, span: LineSpan | None, chunks: ByFile) -> Iterator[str]:
    """Yield the chunks of a file, or those that share a line with `span`."""
    for chunk_id, lines in chunks.get(file, {}).items():
        if span is None:
            yield chunk_id
        elif lines is None:
            raise LogError(f"{where}: chunk {chunk_id!r} of {file} has no lines, so no range can match it")
        elif lines.overlaps(span):
            yield chunk_id


NAMES = REPOSITORY, CONVERSATION = "repository", "conversation"


def _add_names(known: dict[str, str], row: LogRow | Gold, fields: Sequence[str] = NAMES) -> None:
    """Add what the row names in these fields to what is known of its query."""
    for field in fields:
        name = getattr(row, field)
        if name is not None and known.setdefault(field, name) != name:
            raise LogError(
                f"{field} of query {row.query_id!r} is {name!r} after {known[field]!r}; give a query one {field}"
            )


INPUTS = frozenset({"ranking", "places", "gold", "line_nws"})
"""Inputs of line measures."""


def places_of(chunks: Iterable[Retrieved | LoggedChunk]) -> dict[str, ChunkPlace]:
    """Return the lines of the chunks that name some, and the sizes of their headers; a second place is a LogError."""
    places: dict[str, ChunkPlace] = {}
    for chunk in chunks:
        if chunk.file is None or chunk.lines is None:
            continue
        location = ChunkPlace(chunk.file, chunk.lines, chunk.header_nws or 0)
        if (known := places.setdefault(chunk.chunk_id, location)) != location:
            both = " and ".join(f"{span.lines.start} to {span.lines.end} of {span.file}" for span in (known, location))
            raise LogError(f"chunk {chunk.chunk_id!r} is at lines {both}; give it one place and one header")
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInputs:
    """The inputs of line measures."""

    # Of sources: the size of a line is not in a log, and every system has to read the same lines at the same cost.
    context: Context
    rankings: Mapping[str, Sequence[tuple[str, float]]]
    """The rankings as far as they can be read: up to a chunk whose file or lines, and so whose size, are not known."""
    files: Mapping[str, SourceFile]
    unread: int
    """The queries that are not read to the end. Their line measures are lower bounds."""

    @classmethod
    def of(
        cls,
        rankings: Mapping[str, Sequence[tuple[str, float]]],
        places: Mapping[str, ChunkPlace],
        gold: Mapping[str, Places],
        sources: Path,
    ) -> "LineInputs":
        """Look up the files of gold and chunks; a LogError if one of the gold's files is missing."""
        gold_files = {location.file for gold_lines in gold.values() for location in gold_lines}
        files = find_sources(sources, gold_files | {location.file for location in places.values()})
        if missing := sorted(gold_files - files.keys()):
            raise LogError(
                f"{len(missing)} of the gold's {len(gold_files)} files are not in {sources} (such as {missing[0]}); "
                "name the folder that holds them as the gold does with --files"
            )
        known = {chunk_id for chunk_id, location in places.items() if location.file in files}
        readable = {
            query_id: [*takewhile(lambda hit: hit[0] in known, ranking)]
            for query_id, ranking in rankings.items()
            if query_id in gold
        }
        return cls(
            context=Context(places=places, gold=gold, line_nws={name: file.line_nws() for name, file in files.items()}),
            rankings=readable,
            files=files,
            unread=sum(len(ranking) < len(rankings[query_id]) for query_id, ranking in readable.items()),
        )


def find_sources(sources: Path, names: Collection[str]) -> dict[str, SourceFile]:
    """Return name -> file, for those names that a folder, or a run's sources.jsonl.gz, has as text.

    A name that leads out of the folder, or that no file can have, is not looked up. A folder or file that cannot be
    read is a LogError.
    """
    if not sources.is_dir():
        return {name: file for name, file in read_sources(sources).items() if name in names}
    root = sources.resolve()
    results: dict[str, SourceFile] = {}
    for name in sorted(names):
        if "\0" in name or not (path := (root / name).resolve()).is_relative_to(root) or not path.is_file():
            continue
        repository, _, rest = name.partition("/")
        with (
            os_errors_as(LogError, f"{path} cannot be read", "name another folder with --files"),
            suppress(UnicodeDecodeError),
        ):
            results[name] = SourceFile(repository, rest, decode(path.read_bytes()))
    return results
