"""Transfer of scores from one chunker's chunks to another's through shared lines (cAST, appendix A.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.run import Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.retrieval.ranking import rank_column
from repoeval_bench.retrieval.scope import Chunks, Excluded, excluded_from, visible


class LineMap:
    """Ranks `documents` by the scores of `chunks`; both are repository -> chunks, with the queries' own beside them.

    `line_nws` is `repo/path` -> non-whitespace characters of each line. `blanked` is query_id -> (file, lines) that
    are blank for this query.
    """

    def __init__(
        self,
        *,
        chunks: Chunks,
        own: Chunks,
        documents: Chunks,
        documents_own: Chunks,
        line_nws: Mapping[str, Sequence[int]],
        blanked: Mapping[str, tuple[str, LineSpan]],
    ) -> None:
        self._chunks, self._own = chunks, own
        self._documents, self._documents_own = documents, documents_own
        self._blanked = blanked
        self._first: dict[str, int] = {}
        self._layouts: dict[tuple[int, str], _Layout] = {}
        text: dict[str, list[NDArray[np.bool_]]] = {}
        for file, sizes in line_nws.items():
            repo = file.partition("/")[0]
            lines = text.setdefault(repo, [])
            self._first[file] = sum(map(len, lines))
            lines.append(np.asarray(sizes, dtype=np.int64) > 0)
        # One long column of lines for each repository, file after file.
        self._has_text = {repo: np.concatenate(lines) for repo, lines in text.items()}

    def map(
        self,
        run: Run,
        queries: Sequence[Query],
        k: int,
        excluded_chunks: Excluded,
        excluded_documents: Excluded,
    ) -> Run:
        """Return the k best documents of each query.

        A line takes the largest score of the chunks on it, or the smallest score of all if there is none. A document
        takes the mean of its non-blank lines. `run` has to rank every chunk that a query may see.
        """
        rankings = {}
        for query in queries:
            chunks = self._cached_layout(query, self._chunks, self._own, excluded_chunks)
            documents = self._cached_layout(query, self._documents, self._documents_own, excluded_documents)
            score = dict(run.rankings[query.query_id])
            lines = self._line_scores(query, chunks, np.array([score[chunk_id] for chunk_id in chunks.ids]))
            means = self._means(query, documents, lines)
            rankings[query.query_id] = rank_column(documents.ids, means, k)
        return Run(tag=run.tag, rankings=rankings, latency_ms=run.latency_ms)

    def _cached_layout(self, query: Query, chunks: Chunks, own: Chunks, excluded: Excluded) -> _Layout:
        """Return the lines of the chunks that the query may see; cached for all queries that see the same chunks."""
        if query.query_id in own or excluded_from(query, excluded):
            return self._build_layout(query.repo, visible(query, chunks, own, excluded))
        key = (id(chunks), query.repo)
        if key not in self._layouts:
            self._layouts[key] = self._build_layout(query.repo, chunks.get(query.repo, ()))
        return self._layouts[key]

    def _build_layout(self, repo: str, chunks: Sequence[Chunk]) -> _Layout:
        lengths = np.array([len(chunk.lines) for chunk in chunks], dtype=np.int64)
        owner = np.repeat(np.arange(len(chunks)), lengths)
        first = np.array([self._first[c.file] + c.lines.start for c in chunks], dtype=np.int64)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        layout = _Layout(tuple(chunk.chunk_id for chunk in chunks), owner, np.repeat(first, lengths) + within)
        return layout.where(self._has_text[repo])

    def _line_scores(self, query: Query, chunks: _Layout, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        lines = np.full(len(self._has_text[query.repo]), scores.min() if len(scores) else 0.0)
        # No score is below the smallest, so a line covered twice keeps the largest.
        np.maximum.at(lines, chunks.line, scores[chunks.owner])
        return lines

    def _means(self, query: Query, documents: _Layout, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        if query.query_id in self._blanked:
            file, span = self._blanked[query.query_id]
            seen = np.ones(len(lines), dtype=np.bool_)
            seen[self._first[file] + span.start : self._first[file] + span.end] = False
            documents = documents.where(seen)
        n = len(documents.ids)
        means: NDArray[np.float64] = np.bincount(documents.owner, lines[documents.line], n) / np.bincount(
            documents.owner, minlength=n
        )
        return means


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Chunks and the lines of each: `line[i]`, in the repository's column of lines, is one of chunk `owner[i]`'s."""

    ids: tuple[str, ...]
    owner: NDArray[np.int64]
    line: NDArray[np.int64]

    def where(self, seen: NDArray[np.bool_]) -> _Layout:
        """Return the layout with only the lines that are `seen`: bool, one for each of the repository's lines."""
        keep = seen[self.line]
        return _Layout(self.ids, self.owner[keep], self.line[keep])
