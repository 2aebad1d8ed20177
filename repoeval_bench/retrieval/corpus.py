"""Files to chunks, and the one place where a run checks the chunking contract; nothing downstream checks again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from repoeval_bench.chunkers._adapters import chunks_of, contract_faults, named_failure
from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import OR_SKIP, ChunkError, OutOfTurnError, plug_in_errors_as
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import Chunk, SourceFile, blanked, chunk_id_of_task, count_nws, summarize


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Chunks of a run's files.

    chunks: repository -> its chunks, by path, then start.
    skipped: `repo/path: reason` of files the chunker failed on (only with `skip_errors`).
    uncovered_lines: non-blank lines that are in no chunk, over all files.
    own: query_id -> the chunks that this query sees instead of its file's, with ids of their own.
    failed_own: query_id -> such a reason, where the chunker failed on the query's own text of the file alone.
    merged: chunk_id -> the chunk that takes its place in `chunks`, where identical texts are one document.
    dropped: the chunks that were merged away.
    """

    chunks: Mapping[str, tuple[Chunk, ...]]
    n_files: int
    skipped: tuple[str, ...]
    uncovered_lines: int
    own: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    failed_own: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Chunk]:
        """Iterate over every chunk that can be ranked: the repositories', then the queries' own."""
        return chain.from_iterable((*self.chunks.values(), *self.own.values()))

    def by_file(self) -> dict[str, list[Chunk]]:
        """Return `repo/path` -> the chunks of a file, without the queries' own and with those that were merged away."""
        of_file: dict[str, list[Chunk]] = defaultdict(list)
        for repo, chunks in self.chunks.items():
            for chunk in (*chunks, *self.dropped.get(repo, ())):
                of_file[chunk.file].append(chunk)
        return of_file

    @property
    def n_chunks(self) -> int:
        """Chunks over all repositories."""
        return sum(map(len, self.chunks.values()))

    def sizes(self) -> dict[str, float]:
        """Realised chunk sizes in nws: mean, median, p95 and max (nearest rank), mean header; zeros for no chunk."""
        chunks = [*chain.from_iterable(self.chunks.values())]
        headers = sum(chunk.added_nws for chunk in chunks) / max(1, len(chunks))
        return summarize([count_nws(chunk.text) for chunk in chunks]) | {"header": round(headers, 1)}

    @property
    def n_duplicates(self) -> int:
        """Chunks whose repository has another one of the same text, except for blanks at the ends."""
        times = Counter((repo, chunk.text.strip()) for repo, chunks in self.chunks.items() for chunk in chunks)
        return sum(n for n in times.values() if n > 1)


def build_corpus(
    files: Mapping[str, Sequence[SourceFile]],
    chunker: Chunker,
    *,
    skip_errors: bool = False,
    tasks: Iterable[Task] = (),
) -> Corpus:
    """Chunk every file, and for each of the `tasks` its file with the ground truth's lines blanked.

    A chunker that raises or breaks the contract on a file is a ChunkError with the file's name, or a counted
    skip with `skip_errors`.
    """
    every = [file for repo_files in files.values() for file in repo_files]
    chunked, skipped, own, failed_own = chunk_files(every, chunker, skip_errors=skip_errors, tasks=tasks)
    if not any(chunks for _, chunks in chunked) and any(file.text.strip() for file in every):
        failure = f"the first failure: {skipped[0].removesuffix(OR_SKIP)}" if skipped else ""
        reason = failure or "give it other options, or take another chunker"
        raise ChunkError(f"{chunker.spec} gave no chunk for any of {len(every)} files; {reason}")
    # A caller outside a benchmark may name its files' place otherwise than they do.
    by_repo = defaultdict[str, list[Chunk]](list, {repo: [] for repo in files})
    for file, chunks in chunked:
        by_repo[file.repo].extend(chunks)
    return Corpus(
        chunks={repo: tuple(chunks) for repo, chunks in by_repo.items()},
        n_files=len(every),
        skipped=tuple(skipped),
        uncovered_lines=sum(_uncovered(file, chunks) for file, chunks in chunked),
        own=own,
        failed_own=failed_own,
    )


