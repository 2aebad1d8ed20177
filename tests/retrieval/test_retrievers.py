"""Retrievers that need no model: BM25 against bm25s and the formula, the floor, the ceiling, and the line map."""

import random

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.run import Query
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.core.terms import TOKENIZERS, Tokenizer, identifiers, words
from repoeval_bench.retrieval.bm25 import Bm25Retriever
from repoeval_bench.retrieval.random_and_oracle import OracleRetriever, RandomRetriever
from repoeval_bench.retrieval.registry import RETRIEVERS, choose_retriever
from support.cases import cases
from support.written import corpus

CASES = cases(__file__)

TEXTS = ("def parse_header(line): return line", "class HTTPServer: port = 80", "return line", "x = 1")


def query(text, name="q"):
    return Query(name, "r", text)


def test_identifiers_are_kept_whole_and_in_parts():
    """camelCase and snake_case parts follow the whole, lower-cased; a word of one part appears once."""
    assert identifiers("parseHTTPHead max_len") == ["parsehttphead", "parse", "http", "head", "max_len", "max", "len"]
    assert identifiers("_foo __init__ self._cache") == ["_foo", "foo", "__init__", "init", "self", "_cache", "cache"]
    assert identifiers("_ __ x1 HTTP") == ["_", "__", "x1", "x", "1", "http"]
    assert words("parseHTTP max_len") == ["parsehttp", "max_len"]


@pytest.mark.parametrize(("text", "terms"), CASES["identifiers"].items())
def test_identifiers_in_other_scripts_are_kept_whole_and_in_parts(text, terms):
    """Capitals and small letters of any alphabet; an accent or vowel sign written apart stays with its letter."""
    assert identifiers(text) == terms


@given(
    st.text(st.sampled_from("aBc_XY09ßéÉΣσςİǅ字\u0301\u093f०") | st.characters(), min_size=1).filter(str.isidentifier)
)
def test_the_parts_of_an_identifier_joined_are_the_identifier_without_underscores(name):
    whole, *parts = identifiers(name)
    assert whole == name.casefold()
    assert "".join(parts or [whole]).replace("_", "") == whole.replace("_", "")
    assert parts != [whole]
    assert not any("_" in part for part in parts)


@pytest.mark.parametrize(("text", "terms"), CASES["english"].items())
def test_english_terms_are_those_of_lucenes_analyser(text, terms):
    """By hand, from UAX #29 (what joins letters, what digits), Lucene's stop words and Porter's rules."""
    assert TOKENIZERS["english"](text) == terms


def test_terms_cut_at_blanks_are_as_written():
    """Neither case nor punctuation is touched."""
    assert TOKENIZERS["whitespace"]("def F(x):\n\treturn 'X'") == ["def", "F(x):", "return", "'X'"]


@given(st.integers(0, 10_000))
def test_bm25_scores_are_those_of_bm25s(seed):
    rng = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(30)]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 20))) for _ in range(rng.randint(1, 15))]
    query_words = rng.choices([*vocabulary, "unseen"], k=rng.randint(1, 30))
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    index.index([text.split() for text in texts], show_progress=False)
    known = [term for term in query_words if term in index.vocab_dict]
    theirs = index.get_scores(known) if known else [0.0] * len(texts)
    run = Bm25Retriever(corpus(texts), {}, k1=0.9, b=0.4, tokenizer="words").search([query(" ".join(query_words))], 99)
    ours = dict(run.rankings["q"])
    for chunk, score in zip(corpus(texts)["r"], theirs, strict=True):
        assert ours[chunk.chunk_id] == pytest.approx(float(score), abs=2e-5)


def test_bm25_of_own_chunks_weighs_what_the_query_sees():
    chunks = corpus(TEXTS)
    own = Chunk.cut(SourceFile("r", "f0.py", "def parse_header(line): pass"), CharSpan(0, 20))
    excluded = {"q": frozenset({chunks["r"][0].chunk_id})}
    run = Bm25Retriever(chunks, {"q": (own,)}, k1=1.2, b=0.75, tokenizer="code").search(
        [query("return line"), query("return line", "p")], 9, excluded
    )
    seen = {"r": (*chunks["r"][1:], own)}
    alone = Bm25Retriever(seen, {}, k1=1.2, b=0.75, tokenizer="code").search([query("return line")], 9)
    assert run.rankings["q"] == alone.rankings["q"]
    assert own.chunk_id not in dict(run.rankings["p"])


def test_a_line_is_tokenised_once_for_all_corpora(monkeypatch):
    """Chunkers and sizes cut the same lines in other ways, and a task's own chunks hold nearly all of them again."""
    tokenised: list[str] = []

    def note(text):
        tokenised.append(text)
        return words(text)

    monkeypatch.setitem(TOKENIZERS, "noted", Tokenizer(note))
    lines = [f"line_{n} = of_{n % 7}\n" for n in range(60)]
    file, blank = (SourceFile("r", "a.py", "".join([*rows, *lines[20:]])) for rows in (lines[:20], ["\n"] * 20))
    for size in (3, 5, 12):
        of_file, own = (
            tuple(Chunk.cut(it, it.chars_of(LineSpan(n, n + size))) for n in range(0, 60, size)) for it in (file, blank)
        )
        Bm25Retriever({"r": of_file}, {"q": own}, k1=1.2, b=0.75, tokenizer="noted").search([query("line_1 of_2")], 9)
    assert sorted(tokenised) == sorted([*map(str.strip, lines), "", "line_1 of_2"])


