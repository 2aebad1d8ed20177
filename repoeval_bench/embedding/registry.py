"""The table of embedders: what each is named, takes as options, and needs to be made.

A new embedder is a file in this folder and a row here. Its module is imported when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Option, Spec, format_spec, nearest, one_of, whole
from repoeval_bench.embedding import long_text, models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.parts import Role
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.embedding.long_text import LongText
    from repoeval_bench.embedding.text_encoder import TextEncoder


@dataclass(frozen=True, slots=True)
class Material:
    """What an encoder may be made from: where fitted models are kept, and the benchmark's files (None: not at hand).

    `notify` gets a line where they cannot be kept.
    """

    folder: Path
    files: Sequence[SourceFile] | None
    notify: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Entry:
    """One embedder of the table.

    `target` says what stands behind the name, "" where nothing may. `fitted`: it is made from the benchmark's files.
    """

    meaning: str
    make: Callable[[Spec, Material], TextEncoder]
    options: Mapping[str, Option] = field(default_factory=dict)
    target: str = ""
    fitted: bool = False


def parse_embedder(text: str) -> Spec:
    """The spec of an embedder, options and values checked, defaults filled in for those that are no model's folder.

    A SpecError says what is not there or not possible; it never repeats what could be a key.
    """
    spec = Spec.parse(text)
    if spec.name not in EMBEDDERS:
        raise SpecError(nearest("embedder", spec.name, EMBEDDERS))
    if spec.name in models.EMBEDDERS:
        return models.parse_embedder(text)
    entry = EMBEDDERS[spec.name]
    if spec.name == "openai":
        from repoeval_bench.embedding.server import KEY, server_address

        if any("key" in option.lower() or "token" in option.lower() for option in spec.params):
            raise SpecError(f"embedder openai takes its key from {KEY} in the environment only; leave it out here")
        if not spec.target:
            raise SpecError(f"embedder {spec.name} names no model; write openai:MODEL")
        spec.params["base_url"] = server_address(spec.params.get("base_url", ""))
    if spec.target and not entry.target:
        raise SpecError(f"embedder {spec.name}: {spec.target!r} is not key=value")
    for name in spec.params:
        if name not in entry.options:
            raise SpecError(f"embedder {spec.name}: {nearest('option', name, entry.options)}")
    values = {}
    for name, option in entry.options.items():
        if not (value := spec.params.get(name, option.default)):
            continue
        try:
            option.read(value)
        except ValueError:
            raise SpecError(f"embedder {spec.name}: {name}={value} is not possible; it is {option.wanted}") from None
        values[name] = value
    return Spec(spec.name, spec.target, values)


def choose_embedder(text: str) -> tuple[Spec, dict[Role, LongText]]:
    """(the spec of an embedder, options and values checked; role -> what is read of long texts), no model looked for.

    A UsageError says what is not there, not possible, or changes nothing.
    """
    model, policies = long_text.split_spec(text)
    spec = parse_embedder(model)
    if set(policies.values()) != {"head"} and not _LONG_TEXT.keys() <= EMBEDDERS[spec.name].options.keys():
        raise long_text.changes_nothing(spec)
    return spec, policies


def settled(text: str) -> str:
    """The spec with all options that are known before a model is found: two that mean one embedder give one text."""
    spec, policies = choose_embedder(text)
    if spec.name in models.EMBEDDERS:
        spec = models.settled(spec)
    named: dict[str, str] = {long_text.OPTIONS[role]: policy for role, policy in policies.items()}
    return format_spec(spec.name, dict(sorted(spec.params.items())) | named, spec.target)


def needs_files(text: str) -> bool:
    """Whether the embedder that a spec names is made from the benchmark's files."""
    entry = EMBEDDERS.get(Spec.parse(text).name)
    return entry is not None and entry.fitted


def find_encoder(text: str, material: Material) -> TextEncoder:
    """The encoder that a spec names, found, verified or made; a model of its own is loaded on the first text."""
    spec = parse_embedder(text)
    return EMBEDDERS[spec.name].make(spec, material)


def _model(spec: Spec, _: Material) -> TextEncoder:
    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(models.locate(str(spec)))


