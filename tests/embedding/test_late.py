"""Late chunking with the bundled model, against a direct computation; and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.analysis.sensitivity import sensitivity
from repoeval_bench.core.errors import EmbeddingError, SpecError, UsageError
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding import encoder as encoder_module
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder, find_model
from repoeval_bench.embedding.late import LateEncoder, windows
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.experiment import evaluate, plan_run
from repoeval_bench.runs.parts import make_embedder
from repoeval_bench.runs.stages import embed
from support.minirepo import build_mirror

SHORT = "def add(a, b):\n    return a + b\n\n\nclass Ω:\n    '''naïve 𝒳'''\n    size = add(1, 2)\n"
LONG = "".join(f"def f{i}(a):\n    return a + {i} * g{i}(a)\n\n\n" for i in range(60))


@pytest.fixture(scope="module")
def late():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder_module, "BATCH_TOKENS", 512)
        yield find_model("minilm:precision=fp32,late=true")


@pytest.fixture(scope="module")
def plain():
    return find_model("minilm:precision=fp32")


@pytest.fixture(scope="module")
def direct(plain):
    """The library's own model, run on tokens that are put together by hand."""
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(plain.files.folder), device="cpu")

    def vectors(ids):
        with torch.inference_mode():
            read = torch.tensor([[101, *ids, 102]])
            found = model[0].auto_model(input_ids=read, attention_mask=torch.ones_like(read))
        return found.last_hidden_state[0, 1:-1].numpy()

    def encoded(text):
        found = model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)
        return found["input_ids"], [start for start, _ in found["offset_mapping"]]

    return model, vectors, encoded


def encode(late, spans):
    found = np.zeros((len(spans), 384), dtype=np.float32)
    names = [late.name(text, CharSpan(*chars)) for text, *chars in spans]
    for positions, rows in late.encode_batches(names, "document", late.count_tokens(names, "document")):
        found[positions] = rows
    return found


def mean(vectors, starts, span):
    rows = vectors[[at for at, start in enumerate(starts) if span[0] <= start < span[1]]].mean(axis=0)
    return rows / np.linalg.norm(rows)


def test_a_chunk_of_a_short_file_is_the_mean_of_its_tokens_in_the_file(late, direct):
    _, vectors, encoded = direct
    ids, starts = encoded(SHORT)
    cut = SHORT.index("class")
    spans = [(0, cut), (cut, len(SHORT)), (4, 20)]
    expected = [mean(vectors(ids), starts, span) for span in spans]
    assert np.abs(encode(late, [(SHORT, *span) for span in spans]) - expected).max() < 1e-5


def test_the_whole_file_as_one_chunk_is_nearly_the_librarys_vector(late, direct):
    """The library averages the two special tokens too."""
    model, *_ = direct
    assert float(encode(late, [(SHORT, 0, len(SHORT))])[0] @ model.encode(SHORT)) > 0.98