@given(st.text(max_size=60))
def test_no_term_reaches_over_the_end_of_a_line(text):
    """So that the terms of a text are those of its lines, by every tokenizer."""
    for tokenize in TOKENIZERS.values():
        assert tokenize(text) == [term for line in text.splitlines() for term in tokenize(line)]


def test_queries_and_corpora_without_words():
    """Nothing shared scores 0 and is ranked by id; an empty repository gives an empty ranking."""
    retriever = Bm25Retriever({"r": corpus(TEXTS)["r"], "e": ()}, {}, k1=1.2, b=0.75, tokenizer="code")
    run = retriever.search([query("???"), Query("e", "e", "line")], 10)
    assert [score for _, score in run.rankings["q"]] == [0.0] * 4
    assert run.rankings["e"] == ()
    wordless = Bm25Retriever(corpus(["+++", "---"]), {}, k1=1.2, b=0.75, tokenizer="code")
    assert wordless.search([query("x")], 9).rankings["q"]


def test_random_is_seeded_per_query():
    """The same seed, the same ranking, whatever other queries there are; another seed, another ranking."""
    chunks = corpus([f"x{i} = {i}" for i in range(30)])
    first = RandomRetriever(chunks, {}, seed=1).search([query("a"), query("b", "p")], 30)
    again = RandomRetriever(chunks, {}, seed=1).search([query("b", "p")], 30)
    other = RandomRetriever(chunks, {}, seed=2).search([query("a")], 30)
    assert first.rankings["p"] == again.rankings["p"]
    assert first.rankings["p"] != first.rankings["q"] != other.rankings["q"]
    assert {name for name, _ in first.rankings["q"]} == {chunk.chunk_id for chunk in chunks["r"]}


def test_the_oracle_puts_the_ideal_first():
    """The ideal order, then everything else; excluded chunks are in neither."""
    chunks = corpus(TEXTS)
    ids = [chunk.chunk_id for chunk in chunks["r"]]
    oracle = OracleRetriever(chunks, {}, lambda: {"q": [ids[2], ids[0]]})
    run = oracle.search([query("")], 9, {"q": frozenset({ids[3]})})
    assert [name for name, _ in run.rankings["q"]] == [ids[2], ids[0], ids[1]]


@pytest.mark.parametrize(("spec", "message"), CASES["refused"].items())
def test_impossible_retrievers_are_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        choose_retriever(spec)


def test_a_retriever_prints_every_option():
    """The spec that a run stores names what was left to the defaults too."""
    assert choose_retriever("bm25").spec == "bm25:k1=1.2,b=0.75,tokenizer=code"
    assert choose_retriever("bm25:b=0.5").spec == "bm25:k1=1.2,b=0.5,tokenizer=code"
    assert choose_retriever("dense").spec == "dense"
    assert choose_retriever("grep").spec == "grep:keywords=8,hits=200,around=none,read=0"
    assert choose_retriever("hybrid").spec == "hybrid:fusion=rrf"
    assert choose_retriever("hybrid:fusion=sum").spec == "hybrid:fusion=sum"
    nested = choose_retriever("rerank:overlap,first=bm25")
    assert nested.spec == "rerank:overlap,k_raw=100,first=bm25"
    assert nested.first.spec == "bm25:k1=1.2,b=0.75,tokenizer=code"
    assert choose_retriever(nested.spec).spec == nested.spec
    assert [row.name for row in RETRIEVERS if not row.inner and choose_retriever(row.name).vectors] == [
        "dense",
        "hybrid",
    ]


def test_a_reranker_needs_vectors_where_its_first_stage_does():
    """Dense in front embeds; bm25 in front does not; a model's options go to the model."""
    assert choose_retriever("rerank:overlap").vectors
    assert not choose_retriever("rerank:overlap,first=jaccard").vectors
    chosen = choose_retriever("rerank:some/model,first=bm25,max_length=128")
    assert (chosen.model, chosen.k_raw) == ("st:some/model,max_length=128", 100)
    assert chosen.spec.endswith("first=bm25,max_length=128")


def test_bm25_can_leave_headers_out():
    """A term of the header alone is found, or with header=skip is not."""
    file = SourceFile("r", "f.py", "x = 1")
    chunks = {"r": (Chunk.cut(file, CharSpan(0, 5), "title\n"),)}
    result = {}
    for spec in ("bm25", "bm25:header=skip"):
        retriever = choose_retriever(spec).build(chunks)
        ((_, result[spec]),) = retriever.search([query("title")], 1).rankings["q"]
    assert result["bm25"] > 0 == result["bm25:header=skip"]
    assert choose_retriever("bm25:header=skip").spec == "bm25:k1=1.2,b=0.75,tokenizer=code,header=skip"
