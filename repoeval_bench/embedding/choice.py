"""Check the spec of an embedder, fill in its options, and make its encoder."""

from typing import cast

from repoeval_bench.core.parts import Role
from repoeval_bench.core.spec import Spec
from repoeval_bench.embedding import models
from repoeval_bench.embedding.long_text import OPTIONS, LongText
from repoeval_bench.embedding.registry import EMBEDDERS, TextEncoder


def parse_embedder(text: str) -> Spec:
    """Return the checked spec of an embedder, with defaults filled in unless it is a model in a folder.

    A SpecError names what is missing or impossible; it never repeats what could be a key.
    """
    spec = Spec.parse(text)
    if spec.name in models.NAMES:
        models.checked_options(spec)
        return spec
    if spec.name == "openai":
        from repoeval_bench.core.api_server import check_no_key, server_address

        check_no_key("embedder openai", spec.params)
    values = dict(EMBEDDERS.choose(spec).options)
    if spec.name == "openai":
        values = {"base_url": server_address(values.pop("base_url", "")), **values}
    return Spec(spec.name, spec.target, {key: str(value) for key, value in values.items()})


def choose_embedder(text: str) -> tuple[Spec, dict[Role, LongText]]:
    """Return (checked spec of an embedder, role -> policy for long texts) without looking for a model.

    A UsageError names what is missing, impossible or without effect.

    >>> str(choose_embedder("hash:dim=8")[0]), choose_embedder("st:m,long_queries=tail")[1]
    ('hash:dim=8,seed=0', {'query': 'tail', 'document': 'head'})
    """
    spec = parse_embedder(text)
    return spec, {role: cast("LongText", spec.params.pop(option, "head")) for role, option in OPTIONS.items()}


def has_model(text: str) -> bool:
    """Return whether the embedder of a spec is a model, which is loaded where texts are embedded."""
    return Spec.parse(text).name in models.NAMES


def find_encoder(text: str) -> TextEncoder:
    """The encoder that a spec names, found, verified or made; a model of its own is loaded on the first text."""
    spec = parse_embedder(text)
    # As it was given: a model's spec names only the options that were.
    return cast("TextEncoder", EMBEDDERS.choose(spec).make(spec=str(spec)))
