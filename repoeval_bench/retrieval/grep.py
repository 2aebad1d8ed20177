"""Grep: search the text for the rarest words of the query, and list what contains them; once, or twice.

One round is one call of a tool. Two rounds (`read=N`) are a fixed rule, not an agent that decides what to read. A unit
is a chunk: one line with `--chunker window:lines=1,step=1`, and `around=lines:10` shows what `rg -C 10` does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Natural, Positive
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.terms import STOP_WORDS, words
from repoeval_bench.retrieval.expansion import NOTHING, Expansion, read_rule
from repoeval_bench.retrieval.ranking import Chunks, Excluded, FloatArray, IntArray, rank_each
from repoeval_bench.retrieval.ranking import rank as best
from repoeval_bench.retrieval.registry import RETRIEVERS

# Fewest letters of a keyword: shorter words are in most lines.
_SHORTEST = 3


@RETRIEVERS.register(
    meaning="grep for the query's rarest words, in one round or two; lists only chunks that hold one; needs no model"
)
class GrepRetriever:
    r"""Units by the keywords that they hold.

    A keyword is a `\w+` of the query, lower-cased, with three letters or more, and not an English stop word (Lucene's).
    The `keywords` rarest that occur are taken; equally rare ones in the order of the query. Like `rg -i -F` it
    matches inside words. Its weight is ln(1 + N / n), where n of the N units that the query may see contain it. Its
    first `hits` units in the order of files and lines count.

    A unit scores the sum of its keywords' weights; one without a keyword is not listed, so a ranking can be shorter
    than k, or empty.

    With `read=N` there is a second round. The first N units are read, with `around`. Of the words in them that hold no
    keyword, as many as there may be keywords are looked for: those in the fewest units, if one of these was not read.
    They have three letters, too, and are no stop words. The ranking begins with the N units that were read. Then every
    other unit follows by the sum of the weights of both rounds' words.
    """

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        *,
        keywords: Annotated[Positive, Doc("words that are looked for, the rarest that occur")] = 8,
        hits: Annotated[Positive, Doc("units of a keyword that count, the first by file and line")] = 200,
        around: Annotated[
            str,
            AfterValidator(read_rule),
            Doc(
                "what is read with a hit, and charged: none, lines:N before and after it, or definition, the innermost "
                "function, method or class that holds it"
            ),
        ] = NOTHING,
        read: Annotated[
            Natural, Doc("units to read before a second round, which looks for their rarest words; 0: one round")
        ] = 0,
    ) -> None:
        rule = Expansion.parse(around)
        if read and rule and rule.lines is None:
            raise SpecError(f"grep: read={read} cannot be combined with around=definition; use around=lines:N")
        self._read, self._near = read, (rule and rule.lines) or 0
        self.around = around
        self._keywords, self._hits = keywords, hits
        self._chunks, self._own = chunks, own
        self._indexes: dict[str, _WordIndex] = {}

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best units that hold a keyword, of each query's repository."""

        def prepare(repo: str, _: Sequence[Query]) -> None:
            if repo not in self._indexes:
                self._indexes = {repo: _WordIndex(self._chunks.get(repo, ()))}

        def ranked(query: Query, unseen: frozenset[str]) -> Ranking:
            units = _Units(self._indexes[query.repo], unseen, self._own.get(query.query_id, ()))
            return best(self._scores(units, keywords_of(query.text)), k)

        return rank_each(queries, excluded, "grep", ranked, prepare)

    def _scores(self, units: _Units, keywords: Sequence[str]) -> list[tuple[str, float]]:
        scores = self._round(units, keywords)
        if self._read:
            scores = self._second_round(units, keywords, scores)
        return [(units.chunks[place].chunk_id, float(scores[place])) for place in np.flatnonzero(scores).tolist()]

    def _round(self, units: _Units, keywords: Iterable[str]) -> FloatArray:
        """Return the sum of the weights of the rarest keywords: float64 (n_units,)."""
        holders = {keyword: units.holding(keyword) for keyword in keywords}
        rarest = sorted((word for word in holders if len(holders[word])), key=lambda word: len(holders[word]))
        scores = np.zeros(len(units.chunks))
        for keyword in rarest[: self._keywords]:
            # The first hits alone, because the tools of agents cut their answers like this.
            scores[units.in_order(holders[keyword])[: self._hits]] += np.log(1 + units.n_seen / len(holders[keyword]))
        return scores

    def _second_round(self, units: _Units, keywords: Sequence[str], first: FloatArray) -> FloatArray:
        """Return float64 (n_units,): the units that were read keep their order before all others."""
        places = {units.chunks[place].chunk_id: place for place in np.flatnonzero(first).tolist()}
        order = best([(name, float(first[place])) for name, place in places.items()], self._read)
        read = [places[name] for name, _ in order]
        new = units.new_words(units.near(read, self._near), keywords)
        scores = first + self._round(units, new[: self._keywords])
        scores[read] = first[read] + scores.max(initial=0.0) + 1
        return scores


def keywords_of(text: str) -> list[str]:
    """Return the words of a query that grep would look for, each once, in their order.

    >>> keywords_of("Return the length of the Session's header, or of a header.")
    ['return', 'length', 'session', 'header']
    """
    return [word for word in dict.fromkeys(words(text)) if len(word) >= _SHORTEST and word not in STOP_WORDS]


class _WordIndex:
    """The words of a repository's chunks, and for each the chunks that hold it."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self.positions = {chunk.chunk_id: position for position, chunk in enumerate(chunks)}
        holders: dict[str, list[int]] = defaultdict(list)
        self.of_file: dict[str, list[int]] = defaultdict(list)
        for position, chunk in enumerate(chunks):
            self.of_file[chunk.file].append(position)
            for word in set(words(chunk.text)):
                holders[word].append(position)
        self.holders = {word: np.array(positions) for word, positions in holders.items()}
        """Word -> the positions of the chunks with exactly this word."""
        self._matches: dict[str, IntArray] = {}

    def holding(self, keyword: str) -> IntArray:
        """Return the positions of the chunks with a word that contains the keyword."""
        if keyword not in self._matches:
            matches = [positions for word, positions in self.holders.items() if keyword in word]
            self._matches[keyword] = np.unique(np.concatenate(matches)) if matches else np.zeros(0, dtype=np.int64)
        return self._matches[keyword]


class _Units:
    """Index of the units that a query may see: the repository's chunks without excluded ones, and the query's own."""

    def __init__(self, index: _WordIndex, unseen: Iterable[str], own: Sequence[Chunk]) -> None:
        self._index = index
        self.chunks = [*index.chunks, *own]
        self._is_seen = np.ones(len(self.chunks), dtype=np.bool_)
        self._is_seen[[index.positions[name] for name in unseen if name in index.positions]] = False
        self.n_seen = int(self._is_seen.sum())
        self._own = [" ".join(words(chunk.text)) for chunk in own]

    def holding(self, keyword: str) -> IntArray:
        """Return the positions of the units that hold a keyword."""
        of_index = self._index.holding(keyword)
        own = [position for position, text in enumerate(self._own, len(self._index.chunks)) if keyword in text]
        return np.append(of_index[self._is_seen[of_index]], np.array(own, dtype=np.int64))

    def near(self, positions: Iterable[int], lines: int) -> set[int]:
        """Return the units that can be seen within some lines of the given ones, and these."""
        nearby = set(positions)
        for position in [*nearby]:
            name, span = self.chunks[position].file, self.chunks[position].lines
            nearby |= {
                other
                for other in (*self._index.of_file.get(name, ()), *range(len(self._index.chunks), len(self.chunks)))
                if self._is_seen[other]
                and self.chunks[other].file == name
                and self.chunks[other].lines.start < span.end + lines
                and self.chunks[other].lines.end > span.start - lines
            }
        return nearby

    def new_words(self, read: Collection[int], keywords: Iterable[str]) -> list[str]:
        """Return the words of what was read that hold no keyword, those in the fewest units first."""
        old = tuple(keywords)
        of_read = Counter(word for position in read for word in set(words(self.chunks[position].text)))
        rarity = {
            word: n_units
            for word, n_read in of_read.items()
            if len(word) >= _SHORTEST
            and word not in STOP_WORDS
            and not any(keyword in word for keyword in old)
            and (n_units := int(self._is_seen[self._index.holders.get(word, [])].sum())) > n_read
        }
        return sorted(rarity, key=lambda word: (rarity[word], word))

    def in_order(self, positions: IntArray) -> list[int]:
        """Return positions in the order of files and lines."""
        chunks = self.chunks
        return sorted(positions.tolist(), key=lambda position: (chunks[position].file, chunks[position].chars.start))