def test_a_long_file_is_read_in_windows_half_a_window_apart(late, direct):
    """Each token from the window in which it is farthest from both ends, found by trying all of them."""
    _, vectors, encoded = direct
    ids, starts = encoded(LONG)
    room = 254
    firsts = [*range(0, len(ids) - room, room // 2), len(ids) - room]
    assert len(firsts) > 5
    read = {first: vectors(ids[first : first + room]) for first in firsts}

    def best(token):
        inside = [first for first in firsts if first <= token < first + room]
        return max(inside, key=lambda first: (min(token - first, first + room - 1 - token), -first))

    def edge(token):
        """At the file's ends a token has the window that there is."""
        return firsts[0] if token < room // 2 else firsts[-1] if token >= len(ids) - room // 2 else best(token)

    rows = np.stack([read[edge(token)][token - edge(token)] for token in range(len(ids))])
    spans = [(start, start + 90) for start in range(0, len(LONG) - 90, 90)]
    expected = [mean(rows, starts, span) for span in spans]
    assert np.abs(encode(late, [(LONG, *span) for span in spans]) - expected).max() < 1e-5


@given(st.integers(1, 2000), st.integers(2, 300))
def test_every_token_is_taken_once_from_a_window_that_reads_it(n_tokens, room):
    found = windows(n_tokens, room)
    assert [token for _, _, low, high in found for token in range(low, high)] == list(range(n_tokens))
    assert all(first <= low <= high <= end and end - first == min(room, n_tokens) for first, end, low, high in found)
    for first, end, low, high in found:
        assert first == 0 or low - first >= (room - 1) // 4
        assert end == n_tokens or end - high >= (room - 1) // 4


def test_a_vector_depends_on_the_file_and_the_span_alone(late):
    spans = [(LONG, 0, 300), (SHORT, 0, 40), (LONG, 300, 900), (SHORT, 40, len(SHORT))]
    together = encode(late, spans)
    assert np.array_equal(np.roll(encode(late, spans[2:] + spans[:2]), 2, axis=0), together)
    for span, row in zip(spans, together, strict=True):
        assert np.array_equal(encode(late, [span])[0], row)


def test_the_same_text_in_another_file_has_another_vector(late):
    text = "    return a + b\n"
    one, two = f"def add(a, b):\n{text}", f"class Door:\n  def close(a, b):\n{text}"
    found = encode(late, [(one, len(one) - len(text), len(one)), (two, len(two) - len(text), len(two))])
    assert 0.3 < float(found[0] @ found[1]) < 0.999


def test_queries_are_those_of_the_model(late, plain):
    asked = (["add two numbers"], "query", [5])
    ((_, ours),), ((_, theirs),) = late.encode_batches(*asked), plain.encode_batches(*asked)
    assert np.allclose(ours, theirs, atol=1e-6)
    assert late.identity != plain.identity
    assert late.spec == "minilm:precision=fp32,late=true"


def test_a_text_that_is_not_a_span_is_refused(late):
    with pytest.raises(EmbeddingError, match="reads chunks in their files, which this command does not give it"):
        late.count_tokens(["def f(): pass"], "document")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("late")
    return load_benchmark(str(build_mirror(folder / "mirror")), home=folder / "home"), folder / "home"


def test_a_run_ranks_by_the_vectors_of_spans_and_is_one_of_its_own(benchmark, tmp_path):
    data, home = benchmark
    asked = {"home": home, "out": tmp_path, "protocol": "body", "few_gold": True}
    late = evaluate(data, "fixed:max_nws=200", embedder="minilm:precision=fp32,late=true", **asked)
    plain = evaluate(data, "fixed:max_nws=200", embedder="minilm:precision=fp32", **asked)
    assert late.run_id != plain.run_id
    assert late.metrics.embedder == "minilm:precision=fp32,late=true"
    assert (late.folder / "run.trec").read_bytes() != (plain.folder / "run.trec").read_bytes()
    assert late.metrics.counts.chunks_truncated == 0
    assert late.manifest.index.tokens is None
    again = evaluate(data, "fixed:max_nws=200", embedder="minilm:precision=fp32,late=true", **asked)
    assert (again.folder / "run.trec").read_bytes() == (late.folder / "run.trec").read_bytes()


@pytest.mark.parametrize(("protocol", "executor"), [("body", ProcessPool(2)), ("linemap", IN_PROCESS)])
def test_a_grid_ranks_by_the_vectors_of_spans_too(benchmark, tmp_path, protocol, executor):
    """Its means are those of single runs, in this process and where workers score."""
    data, home = benchmark
    chunkers = ["fixed:max_nws=200", "ast:max_nws=200"]
    asked = {"home": home, "embedder": "minilm:late=true", "precision": "fp32"}
    grid = {"protocols": [protocol], "queries": ["full"], "relevances": ["overlap"], "retrievers": ["dense"]}
    grid |= {"measures": ["ndcg@10"], "match": False, "placebo": 0}
    single = {"protocol": protocol, "query": "full", "relevance": "overlap", "few_gold": True, "out": tmp_path}
    runs = [evaluate(data, each, **single, **asked) for each in chunkers]
    means = tuple(run.metrics.over(run.metrics.headline)["ndcg@10"] for run in runs)
    (found,) = sensitivity(data, chunkers, out=tmp_path, executor=executor, **asked, **grid)
    assert found.means == pytest.approx(means, abs=1e-9)


def test_a_grid_refuses_chunks_whose_vectors_would_know_of_hidden_lines(benchmark, tmp_path):
    data, home = benchmark
    asked = {"home": home, "embedder": "minilm:late=true", "out": tmp_path}
    with pytest.raises(UsageError, match="exclusion=prompt hides chunks"):
        sensitivity(data, ["fixed", "ast"], protocols=["context+exclusion=prompt+gold=context"], **asked)


def test_the_vectors_of_a_run_are_those_of_the_encoder(benchmark, late):
    """Through the cache, beside queries, whose prompt is the same: each chunk of each file."""
    data, home = benchmark
    embedder = make_embedder("minilm:precision=fp32,late=true", home=home)
    planned = plan_run(data, "fixed:max_nws=200", protocol="body")
    (planned,) = embed([planned], embedder)
    files = planned.benchmark.by_name
    spans = [(files[chunk.file].text, chunk.chars.start, chunk.chars.end) for chunk in planned.corpus]
    cached = embedder.encode([chunk.vector_text for chunk in planned.corpus], "document")
    assert np.allclose(cached, encode(late, spans), atol=1e-5)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"exclusion": "prompt", "gold": "context"}, "exclusion=prompt hides chunks"),
        ({"header": "path"}, "without headers or titles"),
        ({"long_text": "chunks=mean"}, "reads chunks whole"),
    ],
)
def test_what_does_not_go_with_it_is_refused(benchmark, tmp_path, asked, sentence):
    data, home = benchmark
    with pytest.raises(UsageError, match=sentence):
        evaluate(data, "fixed:max_nws=200", embedder="minilm:late=true", home=home, out=tmp_path, **asked)


def test_a_model_that_averages_nothing_is_refused(plain):
    cls = SentenceTransformerEncoder(replace(plain.files, pooling="cls"))
    with pytest.raises(SpecError, match=r"this model's vector is made otherwise \(cls\)"):
        LateEncoder(cls)
    assert make_embedder("minilm:late=false,precision=fp32").late is False
