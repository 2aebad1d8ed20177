"""Embedders that read texts whole: hashing and static vectors."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from repoeval_bench.core.errors import EmbeddingError, UsageError
from repoeval_bench.core.extras import install_command
from repoeval_bench.embedding.choice import find_encoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.static import keep
from support.models import WORDS, tiny_encoder

TEXTS = [
    *("def put(shelf, count): return shelf", "", "???", "count shelf put", "class OutOfStock(ValueError): pass"),
    "\ud800",
]


def encode(encoder, texts):
    tokens = encoder.count_tokens(texts, "document")
    parts = list(encoder.encode_batches(texts, "document", tokens))
    rows = np.zeros((len(texts), parts[0][1].shape[1]), dtype=np.float32)
    for positions, vectors in parts:
        rows[positions] = vectors
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def static(folder):
    """The spec of static vectors, distilled from a tiny model that pads and cuts what it reads, as the bundled one does."""
    words = (*WORDS, "put", "shelf", "count", "raise")
    return f"static:{tiny_encoder(folder / 'tiny', words=words, filled=True)},dim=8"


@pytest.fixture(scope="module", params=["hash:dim=64", "static"])
def encoder(request, folder):
    spec = request.getfixturevalue("static") if request.param == "static" else request.param
    return find_encoder(spec, folder)


def test_rows_are_unit_vectors_that_depend_on_their_text_alone(encoder):
    """Alone, or among 600 others, a text has the same unit vector, bit for bit."""
    rows = encode(encoder, TEXTS)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert np.array_equal(encode(encoder, TEXTS * 100)[: len(TEXTS)], rows)
    for i, text in enumerate(TEXTS):
        assert np.array_equal(encode(encoder, [text])[0], rows[i])


def test_a_text_without_a_known_term_is_orthogonal_to_every_other(encoder):
    """It has a direction of its own instead of no direction."""
    rows = encode(encoder, ["", "def put(shelf, count): return shelf", "  \n"])
    assert rows[0] @ rows[1] == 0
    assert np.array_equal(rows[0], rows[2])


def test_nothing_is_truncated_and_terms_are_counted(encoder):
    """No limit; a longer text has more terms."""
    assert encoder.limit is None
    short, long = encoder.count_tokens(["put count", "put count " * 5000], "document")
    assert 0 < short < long


def test_near_texts_are_near(encoder):
    """A text that shares words is nearer than one that shares none."""
    near, base, far = encode(encoder, ["shelf put count", "def put(shelf, count): return shelf", "raise UnknownItem"])
    assert near @ base > far @ base


def test_hashing_is_the_same_in_every_process():
    """No hash of Python's own is in it: another process has the same bytes; another seed others."""
    code = (
        "import sys; from repoeval_bench.embedding.hashing import HashEncoder;"
        "e = HashEncoder('hash', dim=16, seed=int(sys.argv[1]));"
        "print(e.sums(['def put(shelf): pass']).tobytes().hex())"
    )
    first, again, other = (
        subprocess.run([sys.executable, "-c", code, seed], capture_output=True, text=True, check=True).stdout
        for seed in ("0", "0", "1")
    )
    assert first == again != other


def test_a_fit_is_made_once_and_never_used_when_changed(tmp_path):
    """A second call reads; a flipped bit, a lost file and a broken seal are an error, a half-made folder is made again."""
    built = []

    def make(folder):
        built.append(folder)
        (folder / "weights.bin").write_bytes(b"\1\2\3")

    location = tmp_path / "model"
    fingerprint = keep(location, make)
    assert keep(location, make) == fingerprint
    assert fingerprint[0] == location
    assert len(built) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    for damage in (
        lambda: (location / "weights.bin").write_bytes(b"\1\2\2"),
        (location / "weights.bin").unlink,
        lambda: (location / "sha256.json").write_text("{"),
    ):
        damage()
        with pytest.raises(EmbeddingError, match="delete that folder"):
            keep(location, make)
    (location / "sha256.json").unlink()
    assert keep(location, make) == fingerprint


def test_static_vectors_are_model2vecs(folder, static):
    """A text is the weighed mean of its tokens; the folder holds safetensors, and names the model it came from."""
    from model2vec import StaticModel

    encoder = find_encoder(static, folder)
    (location,) = folder.glob("static-*")
    assert not [path for path in location.rglob("*") if path.suffix in {".bin", ".pkl", ".pt"}]
    theirs = StaticModel.from_pretrained(location).encode([TEXTS[0], TEXTS[4]], max_length=None)
    # The tokenizer that it comes from pads texts and cuts what is longer; its heir must not.
    assert encoder.count_tokens(["", "def " * 500], "document") == [0, 500]
    ours = encode(encoder, [TEXTS[0], TEXTS[4]])
    assert np.abs(ours[:, :-1] - theirs).max() < 1e-5
    assert encoder.identity["model"] == f"static from {folder / 'tiny'}"


def test_static_without_its_extra_says_what_to_install(monkeypatch, tmp_path):
    """Without model2vec one sentence names the extra."""
    monkeypatch.setattr("repoeval_bench.core.extras.find_spec", lambda package: package != "model2vec" or None)
    with pytest.raises(
        UsageError, match=rf"embedder static needs model2vec; run {re.escape(install_command('static'))}"
    ):
        find_encoder("static", tmp_path)


@pytest.mark.slow
def test_static_from_the_bundled_tokenizer_reads_texts_whole(tmp_path):
    """It pads texts to 128 tokens and cuts what is longer; its heir does not. A narrow model of one layer shows it."""
    from transformers import BertConfig, BertModel

    source = shutil.copytree(locate("minilm").folder, tmp_path / "model")
    narrow = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1}
    BertModel(BertConfig.from_pretrained(source, **narrow), add_pooling_layer=False).save_pretrained(source)
    encoder = find_encoder(f"static:{source},dim=16", tmp_path)
    assert encoder.count_tokens(["", "def " * 500], "document") == [0, 500]
    assert np.linalg.norm(encode(encoder, TEXTS), axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
