"""Chunkers by name. A new one is a file in this folder, which registers it; its fields are its options."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from repoeval_bench.chunkers._adapters import NamedChunker
from repoeval_bench.core.errors import SpecError, UsageError
from repoeval_bench.core.parts import Chunker, Snippet
from repoeval_bench.core.registry import Kind, Row
from repoeval_bench.core.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkerRow(Row):
    """A chunker as it is registered."""

    sizes: tuple[str, ...] = ()
    """The options that set its chunks' size, if they are not in `SIZE_OPTIONS`."""
    scaled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Option of a size -> options that keep their ratio to it."""
    parallel: bool = False
    """Whether several processes may cut with it: it keeps no state and starts no process."""
    trees: bool = False
    """Whether it spends most of its time on a syntax tree of this package: such chunkers share the tree of a file.

    Their chunks have no header and no rewritten text.
    """
    libraries: tuple[str, ...] = ()
    """Modules that take long to import; the server of those processes imports them."""
    colour: int | None = None
    """The index of its colour in figures; None for the next free one."""
    pasted: Mapping[str, float] = field(default_factory=dict)
    """Option of a size -> its value for each nws of a mean chunk. Its class has `snippet`, which needs no package."""


CHUNKERS = Kind(
    "chunker",
    "repoeval_bench.chunkers",
    ChunkerRow,
    offers=("chunk",),
    called_with="file",
    shown="chunk(self, file), or __call__(self, file), which gives a list of Chunk",
    wrapper=lambda inner, resolved: NamedChunker(inner, resolved.spec),
)

OWN = "repoeval-bench"
"""The framework of chunkers that have no framework of their own."""


def make_chunker(spec: str | Spec) -> Chunker:
    """Return the chunker that a spec names; SpecError if the name, an option or a value is impossible.

    `header=KIND`, of `headers.KINDS`, is an option of every chunker of this package.
    """
    own, kind = split_header(Spec.parse(spec) if isinstance(spec, str) else spec)
    chunker = cast("Chunker", CHUNKERS.choose(own).make())
    if kind == "none":
        return chunker
    from repoeval_bench.chunkers.headers import HeadedChunker  # imports the parser, which few chunkers need

    return HeadedChunker(chunker, kind)


def split_header(spec: Spec) -> tuple[Spec, str]:
    """Return the spec without its header, and the kind of header: `none` for one of another package's own."""
    own = dict(spec.params)
    kind = "none" if CHUNKERS.find(spec.name, spec.target).origin else own.pop("header", "none")
    return Spec(spec.name, spec.target, own), kind


def as_chunker(value: object) -> Chunker:
    """Return an object with `spec` and `chunk` as it is, and a function as the chunker `py:module:name`."""
    if isinstance(getattr(value, "spec", None), str) and callable(getattr(value, "chunk", None)):
        return cast("Chunker", value)
    name = getattr(value, "__qualname__", "")
    if isinstance(value, type) or not callable(value) or not name.isidentifier():
        raise UsageError(
            f"{value!r} is not a chunker; give a spec such as 'ast', a function at the top of a module, or an object "
            "with a text `spec` and a method `chunk`"
        )
    return make_chunker(f"py:{value.__module__}:{name}")


def row_of(spec: str | Spec) -> ChunkerRow:
    """Return the row of the chunker that a text names; one without facts if no chunker that is here has this name."""
    with suppress(SpecError):  # an imported run's text is no spec, and a plug-in may be broken
        parsed = Spec.parse(spec) if isinstance(spec, str) else spec
        if row := CHUNKERS.known(parsed.name):
            return row
    return ChunkerRow(name="", meaning="")


def snippet_of(spec: str, language: str) -> Snippet:
    """Return the Python that makes a chunker for files in `language`: with its own framework, else with this tool.

    The framework need not be installed. A plug-in's class may have a method `snippet(language)` too. SpecError if the
    spec is impossible.
    """
    parsed = Spec.parse(spec)
    if "header" not in parsed.params:
        resolved = CHUNKERS.choose(parsed)
        factory = resolved.row.part
        own: Snippet | None = factory(**resolved.options).snippet(language) if hasattr(factory, "snippet") else None
        if own is not None:
            return own
    code = f"make_chunker({json.dumps(_shortened(parsed), ensure_ascii=False)})"
    use = "chunks = chunker.chunk(text, path=path)  # strings with start_line and end_line"
    return Snippet(OWN, "from repoeval_bench import make_chunker", code, use)


def _shortened(spec: Spec) -> str:
    """Return a spec without the options that have their defaults, except for the first one, which is the size."""
    defaults = CHUNKERS.choose(Spec(spec.name, spec.target, {})).options
    first = next(iter(spec.params), "")
    params = {key: value for key, value in spec.params.items() if key == first or str(defaults.get(key)) != value}
    return str(Spec(spec.name, spec.target, params))


def of_size(name: str, nws: int) -> str:
    """Return the spec of a framework's chunker with about the mean size of `fixed:max_nws=NWS`."""
    row = CHUNKERS.find(name)
    chunker: Chunker = row.part(**{option: round(factor * nws) for option, factor in row.pasted.items()})
    return chunker.spec
