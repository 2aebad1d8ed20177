"""Every data type that crosses from one stage to the next, and nothing that computes a result.

All line and character positions are 0-based and half-open. A position is never a bare number across a
stage: `LineSpan` and `CharSpan` are two types, so that lines are not compared with characters.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    """A half-open range of whole numbers; compare only spans of one class."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"{type(self).__name__}({self.start}, {self.end}) is no range: 0 <= start <= end")

    def __len__(self) -> int:
        return self.end - self.start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end))

    def overlap(self, other: Self) -> int:
        """How many positions both spans hold; 0 where they only touch."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def overlaps(self, other: Self) -> bool:
        """Whether the spans share at least one position; an empty span overlaps nothing."""
        return self.overlap(other) > 0

    def contains(self, other: Self) -> bool:
        """Whether every position of `other` lies in this span; an empty span must lie within its ends."""
        return self.start <= other.start and other.end <= self.end


class LineSpan(_Span):
    """A range of 0-based lines of one file."""

    __slots__ = ()

    def iou(self, other: LineSpan) -> float:
        """Shared lines over the lines of the union; 0.0 for two empty spans."""
        shared = self.overlap(other)
        union = len(self) + len(other) - shared
        return shared / union if union else 0.0


class CharSpan(_Span):
    """A range of characters (code points, not bytes) of one file's text."""

    __slots__ = ()


# The whitespace of str.split() among the ASCII characters, but for the newline.
_ASCII_BLANKS = b" \t\v\f\r\x1c\x1d\x1e\x1f"


def count_nws(text: str) -> int:
    """Non-whitespace characters of a text: the one unit of size in this project."""
    if text.isascii():  # one C loop over the bytes in place of a string for every word
        return len(text.encode("ascii").translate(None, _ASCII_BLANKS + b"\n"))
    return sum(map(len, text.split()))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a repository, its text LF-normalised and without BOM.

    Lines are those of `str.splitlines()`, as RepoCoder counts them: a form feed or U+2028 ends a line too.
    """

    repo: str
    path: str
    text: str
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lengths = map(len, self.text.splitlines(keepends=True))
        object.__setattr__(self, "_starts", tuple(accumulate(lengths, initial=0)))

    @property
    def n_lines(self) -> int:
        """Number of lines; an empty file has none."""
        return len(self._starts) - 1

    def slice(self, chars: CharSpan) -> str:
        """The text of a character span."""
        return self.text[chars.start : chars.end]

    def lines_of(self, chars: CharSpan) -> LineSpan:
        """The lines that the span's characters stand on; an empty span has no lines."""
        if chars.start == chars.end:
            line = min(bisect_right(self._starts, chars.start) - 1, self.n_lines)
            return LineSpan(line, line)
        return LineSpan(bisect_right(self._starts, chars.start) - 1, bisect_right(self._starts, chars.end - 1))

    def chars_of(self, lines: LineSpan) -> CharSpan:
        """The characters of whole lines, their line ends included; IndexError beyond the last line."""
        return CharSpan(self._starts[lines.start], self._starts[lines.end])

    def line_text(self, lines: LineSpan) -> str:
        """The text of whole lines, line ends included; IndexError beyond the last line."""
        return self.slice(self.chars_of(lines))

    def line_nws(self) -> list[int]:
        """Non-whitespace characters of each line, in order."""
        text = self.text
        if text.isascii() and self.n_lines == text.count("\n") + (not text.endswith("\n") and bool(text)):
            # Only \n ends a line here, so three C loops over the bytes do what a split per line does, 8x faster.
            dense = text.encode("ascii").translate(None, _ASCII_BLANKS).split(b"\n")
            return list(map(len, dense[: self.n_lines]))
        return [count_nws(line) for line in text.splitlines()]


@dataclass(frozen=True, slots=True)
class Task:
    """One completion task: given `prompt`, the lines `body` of the file are to be written.

    `context_start` is the line at which upstream's prompt starts. `task_id` is unique in a benchmark.
    """

    task_id: str
    repo: str
    path: str
    prompt: str
    ground_truth: str
    body: LineSpan
    context_start: int
    level: str
    function_name: str | None = None

    @property
    def prompt_span(self) -> LineSpan:
        """Gold `prompt`: [c, h+1)."""
        return LineSpan(self.context_start, self.body.start + 1)

    @property
    def context_span(self) -> LineSpan:
        """Gold `context`: [c, h+n)."""
        return LineSpan(self.context_start, self.body.end)


