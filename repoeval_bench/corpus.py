"""Files to chunks, and the one place where the chunking contract is checked.

A chunker that breaks it stops the run with the file's name; nothing downstream checks again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.errors import BenchError, ChunkError
from repoeval_bench.progress import progress
from repoeval_bench.types import Chunk, count_nws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.types import Chunker, SourceFile


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a run.

    chunks: repository -> its chunks, by path, then start.
    skipped: `repo/path: reason` of files the chunker failed on (only with `skip_errors`).
    uncovered_lines: non-blank lines that stand in no chunk, over all files.
    """

    chunks: Mapping[str, tuple[Chunk, ...]]
    n_files: int
    skipped: tuple[str, ...]
    uncovered_lines: int

    @property
    def n_chunks(self) -> int:
        """Chunks over all repositories."""
        return sum(map(len, self.chunks.values()))

    def sizes(self) -> dict[str, float]:
        """Realised chunk sizes in nws: mean, median, p95 and max (nearest rank); zeros for no chunk."""
        sizes = sorted(count_nws(chunk.text) for chunks in self.chunks.values() for chunk in chunks)
        if not sizes:
            return {"mean": 0.0, "median": 0, "p95": 0, "max": 0}
        return {
            "mean": round(sum(sizes) / len(sizes), 1),
            "median": sizes[(len(sizes) - 1) // 2],
            "p95": sizes[max(0, -(-len(sizes) * 95 // 100) - 1)],
            "max": sizes[-1],
        }


def build_corpus(files: Mapping[str, Sequence[SourceFile]], chunker: Chunker, *, skip_errors: bool = False) -> Corpus:
    """Chunk every file and check what comes back.

    A chunker that raises or breaks the contract on a file is a ChunkError with the file's name, or a counted
    skip with `skip_errors`.
    """
    by_repo: dict[str, tuple[Chunk, ...]] = {}
    skipped: list[str] = []
    uncovered = 0
    n_files = sum(map(len, files.values()))
    with progress(desc=f"chunk {chunker.spec}", unit="files", total=n_files) as bar:
        for repo, repo_files in files.items():
            found: list[Chunk] = []
            for file in repo_files:
                try:
                    chunks = _chunk_file(file, chunker)
                except ChunkError as error:
                    if not skip_errors:
                        raise
                    skipped.append(str(error))
                else:
                    found.extend(chunks)
                    uncovered += _uncovered(file, chunks)
                bar.update()
            by_repo[repo] = tuple(found)
    return Corpus(by_repo, n_files, tuple(skipped), uncovered)


def _chunk_file(file: SourceFile, chunker: Chunker) -> Sequence[Chunk]:
    where = f"{file.repo}/{file.path}"
    try:
        chunks = chunker.chunk(file)
    except (BenchError, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a plug-in raises becomes one sentence that names the file
        raise ChunkError(
            f"{chunker.spec} failed on {where}: {type(error).__name__}: {error}; "
            "leave such files out, counted, with --skip-errors"
        ) from error
    check_chunks(file, chunks, chunker.spec)
    return chunks


def check_chunks(file: SourceFile, chunks: Sequence[Chunk], spec: str) -> None:
    """Raise a ChunkError unless the chunks are cut from the file, ordered by start, with distinct ids."""
    where = f"{file.repo}/{file.path}"
    ids: set[str] = set()
    previous = -1
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise ChunkError(
                f"{spec} gave a {type(chunk).__name__} for {where}; make chunks with Chunk.cut(file, CharSpan)"
            )
        if (chunk.repo, chunk.path) != (file.repo, file.path):
            raise ChunkError(f"{spec} gave chunk {chunk.chunk_id!r} for {where}, which is another file")
        if chunk.chars.end > len(file.text) or chunk.text != file.slice(chunk.chars):
            raise ChunkError(f"{spec}: the text of {chunk.chunk_id!r} is not the file's text at its span")
        if chunk.lines != file.lines_of(chunk.chars):
            raise ChunkError(f"{spec}: the lines of {chunk.chunk_id!r} are not those of its characters")
        if chunk.chars.start < previous:
            raise ChunkError(f"{spec}: {chunk.chunk_id!r} starts before the chunk in front of it")
        if chunk.chunk_id in ids:
            raise ChunkError(f"{spec} gave {chunk.chunk_id!r} twice")
        ids.add(chunk.chunk_id)
        previous = chunk.chars.start


def _uncovered(file: SourceFile, chunks: Sequence[Chunk]) -> int:
    covered: set[int] = set()
    for chunk in chunks:
        covered.update(chunk.lines)
    if len(covered) == file.n_lines:
        return 0
    return sum(1 for line, nws in enumerate(file.line_nws()) if nws and line not in covered)