def _openai(spec: Spec, _: Material) -> TextEncoder:
    from repoeval_bench.embedding.openai import OpenAiEncoder
    from repoeval_bench.embedding.server import EmbeddingServer

    base_url = spec.params["base_url"]
    dimensions = int(spec.params["dimensions"]) if "dimensions" in spec.params else None
    server = EmbeddingServer(base_url, spec.target, dimensions=dimensions, timeout=float(spec.params["timeout"]))
    # How texts are sent decides no vector, so it is no part of the run's name.
    named = {key: value for key, value in spec.params.items() if key in ("base_url", "dimensions")}
    return OpenAiEncoder(
        format_spec(spec.name, named, spec.target), server, model=spec.target, base_url=base_url,
        dimensions=dimensions, batch=int(spec.params["batch"]),
    )  # fmt: skip


def _static(spec: Spec, material: Material) -> TextEncoder:
    from repoeval_bench.embedding.static import distill_static

    source = models.locate(f"st:{spec.target}" if spec.target else "minilm")
    return distill_static(str(spec), material.folder, source, dim=int(spec.params["dim"]), notify=material.notify)


def _lsa(spec: Spec, material: Material) -> TextEncoder:
    from repoeval_bench.embedding.lsa import fit_lsa

    if material.files is None:
        raise SpecError("embedder lsa is fitted on a benchmark's files; make it with that benchmark")
    return fit_lsa(
        str(spec), material.folder, material.files, dim=int(spec.params["dim"]), seed=int(spec.params["seed"]),
        notify=material.notify,
    )  # fmt: skip


def _hash(spec: Spec, _: Material) -> TextEncoder:
    from repoeval_bench.embedding.hashing import HashEncoder

    return HashEncoder(str(spec), dim=int(spec.params["dim"]), seed=int(spec.params["seed"]))


def _whole(default: str, low: int, meaning: str) -> Option:
    return Option(default, meaning, f"a whole number from {low}", whole(low))


_LONG_TEXT = {
    option: Option(
        "head", f"what is read of {texts} longer than the model reads: {', '.join(long_text.POLICIES)}",
        ", ".join(long_text.POLICIES), one_of(*long_text.POLICIES),
    )
    for option, texts in ((long_text.OPTIONS["query"], "queries"), (long_text.OPTIONS["document"], "chunks"))
}  # fmt: skip

EMBEDDERS: Mapping[str, Entry] = {
    **{
        name: Entry(meaning, _model, {**models.OPTIONS, **_LONG_TEXT}, target="NAME")
        for name, meaning in models.EMBEDDERS.items()
    },
    "openai": Entry(
        "openai:MODEL of OpenAI, or with base_url=http://HOST:PORT/v1 of any server that speaks its embeddings API; "
        "the key is read from OPENAI_API_KEY", _openai,
        {
            "base_url": Option("", "the server; OPENAI_BASE_URL or OpenAI's unless given", "http://HOST:PORT/v1", str),
            "dimensions": _whole("", 1, "asks for vectors of this width; the model's own unless given"),
            "batch": _whole("64", 1, "texts in one request"),
            "timeout": _whole("60", 1, "seconds that a request may take"),
        },
        target="MODEL",
    ),
    "static": Entry(
        "static vectors (model2vec) distilled from minilm, or static:NAME from another model; reads texts whole",
        _static, {"dim": _whole("256", 1, "width of the vectors, by PCA")}, target="NAME",
    ),
    "lsa": Entry(
        "TF-IDF and a truncated SVD (scikit-learn), fitted on the benchmark's files; reads texts whole", _lsa,
        {
            "dim": _whole("256", 1, "singular vectors that are kept"),
            "seed": _whole("0", 0, "of the randomized SVD"),
        },
        fitted=True,
    ),
    "hash": Entry(
        "code terms thrown into buckets: instant, for tests; it knows no meaning", _hash,
        {
            "dim": _whole("256", 1, "buckets"),
            "seed": _whole("0", 0, "another seed, other buckets"),
        },
    ),
}  # fmt: skip
"""name -> embedder."""