@dataclass(frozen=True, slots=True)
class Query:
    """What is sent to the retriever for one task; `query_id` is the task's id."""

    query_id: str
    repo: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file. Make it with `Chunk.cut`, so that text and span cannot disagree."""

    chunk_id: str
    repo: str
    path: str
    chars: CharSpan
    lines: LineSpan
    text: str
    header: str = ""

    @classmethod
    def cut(cls, file: SourceFile, chars: CharSpan, header: str = "") -> Self:
        """Cut a non-empty span out of a file.

        The id is `repo/path@start-end` in characters, blanks and `%` percent-encoded, so that it is one word
        in a TREC file. A span that is empty or passes the end of the file is a ValueError.
        """
        if not chars or chars.end > len(file.text):
            raise ValueError(
                f"{file.repo}/{file.path}: [{chars.start}, {chars.end}) is empty or outside the file's "
                f"{len(file.text)} characters"
            )
        return cls(
            chunk_id=encode_id(f"{file.repo}/{file.path}@{chars.start}-{chars.end}"),
            repo=file.repo,
            path=file.path,
            chars=chars,
            lines=file.lines_of(chars),
            text=file.slice(chars),
            header=header,
        )

    @property
    def embed_text(self) -> str:
        """What the embedder reads: the header, then the text."""
        return self.header + self.text


def encode_id(name: str) -> str:
    """An id as one word: `%` and every blank percent-encoded, the rest untouched."""
    if "%" not in name and name.split() == [name]:  # the common case, on the path of every chunk
        return name
    return "".join(
        "".join(f"%{byte:02X}" for byte in char.encode()) if char == "%" or char.isspace() else char for char in name
    )


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Tasks and the repository files they are answered from, as loaded and selected.

    `name` is `repoeval-LEVEL-CONTEXT-TOKENIZER`. `fingerprint` is 12 hex digits of a SHA-256 over every
    task (id, hashes of prompt and ground truth, lines) and every file (path, hash of its text): another set,
    another fingerprint. `whole_tasks` and `whole_repos` count the published benchmark, so that a part can
    never pass for the whole; `asked_repos` counts those that the protocol scores, where it names them (else 0).
    `undecodable` names the files that are no UTF-8 and were left out.
    """

    name: str
    fingerprint: str
    level: str
    tasks: tuple[Task, ...]
    files: Mapping[str, tuple[SourceFile, ...]]
    source: str
    whole_tasks: int
    whole_repos: int
    undecodable: tuple[str, ...] = ()
    asked_repos: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every task and repository of the published benchmark is here."""
        return len(self.tasks) == self.whole_tasks and len(self.files) == self.whole_repos

    @property
    def label(self) -> str:
        """Name, size and fingerprint in one line, as every table carries it."""
        part = (
            f" ({len(self.files)} of the protocol's {self.asked_repos})" if len(self.files) < self.asked_repos else ""
        )
        return (
            f"{self.name} · {len(self.tasks)} of {self.whole_tasks} tasks, "
            f"{len(self.files)} of {self.whole_repos} repositories{part} · {self.fingerprint}"
        )


Qrels = dict[str, dict[str, float]]
"""query_id -> chunk_id -> gain (> 0). A query without a relevant chunk has an empty dict, never no entry."""

Fact = str | float | bool | None
"""What a query is said to be: a word, a number, yes or no; None where it is not known."""

Role = Literal["query", "document"]
"""What a text is to a model that was trained with a prompt for each."""

Ranking = tuple[tuple[str, float], ...]
"""(chunk_id, score), best first; position is rank."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a system returned: query_id -> ranking. Every query of the run has an entry.

    `latency_ms` is what ranking each query took, once its vector was there, and `rerank_ms` what ranking its best
    again took, left out of what is not known: scores that were at hand took no time. `pairs` is (pairs of query and
    chunk that a model read, how many of them it had to cut). None of them takes part in equality.
    """

    tag: str
    rankings: Mapping[str, Ranking]
    latency_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    rerank_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    pairs: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Score:
    """One query's value of one measure."""

    query_id: str
    metric: str
    value: float


