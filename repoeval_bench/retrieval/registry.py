"""The tables of retrievers and rerankers. A new one is a file in this folder and a row here."""

from __future__ import annotations

from repoeval_bench.core.options import Number, OneOf, Option, Whole
from repoeval_bench.core.registry import Row
from repoeval_bench.core.terms import TOKENIZERS
from repoeval_bench.embedding.device import Device
from repoeval_bench.retrieval.choice import FirstStageSpec
from repoeval_bench.retrieval.expansion import NOTHING, AroundRule

_TOKENIZER = Option(
    "code",
    "code: identifiers whole and in parts; words: lower-cased \\w+; english: Lucene's English analyser; "
    "whitespace: cut at blanks, as written",
    OneOf(tuple(TOKENIZERS)),
)

_BM25 = {
    "k1": Option(1.2, "how soon repeats of a term stop counting", Number(0, 100)),
    "b": Option(0.75, "how much long chunks are discounted", Number(0, 1)),
    "tokenizer": _TOKENIZER,
    "header": Option(
        None,
        "skip: text before a chunk (a context header, coderag's title) is not part of its terms; read unless given",
        OneOf(("skip",)),
    ),
}

RETRIEVERS = (
    Row(
        name="dense",
        meaning="exact cosine similarity between query and chunk vectors (numpy; above 4,096 vectors in an index, "
        "faiss)",
        where="repoeval_bench.retrieval.dense:DenseRetriever",
        needs=frozenset({"embedder"}),
        requires=("faiss",),
    ),
    Row(
        name="bm25",
        meaning="BM25 as Lucene has it; reads texts whole and needs no model",
        where="repoeval_bench.retrieval.bm25:Bm25Retriever",
        options=_BM25,
    ),
    Row(
        name="hybrid",
        meaning="dense and bm25 fused: by reciprocal ranks (rrf), or as the weighted sum of min-max scaled scores "
        "(sum)",
        where="repoeval_bench.retrieval.hybrid:hybrid",
        options={
            "fusion": Option("rrf", "rrf: reciprocal ranks; sum: scores scaled to 0..1", OneOf(("rrf", "sum"))),
            "weight": Option(0.5, "what dense counts for; bm25 has the rest", Number(0, 1)),
            "k0": Option(
                60,
                "what is added to a rank: the larger, the less the first ranks stand out",
                Whole(0),
                only=("fusion", "rrf"),
            ),
            **_BM25,
        },
        needs=frozenset({"embedder"}),
        requires=("faiss",),
    ),
    Row(
        name="jaccard",
        meaning="RepoCoder's bag of words: tokens shared over tokens of either, each counted once; needs no model",
        where="repoeval_bench.retrieval.jaccard:JaccardRetriever",
        options={"tokenizer": _TOKENIZER},
    ),
    Row(
        name="grep",
        meaning="one round of grep for the query's rarest words; units without one are not listed; needs no model",
        where="repoeval_bench.retrieval.grep:GrepRetriever",
        options={
            "rank": Option(
                "lines", "lines: a unit by its own keywords; files: by its file's", OneOf(("lines", "files"))
            ),
            "keywords": Option(8, "words that are looked for, the rarest that occur", Whole(1)),
            "hits": Option(200, "units of a keyword that count, the first by file and line", Whole(1)),
            "around": Option(
                NOTHING,
                "what is read with a hit, and charged: none, lines:N before and after it, or definition, the innermost "
                "function, method or class that holds it",
                AroundRule(),
            ),
        },
    ),
    Row(
        name="rerank",
        meaning="the first stage's best, ranked again by a reranker; see `list rerankers`",
        where="repoeval_bench.retrieval.rerank:rerank",
        options={
            "k_raw": Option(100, "how many of the first stage's best are ranked again", Whole(1)),
            "first": Option("dense", "the first stage, its options joined by +: first=bm25+k1=0.9", FirstStageSpec()),
        },
        target="RERANKER",
        inner="reranker",
        final=True,
    ),
    Row(
        name="random",
        meaning="a seeded shuffle of the repository's chunks: the floor",
        where="repoeval_bench.retrieval.random_and_oracle:RandomRetriever",
        options={"seed": Option(0, "another seed, another shuffle", Whole(0))},
    ),
    Row(
        name="oracle",
        meaning="the relevant chunks by gain, ties by most new gold lines per character: the ceiling",
        where="repoeval_bench.retrieval.random_and_oracle:OracleRetriever",
        final=True,
    ),
)

RERANKERS = (
    Row(
        name="overlap",
        meaning="the code tokens that a chunk shares with the query; needs no model",
        where="repoeval_bench.retrieval.rerank:OverlapScorer",
        options={"tokenizer": _TOKENIZER},
    ),
    Row(
        name="MODEL",
        meaning="a cross-encoder: a folder or a name on the hub",
        where="repoeval_bench.embedding.cross_encoder:find_cross_encoder",
        options={
            "max_length": Option(
                None, "tokens of query and chunk that are read; the model's limit unless given", Whole(8)
            ),
            "device": Option(None, "where the model runs; cpu unless given", Device()),
        },
        target="MODEL",
        requires=("sentence_transformers",),
    ),
)
