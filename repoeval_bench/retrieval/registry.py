"""The table of retrievers: what each is named, does, takes as options, and needs to be built.

A new retriever is a file in this folder and a row here. Its class is imported when it is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from repoeval_bench.errors import SpecError
from repoeval_bench.spec import Spec, format_spec, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.types import Chunk, Embedder, Retriever


@dataclass(frozen=True, slots=True)
class Material:
    """What a retriever is built over.

    chunks: repository -> its chunks. own: query_id -> chunks that this query alone sees. embedder: None where no
    vectors are asked for. ideal: gives query_id -> the ids of the relevant chunks, best first; only a retriever that
    is meant to cheat calls it.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    own: Mapping[str, Sequence[Chunk]]
    embedder: Embedder | None
    ideal: Callable[[], Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a retriever: its default, what it means, and how its text is read (ValueError if impossible)."""

    default: str
    meaning: str
    wanted: str
    read: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One retriever of the table."""

    meaning: str
    build: Callable[..., Retriever]
    options: Mapping[str, Option] = field(default_factory=dict)
    vectors: bool = False


@dataclass(frozen=True, slots=True)
class ChosenRetriever:
    """A retriever that was named: its spec with every option, and how to build it."""

    spec: str
    vectors: bool
    build: Callable[[Material], Retriever]


def choose_retriever(text: str) -> ChosenRetriever:
    """The retriever that a spec such as `bm25:b=0.5` names; a SpecError says what is not there or not possible."""
    parsed = Spec.parse(text)
    if parsed.name not in RETRIEVERS:
        raise SpecError(nearest("retriever", parsed.name, RETRIEVERS))
    entry = RETRIEVERS[parsed.name]
    if parsed.target:
        raise SpecError(f"retriever {text!r}: {parsed.target!r} is not key=value")
    if parsed.params and not entry.options:
        raise SpecError(f"retriever {text!r}: {parsed.name} takes no options; write {parsed.name}")
    for key in parsed.params:
        if key not in entry.options:
            raise SpecError(f"retriever {text!r}: {nearest('option', key, entry.options)}")
    values: dict[str, Any] = {}
    for key, option in entry.options.items():
        given = parsed.params.get(key, option.default)
        try:
            values[key] = option.read(given)
        except ValueError:
            raise SpecError(f"retriever {text!r}: {key}={given} is not possible; {key} is {option.wanted}") from None
    return ChosenRetriever(
        format_spec(parsed.name, values), entry.vectors, lambda material: entry.build(material, **values)
    )


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return read


def _tokenizer(text: str) -> str:
    from repoeval_bench.retrieval.tokens import TOKENIZERS

    if text not in TOKENIZERS:
        raise ValueError(text)
    return text


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _dense(material: Material) -> Retriever:
    from repoeval_bench.retrieval.dense import DenseRetriever

    assert material.embedder is not None
    return DenseRetriever(material.chunks, material.embedder, material.own)


def _bm25(material: Material, k1: float, b: float, tokenizer: str) -> Retriever:
    from repoeval_bench.retrieval.bm25 import Bm25Retriever

    return Bm25Retriever(material.chunks, material.own, k1=k1, b=b, tokenizer=tokenizer)


def _random(material: Material, seed: int) -> Retriever:
    from repoeval_bench.retrieval.bounds import RandomRetriever

    return RandomRetriever(material.chunks, material.own, seed=seed)


def _oracle(material: Material) -> Retriever:
    from repoeval_bench.retrieval.bounds import OracleRetriever

    return OracleRetriever(material.chunks, material.own, material.ideal())


RETRIEVERS: Mapping[str, Entry] = {
    "dense": Entry(
        "exact cosine similarity (faiss) between query and chunk vectors, per repository", _dense, vectors=True
    ),
    "bm25": Entry(
        "BM25 as Lucene has it (bm25s), one index per repository; reads texts whole and needs no model", _bm25,
        {
            "k1": Option("1.2", "how soon repeats of a term stop counting", "a number from 0 to 100", _number(0, 100)),
            "b": Option("0.75", "how much long chunks are discounted", "a number from 0 to 1", _number(0, 1)),
            "tokenizer": Option(
                "code", "code: identifiers whole and in parts; words: lower-cased \\w+", "code or words", _tokenizer
            ),
        },
    ),
    "random": Entry(
        "a seeded shuffle of the repository's chunks: the floor", _random,
        {"seed": Option("0", "another seed, another shuffle", "a whole number from 0", _seed)},
    ),
    "oracle": Entry(
        "the relevant chunks first, by gain, of equals those with more new gold lines per nws: the ceiling", _oracle
    ),
}  # fmt: skip
"""name -> retriever."""