Interval = tuple[float, float] | None
"""Ends of a 95 % interval; None where one cluster says nothing of the spread between clusters."""


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """How one mean (over queries, or over repositories) differs between two runs, query by query.

    `ci` is the 95 % interval with files resampled, `ci_repositories` the one with whole repositories resampled;
    None where there is one cluster only. `p` is the clustered sign-flip test's. `mde` is the true difference that
    one test would have shown with 80 % power, `mde_family` that which passes Holm in this family; None where the
    error is unknown. `equivalence_p` is that of two one-sided tests, None where no margin was given.
    """

    baseline: float
    treatment: float
    difference: float
    ci: Interval
    ci_repositories: Interval
    p: float
    mde: float | None
    mde_family: float | None
    equivalence_p: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired difference of one measure between two runs on the same queries (treatment - baseline).

    `headline` says which mean decides: `p_adjusted` (Holm over the `family` tests), `equivalence_p_adjusted` and
    `verdict` are about that one. `t_p` and `wilcoxon_p` are on cluster means and decide nothing. A ceiling is no result
    of a run: it is not tested, and these are None. `effect_size` is Cohen's d of the paired differences; None where
    all differ by the same.
    """

    metric: str
    baseline: str
    treatment: str
    headline: Literal["micro", "macro"]
    micro: MeanDifference
    macro: MeanDifference
    p_adjusted: float | None
    t_p: float | None
    wilcoxon_p: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_clusters: int
    clustered_by: str
    family: int
    verdict: str
    margin: float | None = None
    equivalence_p_adjusted: float | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the verdict is that one run is better."""
        return self.verdict.startswith(("better", "worse"))

    @property
    def mean(self) -> MeanDifference:
        """The mean that decides."""
        return self.micro if self.headline == "micro" else self.macro

    @property
    def difference(self) -> float:
        """Difference of the mean that decides."""
        return self.mean.difference

    @property
    def ci(self) -> Interval:
        """95 % interval of the mean that decides."""
        return self.mean.ci


class Chunker(Protocol):
    """Cuts one file. Build chunks with `Chunk.cut`; keep no state between files."""

    @property
    def spec(self) -> str:
        """The spec that rebuilds this chunker, every parameter printed."""

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """The file's chunks in order of their start; none for a file without a non-blank line."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def spec(self) -> str:
        """The spec that rebuilds this embedder."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a vector beside the text: model, weights, maximum length, pooling, precision."""

    @property
    def max_tokens(self) -> int | None:
        """How many tokens the model reads, special ones included; None where there is no limit."""

    @property
    def n_encoded(self) -> int:
        """How many texts this object has encoded; those whose vectors were at hand are not counted."""

    @property
    def usage(self) -> Mapping[str, int]:
        """What this object's encoding has used so far as whoever runs the model counts it; empty where nobody does."""

    @property
    def counts_tokens(self) -> bool:
        """Whether the model's tokenizer is known; else `count_tokens` is not to be asked."""

    def truncates(self, role: Role) -> bool:
        """Whether a text beyond `max_tokens` loses something."""

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """The characters of each text that the model reads; all of them where nothing is lost."""

    def parts(self, texts: Sequence[str], role: Role) -> list[tuple[str, ...]]:
        """What the model is given of each text: the text as it is, its tail, or its windows in order."""

    def pending(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        """The distinct parts that `ensure` would encode: one that is the same under two roles is under one of them."""

    def ensure(self, texts: Mapping[Role, Iterable[str]]) -> None:
        """Have the vectors of every text at hand, those that are missing computed in one pass."""

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """float32 (n, dim), unit rows, in the order of `texts`; `role` selects the model's own prompt."""

    def encode_windows(self, texts: Sequence[str], role: Role) -> tuple[NDArray[np.float32], list[int]]:
        """(float32 (m, dim) unit rows, how many of them each text has in turn).

        A text has one, that of `encode`, unless it is scored by the best of its windows.
        """

    def n_vectors(self, texts: Sequence[str], role: Role) -> int:
        """Rows that `encode_windows` gives."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text before truncation, special ones and the role's prompt included."""


class PairScorer(Protocol):
    """Reads a query and a chunk together, as a reranker does."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a score beside the two texts."""

    @property
    def pairs(self) -> tuple[int, int]:
        """(pairs read so far, how many of them were longer than is read)."""

    @property
    def n_at_hand(self) -> int:
        """How many of these pairs had their score at hand, and were not read again."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, the higher the better; it depends on the query and that text alone."""


class Retriever(Protocol):
    """Ranks the chunks of a query's repository."""

    def search(self, queries: Sequence[Query], k: int, exclude: Mapping[str, frozenset[str]] | None = None) -> Run:
        """The k best chunks a query may see; `exclude` maps a query_id to the chunk ids it may not."""
