"""Scores of one chunker's chunks brought to another's through the lines that both stand on (cAST, appendix A.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.visible import visible
from repoeval_bench.types import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.types import Chunk, LineSpan, Query


class LineMap:
    """Ranks `documents` by the scores of `scored`; both are repository -> chunks, with the queries' own beside them.

    `line_nws` is `repo/path` -> non-whitespace characters of each line. `blanked` is query_id -> (file, lines) that
    are blank for this query.
    """

    def __init__(
        self,
        *,
        scored: Mapping[str, Sequence[Chunk]],
        scored_own: Mapping[str, Sequence[Chunk]],
        documents: Mapping[str, Sequence[Chunk]],
        documents_own: Mapping[str, Sequence[Chunk]],
        line_nws: Mapping[str, Sequence[int]],
        blanked: Mapping[str, tuple[str, LineSpan]],
    ) -> None:
        self._scored, self._scored_own = scored, scored_own
        self._documents, self._documents_own = documents, documents_own
        self._blanked = blanked
        self._first: dict[str, int] = {}
        text: dict[str, list[NDArray[np.bool_]]] = {}
        for file, sizes in line_nws.items():
            repo = file.partition("/")[0]
            lines = text.setdefault(repo, [])
            self._first[file] = sum(map(len, lines))
            lines.append(np.asarray(sizes, dtype=np.int64) > 0)
        # One long column of lines a repository: file after file.
        self._has_text = {repo: np.concatenate(lines) for repo, lines in text.items()}

    def map(
        self,
        run: Run,
        queries: Sequence[Query],
        k: int,
        hidden_scored: Mapping[str, frozenset[str]],
        hidden_documents: Mapping[str, frozenset[str]],
    ) -> Run:
        """The k best documents of each query.

        A line takes the largest score of the chunks on it, or the smallest score of all where there is none; a
        document takes the mean of its non-blank lines. `run` has to rank every chunk that a query may see.
        """
        rankings = {}
        for query in queries:
            documents = visible(query, self._documents, self._documents_own, hidden_documents)
            score = dict(run.rankings[query.query_id])
            chunks = visible(query, self._scored, self._scored_own, hidden_scored)
            lines = self._line_scores(query, chunks, np.array([score[chunk.chunk_id] for chunk in chunks]))
            rankings[query.query_id] = rank(
                zip((document.chunk_id for document in documents), self._means(query, documents, lines), strict=True), k
            )
        return Run(run.tag, rankings, run.latency_ms)

    def _line_scores(self, query: Query, chunks: Sequence[Chunk], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        lines = np.full(len(self._has_text[query.repo]), scores.min() if len(scores) else 0.0)
        for i in np.argsort(scores, kind="stable"):
            # From the lowest score up, so that a line covered twice keeps the largest.
            first = self._offset(chunks[i])
            lines[first + chunks[i].lines.start : first + chunks[i].lines.end] = scores[i]
        return lines

    def _means(self, query: Query, documents: Sequence[Chunk], lines: NDArray[np.float64]) -> list[float]:
        has_text = self._has_text[query.repo]
        if query.query_id in self._blanked:
            file, span = self._blanked[query.query_id]
            has_text = has_text.copy()
            has_text[self._first[file] + span.start : self._first[file] + span.end] = False
        found = []
        for document in documents:
            first = self._offset(document)
            part = slice(first + document.lines.start, first + document.lines.end)
            kept = lines[part][has_text[part]]
            found.append(float(kept.mean()))
        return found

    def _offset(self, chunk: Chunk) -> int:
        return self._first[f"{chunk.repo}/{chunk.path}"]
