"""The table of retrievers: what each is named, does, takes as options, and needs to be built.

A new retriever is a file in this folder and a row here. Its class is imported when it is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Option, Spec, format_spec, nearest, number, one_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.parts import Embedder, PairScorer, Retriever
    from repoeval_bench.core.source import Chunk

OVERLAP = "overlap"
"""The reranker that needs no model."""


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
class Entry:
    """One retriever of the table. `first` says whether another may rank its results again."""

    meaning: str
    build: Callable[..., Retriever]
    options: Mapping[str, Option] = field(default_factory=dict)
    vectors: bool = False
    first: bool = True


@dataclass(frozen=True, slots=True)
class ChosenRetriever:
    """A retriever that was named: its spec with every option, and how to build it.

    first, k_raw: for a reranker, the stage whose best k_raw results it ranks again. model: spec of the cross-encoder
    it reads with; then `scorer` has to be set before it is built.
    """

    spec: str
    vectors: bool
    parts: Callable[..., Retriever]
    first: ChosenRetriever | None = None
    k_raw: int | None = None
    model: str = ""
    scorer: PairScorer | None = None

    def build(self, material: Material) -> Retriever:
        """The retriever over this material."""
        if not self.model:
            return self.parts(material)
        assert self.scorer is not None
        return self.parts(material, scorer=self.scorer)

    def __str__(self) -> str:
        """The spec as it stands inside another: `bm25+k1=0.9+…`."""
        return self.spec.replace(":", "+", 1).replace(",", "+")


def choose_retriever(text: str) -> ChosenRetriever:
    """The retriever that a spec such as `bm25:b=0.5` names; a SpecError says what is not there or not possible."""
    parsed = Spec.parse(text)
    name, entry = find_entry(parsed)
    values = _read_options(text, parsed.params, entry)
    first: ChosenRetriever | None = values.get("first")
    spec = format_spec(parsed.name, values, parsed.target)
    model = {key: values.pop(key) for key in _MODEL if key in values}
    return ChosenRetriever(
        spec=spec,
        vectors=entry.vectors or (first is not None and first.vectors),
        parts=lambda material, **scorer: entry.build(material, **values, **scorer),
        first=first,
        k_raw=values.get("k_raw"),
        model=format_spec("st", model, parsed.target) if name == "rerank:MODEL" else "",
    )


def find_entry(spec: Spec) -> tuple[str, Entry]:
    """The row of the table that a spec is about; a SpecError where there is none."""
    name = spec.name
    if name == "rerank":
        if not spec.target:
            raise SpecError(f"retriever {str(spec)!r} names no reranker; write rerank:{OVERLAP} or rerank:MODEL")
        name = f"rerank:{OVERLAP}" if spec.target == OVERLAP else "rerank:MODEL"
    if name not in RETRIEVERS:
        raise SpecError(nearest("retriever", spec.name, RETRIEVERS))
    if spec.target and spec.name != "rerank":
        raise SpecError(f"retriever {str(spec)!r}: {spec.target!r} is not key=value")
    return name, RETRIEVERS[name]


def _read_options(text: str, params: Mapping[str, str], entry: Entry) -> dict[str, Any]:
    if params and not entry.options:
        raise SpecError(f"retriever {text!r}: {text.partition(':')[0]} takes no options; leave them out")
    for key in params:
        if key not in entry.options:
            raise SpecError(f"retriever {text!r}: {nearest('option', key, entry.options)}")
    values: dict[str, Any] = {}
    for key, option in entry.options.items():
        if option.only and values[option.only[0]] != option.only[1]:
            if key in params:
                raise SpecError(f"retriever {text!r}: {key} belongs to {'='.join(option.only)}; leave it out")
            continue
        given = params.get(key, option.default)
        if not given:
            continue
        try:
            values[key] = option.read(given)
        except ValueError:
            raise SpecError(f"retriever {text!r}: {key}={given} is not possible; {key} is {option.wanted}") from None
    return values


def _first_stage(text: str) -> ChosenRetriever:
    name, *options = text.split("+")
    if name == "rerank" or (name in RETRIEVERS and not RETRIEVERS[name].first):
        raise ValueError(text)
    return choose_retriever(":".join([name, ",".join(options)] if options else [name]))


def _dense(material: Material) -> Retriever:
    from repoeval_bench.retrieval.dense import DenseRetriever

    assert material.embedder is not None
    return DenseRetriever(material.chunks, material.embedder, material.own)


def _bm25(material: Material, k1: float, b: float, tokenizer: str, header: str = "read") -> Retriever:
    from repoeval_bench.retrieval.bm25 import Bm25Retriever

    return Bm25Retriever(material.chunks, material.own, k1=k1, b=b, tokenizer=tokenizer, headers=header == "read")


def _jaccard(material: Material, tokenizer: str) -> Retriever:
    from repoeval_bench.retrieval.jaccard import JaccardRetriever

    return JaccardRetriever(material.chunks, material.own, tokenizer=tokenizer)


def _hybrid(material: Material, fusion: str, weight: float, k0: int | None = None, **bm25: Any) -> Retriever:
    from repoeval_bench.retrieval.hybrid import HybridRetriever, min_max_sum, reciprocal_ranks

    fuse = min_max_sum(weight) if fusion == "sum" else reciprocal_ranks(weight, int(k0 or 0))
    return HybridRetriever(_dense(material), _bm25(material, **bm25), fuse)


def _rerank(material: Material, k_raw: int, first: ChosenRetriever, scorer: PairScorer) -> Retriever:
    from repoeval_bench.retrieval.rerank import RerankRetriever

    return RerankRetriever(first.build(material), scorer, material.chunks, material.own, k_raw)


def _overlap(material: Material, k_raw: int, first: ChosenRetriever, tokenizer: str) -> Retriever:
    from repoeval_bench.retrieval.rerank import OverlapScorer

    return _rerank(material, k_raw, first, OverlapScorer(tokenizer))


def _random(material: Material, seed: int) -> Retriever:
    from repoeval_bench.retrieval.bounds import RandomRetriever

    return RandomRetriever(material.chunks, material.own, seed=seed)


def _oracle(material: Material) -> Retriever:
    from repoeval_bench.retrieval.bounds import OracleRetriever

    return OracleRetriever(material.chunks, material.own, material.ideal())


def _tokenizer(default: str = "code") -> Option:
    """How a text becomes terms, for every retriever that counts them."""

    def read(text: str) -> str:
        from repoeval_bench.core.terms import TOKENIZERS

        return one_of(*TOKENIZERS)(text)

    meaning = (
        "code: identifiers whole and in parts; words: lower-cased \\w+; english: Lucene's English analyser; "
        "whitespace: cut at blanks, as written"
    )
    return Option(default, meaning, "code, words, english or whitespace", read)


_BM25 = {
    "k1": Option("1.2", "how soon repeats of a term stop counting", "a number from 0 to 100", number(0, 100)),
    "b": Option("0.75", "how much long chunks are discounted", "a number from 0 to 1", number(0, 1)),
    "tokenizer": _tokenizer(),
    "header": Option("", "skip: what stands before a chunk (a context header, coderag's title) is no part of its "
                     "terms; read unless given", "skip", one_of("skip")),
}  # fmt: skip
_RERANK = {
    "k_raw": Option("100", "how many of the first stage's best are ranked again", "a whole number from 1", whole(1)),
    "first": Option(
        "dense", "the first stage, its options joined by +: first=bm25+k1=0.9",
        "dense, bm25, hybrid, jaccard or random, with options such as bm25+k1=0.9", _first_stage,
    ),
}  # fmt: skip
_MODEL = {
    "max_length": Option("", "tokens of query and chunk that are read; the model's limit unless given",
                         "a whole number from 8", whole(8)),
    "device": Option("", "where the model runs; cpu unless given", "cpu, cuda, …", str),
}  # fmt: skip

RETRIEVERS: Mapping[str, Entry] = {
    "dense": Entry(
        "exact cosine similarity between query and chunk vectors (numpy; above 4,096 vectors in an index, faiss)",
        _dense,
        vectors=True,
    ),
    "bm25": Entry(
        "BM25 as Lucene has it (bm25s); reads texts whole and needs no model", _bm25, _BM25
    ),
    "hybrid": Entry(
        "dense and bm25 fused: by reciprocal ranks (rrf), or as the weighted sum of min-max scaled scores (sum)",
        _hybrid,
        {
            "fusion": Option("rrf", "rrf: reciprocal ranks; sum: scores scaled to 0..1", "rrf or sum",
                             one_of("rrf", "sum")),
            "weight": Option("0.5", "what dense counts for; bm25 has the rest", "a number from 0 to 1", number(0, 1)),
            "k0": Option("60", "what is added to a rank: the larger, the less the first ranks stand out",
                         "a whole number from 0", whole(0), only=("fusion", "rrf")),
            **_BM25,
        },
        vectors=True,
    ),
    "jaccard": Entry(
        "RepoCoder's bag of words: tokens shared over tokens of either, each counted once; needs no model", _jaccard,
        {"tokenizer": _tokenizer()},
    ),
    "rerank:overlap": Entry(
        "the first stage's best, ranked again by the code tokens they share with the query; needs no model", _overlap,
        {**_RERANK, "tokenizer": _tokenizer()}, first=False,
    ),
    "rerank:MODEL": Entry(
        "the first stage's best, ranked again by a cross-encoder: a folder or a name on the hub", _rerank,
        {**_RERANK, **_MODEL}, first=False,
    ),
    "random": Entry(
        "a seeded shuffle of the repository's chunks: the floor", _random,
        {"seed": Option("0", "another seed, another shuffle", "a whole number from 0", whole(0))},
    ),
    "oracle": Entry(
        "the relevant chunks first, by gain, of equals those with more new gold lines per nws: the ceiling", _oracle,
        first=False,
    ),
}  # fmt: skip
"""name -> retriever."""
