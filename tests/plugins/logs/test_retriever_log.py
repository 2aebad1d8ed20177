"""Retrievers of LlamaIndex and LangChain, logged: the libraries' own splitters and indexes over real files."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from repoeval_bench import make_embedder
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.logs.import_log import import_run
from repoeval_bench.plugins.logs.retriever_log import LoggedRetriever, write_corpus
from support.minirepo import REPOSITORIES

QUERIES = {"put": "put pieces on the shelf", "cents": "round half up to whole cents", "pairs": "neighbouring words"}
GOLD = {
    "put": ("stock.py", "def put("),
    "cents": ("pricing.py", "def to_cents("),
    "pairs": ("tokens.py", "def bigrams("),
}
WHEN = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def sources(tmp_path):
    """The files of the mini benchmark in a folder, and gold as lines of them."""
    root = tmp_path / "src"
    gold = []
    for repo, files in REPOSITORIES.items():
        for path, text in files.items():
            target = root / repo / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
            for query_id, (name, signature) in GOLD.items():
                if path.endswith(name):
                    line = next(i for i, line in enumerate(text.splitlines()) if signature in line)
                    row = {"query_id": query_id, "file": f"{repo}/{path}", "start_line": line, "end_line": line + 3}
                    gold.append(row)
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold), "utf-8")
    return root


def vectors(texts, role):
    return make_embedder("hash").encode(list(texts), role).astype(float).tolist()


@pytest.fixture
def langchain(sources):
    """(all documents of an index, a retriever over it), with offsets."""
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    class Hashed(Embeddings):
        def embed_documents(self, texts):
            return vectors(texts, "document")

        def embed_query(self, text):
            return vectors([text], "query")[0]

    whole = [
        Document(path.read_text("utf-8"), metadata={"source": str(path)}) for path in sorted(sources.rglob("*.py"))
    ]
    splitter = RecursiveCharacterTextSplitter.from_language(Language.PYTHON, chunk_size=300, chunk_overlap=0)
    splitter._add_start_index = True
    documents = [
        split_document for split_document in splitter.split_documents(whole) if split_document.page_content.strip()
    ]
    store = InMemoryVectorStore(Hashed())
    store.add_documents(documents)
    return documents, store.as_retriever(search_kwargs={"k": 8})


@pytest.fixture
def llama_index(sources):
    """(all nodes of an index, a retriever over it); their metadata are embedded with them."""
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter

    class Hashed(BaseEmbedding):
        def _get_query_embedding(self, query):
            return vectors([query], "query")[0]

        def _get_text_embedding(self, text):
            return vectors([text], "document")[0]

        async def _aget_query_embedding(self, query):
            return self._get_query_embedding(query)

    whole = [
        Document(text=path.read_text("utf-8"), metadata={"file_path": path.relative_to(sources).as_posix()})
        for path in sorted(sources.rglob("*.py"))
        if path.read_text("utf-8").strip()
    ]
    nodes = SentenceSplitter(chunk_size=120, chunk_overlap=0).get_nodes_from_documents(whole)
    index = VectorStoreIndex(nodes, embed_model=Hashed())
    return nodes, index.as_retriever(similarity_top_k=8)


def ticking():
    """A clock that moves on by a quarter of a second each time it is read."""
    index = iter(np.arange(0, 1000, 0.25))
    return lambda: float(next(index))


def rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def lines_of(sources, chunk):
    return (sources / chunk["file"]).read_text("utf-8").splitlines()[chunk["start_line"] : chunk["end_line"]]


@pytest.mark.parametrize("library", ["langchain", "llama_index"])
def test_what_a_retriever_returned_is_logged_with_file_and_lines(library, request, sources, tmp_path):
    """The lines of every logged chunk hold its text, in the library's order, and the library's answer is untouched."""
    _, retriever = request.getfixturevalue(library)
    logged = LoggedRetriever(retriever, tmp_path / "log.jsonl", sources=sources, k=8, system=library, clock=ticking())
    method = "invoke" if library == "langchain" else "retrieve"
    answers = {query_id: getattr(logged, method)(text, query_id=query_id) for query_id, text in QUERIES.items()}
    result = rows(tmp_path / "log.jsonl")
    assert [row["query_id"] for row in result] == list(QUERIES)
    for row in result:
        answer = answers[row["query_id"]]
        assert answer == getattr(retriever, method)(QUERIES[row["query_id"]])
        assert (row["system"], row["k_raw"], row["latency_ms"]) == (library, 8, {"retrieve": 250.0})
        assert "not_placed" not in row.get("extra", {})
        texts = [each.page_content if library == "langchain" else each.node.text for each in answer]
        assert [chunk["rank"] for chunk in row["topk"]] == list(range(1, len(texts) + 1))
        for chunk, text in zip(row["topk"], texts, strict=True):
            assert text.strip() in "\n".join(lines_of(sources, chunk))
            assert (chunk.get("header_nws", 0) > 0) == (library == "llama_index")  # the path is embedded by default


@pytest.mark.parametrize("library", ["langchain", "llama_index"])
def test_a_logged_retriever_is_imported_and_judged_with_its_corpus(library, request, sources, tmp_path):
    """Recall counted by hand over all chunks that hold a gold line, and line measures, from log, corpus and sources."""
    texts, retriever = request.getfixturevalue(library)
    logged = LoggedRetriever(retriever, tmp_path / "log.jsonl", sources=sources, k=8, chunker=library)
    for query_id, text in QUERIES.items():
        (logged.invoke if library == "langchain" else logged.retrieve)(text, query_id=query_id)
    written, unplaced = write_corpus(texts, tmp_path / "corpus.jsonl", sources=sources)
    assert (written, unplaced) == (len(texts), 0)
    run = import_run(
        tmp_path / "log.jsonl",
        tmp_path / "gold.jsonl",
        tmp_path / "out",
        created=WHEN,
        corpus=tmp_path / "corpus.jsonl",
        files=sources,
        measures=["recall@8", "line_recall@500"],
    )
    assert run.counts.queries_not_read == 0
    assert not run.manifest.imported.pooled
    ranked = {row["query_id"]: {chunk["chunk_id"] for chunk in row["topk"]} for row in rows(tmp_path / "log.jsonl")}
    recalls = []
    for gold in rows(tmp_path / "gold.jsonl"):
        relevant = {
            chunk["chunk_id"]
            for chunk in rows(tmp_path / "corpus.jsonl")
            if chunk["file"] == gold["file"]
            and chunk["start_line"] < gold["end_line"]
            and chunk["end_line"] > gold["start_line"]
        }
        recalls.append(len(relevant & ranked[gold["query_id"]]) / len(relevant))
    assert run.metrics.micro["recall@8"] == pytest.approx(sum(recalls) / len(recalls))
    assert run.metrics.micro["recall@8"] > 0


class Returns:
    """A retriever of LangChain's shape that returns the given documents."""

    def __init__(self, *documents):
        self.documents = list(documents)

    def invoke(self, _text, **_options):
        return self.documents