def chunk_files(
    files: Sequence[SourceFile], chunker: Chunker, *, skip_errors: bool = False, tasks: Iterable[Task] = ()
) -> tuple[list[tuple[SourceFile, tuple[Chunk, ...]]], list[str], dict[str, tuple[Chunk, ...]], dict[str, str]]:
    """Return each file with its checked chunks, the errors of the others, task_id -> own chunks, task_id -> its error.

    There are errors with `skip_errors` only; such a file or task has no chunks.
    """
    tasks_of: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        tasks_of[task.file].append(task)
    chunked: list[tuple[SourceFile, tuple[Chunk, ...]]] = []
    skipped: list[str] = []
    own: dict[str, tuple[Chunk, ...]] = {}
    failed_own: dict[str, str] = {}

    def cut(file: SourceFile) -> tuple[Chunk, ...] | str:
        try:
            return _chunk_file(file, chunker)
        except ChunkError as error:
            if not skip_errors or isinstance(error, OutOfTurnError):
                raise
            return str(error)

    with progress(desc=f"chunk {chunker.spec}", unit="files", total=len(files)) as bar:
        for file in files:
            chunks = cut(file)
            if isinstance(chunks, str):
                skipped.append(chunks)
            else:
                chunked.append((file, chunks))
            texts: dict[str, str] = {}
            # Right after the whole file: a chunker that parses then reads only the lines that are blanked.
            for task in tasks_of[file.name]:
                seen = () if isinstance(chunks, str) else cut(blanked(file, task.body))
                if isinstance(seen, str):
                    failed_own[task.task_id], seen = seen, ()
                own[task.task_id] = tuple(
                    # Most texts are the file's, for every task: each is kept once. Ids contain the task's.
                    replace(
                        chunk,
                        chunk_id=chunk_id_of_task(chunk.chunk_id, task.task_id),
                        text=texts.setdefault(chunk.text, chunk.text),
                    )
                    for chunk in seen
                )
            bar.update()
    _close(chunker)
    return chunked, skipped, own, failed_own


def merge_identical(corpus: Corpus) -> Corpus:
    """Merge chunks of one repository that have the same lines of text into the first of them."""
    distinct: dict[str, tuple[Chunk, ...]] = {}
    dropped: dict[str, tuple[Chunk, ...]] = {}
    merged: dict[str, str] = {}
    for repo, chunks in corpus.chunks.items():
        first: dict[tuple[str, ...], Chunk] = {}
        copies: list[Chunk] = []
        for chunk in chunks:
            first_copy = first.setdefault(tuple(chunk.text.splitlines()), chunk)
            if first_copy is not chunk:
                merged[chunk.chunk_id] = first_copy.chunk_id
                copies.append(chunk)
        distinct[repo], dropped[repo] = tuple(first.values()), tuple(copies)
    return replace(corpus, chunks=distinct, merged=merged, dropped=dropped)


def _close(chunker: Chunker) -> None:
    # Only then is a program known to have answered once for each file.
    part: object = chunker
    with plug_in_errors_as(ChunkError, f"{chunker.spec}: close()", "repair the chunker"):
        while part is not None:
            if callable(close := getattr(part, "close", None)):
                close()
            part = getattr(part, "inner", None)


def _chunk_file(file: SourceFile, chunker: Chunker) -> tuple[Chunk, ...]:
    chunks = chunks_of(file, chunker)
    with named_failure(chunker.spec, file):  # the chunks may be of any type
        for _, fault in contract_faults(file, chunks):
            raise ChunkError(
                f"{chunker.spec}: {fault}; make chunks with Chunk.cut(file, CharSpan), in order, none blank"
            )
    return chunks


def _uncovered(file: SourceFile, chunks: Sequence[Chunk]) -> int:
    covered = set(chain.from_iterable(chunk.lines for chunk in chunks))
    if len(covered) == file.n_lines:
        return 0
    return sum(1 for line, nws in enumerate(file.line_nws()) if nws and line not in covered)
