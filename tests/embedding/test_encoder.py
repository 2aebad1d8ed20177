"""The bundled model, really loaded: what a vector depends on, and what is checked before it is used."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.embedding import encoder as encoder_module
from repoeval_bench.embedding import models
from repoeval_bench.embedding.batches import side_by_side
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.storage import VectorCache

TEXTS = [
    *("def add(a, b):\n    return a + b\n", "", "   \n", "class Ω:\n    '''naïve 𝒳'''\n"),
    "x = [" + ", ".join(str(i) for i in range(400)) + "]\n",
    "import os\n" * 30,
    "raise ValueError('no')",
]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Two rows of 256 tokens: what is promised of every batch is cheaper to see on a small one."""
    monkeypatch.setattr(encoder_module, "BATCH_TOKENS", 512)


@pytest.fixture(scope="module")
def encoder():
    return SentenceTransformerEncoder(models.locate("minilm:precision=fp32"))


def encode(encoder, texts):
    result = np.zeros((len(texts), 384), dtype=np.float32)
    tokens = encoder.count_tokens(texts, "document")
    for positions, vectors in encoder.encode_batches(texts, "document", tokens):
        result[positions] = vectors
    return result


def test_vectors_equal_those_of_the_library(encoder):
    """Our batches give what SentenceTransformer.encode gives, to 1e-6, of unit length: the empty text's too."""
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(encoder.files.folder), device="cpu").encode(TEXTS)
    rows = encode(encoder, TEXTS)
    assert np.abs(rows - expected).max() < 1e-6
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def check_that_a_vector_depends_on_its_text_alone(encoder, together):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert np.array_equal(np.roll(encode(encoder, TEXTS[3:] + TEXTS[:3]), 3, axis=0), together)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    for i in (0, 4):
        assert np.array_equal(encode(encoder, [TEXTS[i]])[0], together[i])


def test_a_vector_depends_on_its_text_alone(encoder):
    """Alone, in another order or with other threads, a text has the same bits, and torch has as many threads as before."""
    check_that_a_vector_depends_on_its_text_alone(encoder, encode(encoder, TEXTS))


@pytest.mark.slow
def test_half_precision_stays_near_single_and_depends_on_the_text_alone(encoder):
    """In bf16 every text's cosine to its vector in fp32 is at least 0.9999, and it is not the same vector."""
    half = SentenceTransformerEncoder(models.locate("minilm:precision=bf16"))
    single, bf16 = encode(encoder, TEXTS), encode(half, TEXTS)
    assert (single * bf16).sum(axis=1).min() >= 0.9999
    assert not np.array_equal(single, bf16)
    check_that_a_vector_depends_on_its_text_alone(half, bf16)


def test_another_batch_size_reorders_nothing(encoder, monkeypatch):
    """With four times the rows in a batch, texts keep their order where their scores differ by more than 2e-5."""
    texts = [*TEXTS[:4], TEXTS[6], *(f"def f{i}(a):\n    return a * {i}\n" * (1 + i % 3) for i in range(5))]
    small = encode(encoder, texts)
    monkeypatch.setattr(encoder_module, "BATCH_TOKENS", 4 * 512)
    large = encode(encoder, texts)
    apart, still = (scores[:, :, np.newaxis] - scores[:, np.newaxis] for scores in (small @ small.T, large @ large.T))
    assert (apart > 2e-5).sum() > 200
    assert (still[apart > 2e-5] > 0).all()


def test_the_shape_of_a_batch_on_cuda_is_decided_by_the_model(encoder):
    """No card is asked, so that one key has one shape; here there need not be one."""
    on_cuda = SentenceTransformerEncoder(replace(encoder.files, device="cuda:0", precision="fp16"))
    on_cuda.model = encoder.model
    assert on_cuda.batch_tokens == encoder_module.cuda_batch(384, "fp16") == 65_536
    assert encoder_module.cuda_batch(384, "fp32") == 32_768
    assert encoder_module.cuda_batch(8192, "fp32") == 2048


def test_an_error_in_a_worker_is_raised_where_the_vectors_are_wanted():
    """A failure beside the main thread is one in it, and nothing hangs."""

    def work(number):
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        list(side_by_side(work, [1, 1, 0, 1], device="cpu", precision="fp32"))


def test_token_counts_are_those_before_truncation(encoder):
    """Counts include the two special tokens and do not stop at the model's 256."""
    empty, blank, long = (encoder.count_tokens([TEXTS[i]], "document")[0] for i in (1, 2, 4))
    assert (empty, blank) == (2, 2)
    assert long > 256
    from sentence_transformers import SentenceTransformer

    tokenizer = SentenceTransformer(str(encoder.files.folder), device="cpu").tokenizer
    assert encoder.count_tokens(TEXTS, "document") == [len(tokenizer(text)["input_ids"]) for text in TEXTS]


def test_the_bundled_weights_are_the_published_ones():
    """The model's identity carries the published SHA-256, its 256 tokens and its pooling."""
    identity = models.locate("minilm").identity
    assert identity["weights_sha256"] == models.BUNDLED_SHA256
    assert identity["max_length"] == 256
    assert identity["pooling"] == "mean_tokens"


def test_other_weights_are_refused(tmp_path, monkeypatch):
    """A bundled model with one byte changed is an EmbeddingError with both hashes."""
    folder = tmp_path / "model"
    shutil.copytree(models.locate("minilm").folder, folder)
    weights = folder / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    monkeypatch.setattr(models, "_bundled_folder", lambda: folder)
    with pytest.raises(EmbeddingError, match="not the published"):
        models.locate("minilm")


def test_any_model_folder_can_be_named(tmp_path, encoder):
    """st:FOLDER is the same model by another name; max_length makes another identity."""
    folder = encoder.files.folder
    files = models.locate(f"st:{folder}")
    assert files.weights == models.BUNDLED_SHA256
    short = models.locate(f"st:{folder},max_length=64")
    assert short.identity != files.identity
    cache = VectorCache(tmp_path)
    long_text = [TEXTS[4]]
    cut = CachedEmbedder(SentenceTransformerEncoder(short), cache).encode(long_text, "document")
    whole = CachedEmbedder(SentenceTransformerEncoder(files), cache).encode(long_text, "document")
    assert not np.allclose(cut, whole)
    cache.close()


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("minlm", SpecError, "did you mean 'minilm'"),
        ("st", SpecError, "names no model"),
        ("minilm:max_lenght=5", SpecError, "did you mean 'max_length'"),
        ("minilm:max_length=9999", SpecError, "model's own limit"),
        ("minilm:other", SpecError, "takes no name"),
        ("minilm:precision=bf61", SpecError, "did you mean 'bf16'"),
        ("minilm:precision=fp16", SpecError, "runs on CUDA only"),
        ("st:no-such-owner/no-such-model", EmbeddingError, "name the folder of a model"),  # cannot be fetched
        ("st:{empty}", EmbeddingError, "holds no weights"),
    ],
)
def test_a_spec_of_no_model_says_what_is_wrong_with_it(spec, error, message, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(error, match=message):
        models.locate(spec.format(empty=tmp_path))