def document(text, **metadata):
    from langchain_core.documents import Document

    return Document(text, metadata=metadata)


def logged_row(tmp_path, *documents, k=10):
    (tmp_path / "s").mkdir(exist_ok=True)
    (tmp_path / "s" / "a.py").write_bytes(b"x = 1\r\ny = 2\r\nx = 1\r\nz = 3\r\n")
    LoggedRetriever(Returns(*documents), tmp_path / "l", sources=tmp_path / "s", k=k).invoke("q")
    return rows(tmp_path / "l")[0]


def test_a_text_has_a_place_only_where_it_is_known(tmp_path):
    """By its offset, or as the only one of its file; never by a guess. The rest is ranked, and counted."""
    pytest.importorskip("langchain_core")
    row = logged_row(
        tmp_path,
        document("x = 1", source="a.py"),  # twice in the file
        document("x = 1", source="a.py", start_index=12),
        document("y = 2\r\nx = 1", source="a.py"),
        document("z = 3", source="a.py", start_index=2),  # a wrong offset; but it is there once
        document("z = 4", source="a.py"),
        document("z = 3", source="../outside.py"),
        document("z = 3"),
    )
    results = [(chunk.get("file"), chunk.get("start_line"), chunk.get("end_line")) for chunk in row["topk"]]
    assert results == [
        ("a.py", None, None),
        ("a.py", 2, 3),
        ("a.py", 1, 3),
        ("a.py", 3, 4),
        ("a.py", None, None),
        (None, None, None),
    ]
    assert row["extra"] == {"not_placed": 3, "repeated": 1, "scores": "1/rank"}
    assert [chunk["score"] for chunk in row["topk"]] == [1 / rank for rank in range(1, 7)]


def test_a_query_that_is_asked_again_is_logged_once(sources, tmp_path):
    logged = LoggedRetriever(Returns(), tmp_path / "log", sources=sources, k=3)
    for text in ("a", "b", "a"):
        assert logged.invoke(text) == []
    assert [(row["query_id"], row["topk"]) for row in rows(tmp_path / "log")] == [("a", []), ("b", [])]


def test_what_cannot_be_logged_is_one_sentence(tmp_path):
    pytest.importorskip("langchain_core")
    with pytest.raises(UsageError, match="returned 2 texts for 'q'; give k=2 or more"):
        logged_row(tmp_path, document("a"), document("b"), k=1)
    (tmp_path / "l").unlink()
    with pytest.raises(UsageError, match="str is neither a node of LlamaIndex nor a document of LangChain"):
        logged_row(tmp_path, "text")
    with pytest.raises(UsageError, match="l exists; name another file, or remove it"):
        logged_row(tmp_path)
    with pytest.raises(UsageError, match="none is not a folder"):
        LoggedRetriever(Returns(), tmp_path / "m", sources=tmp_path / "none", k=1)
    assert not (tmp_path / "m").exists()


def test_neither_library_is_imported():
    code = "import sys\nfrom repoeval_bench.plugins.logs.retriever_log import LoggedRetriever, write_corpus\nprint(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "langchain" not in done.stdout
    assert "llama_index" not in done.stdout
