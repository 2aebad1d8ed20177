"""The one registry of parts: chunkers, embedders, retrievers, rerankers, protocols and measures.

A built-in part is a `Row` of its room's table. A part from outside is named by `py:module:Name`, or by an entry point
in the group of its kind, such as `repoeval_bench.chunkers`. `choose` parses and checks the spec of either; the part is
imported when it is made.

The interface of a part from outside:

- chunker: `chunk(file)`, or a call with the file, returns the `Chunk`s of a `SourceFile`, made with `Chunk.cut`, in
  order of their start.
- embedder: `encode(texts, role)` returns an array (n, dim). `identity` is a mapping of all that decides a vector
  (model, version, options): it is the cache's key.
- retriever: `search(queries, k, excluded)` returns a `Run` with a ranking for each query.
- reranker: `score(query, texts)` returns a number for each text, the higher the better.
- protocol: a `Protocol` of `protocols.protocol`.
- measure: a `MeasureDefinition` of `metrics.definition`; its `compute` is a function of a module.

The first four are classes, or functions that make the part. They are called with keywords. A parameter whose name is in
`Kind.gives` receives the material of the part, such as a retriever's `chunks` (repository -> its chunks). Every other
parameter is an option, read by its annotation or default.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import SpecError, others_errors_as
from repoeval_bench.core.extension_points import entry_points, is_shipped, load_point, package_of, shipped_entry_points
from repoeval_bench.core.extras import require
from repoeval_bench.core.options import Option, options_of, read_options
from repoeval_bench.core.spec import Spec, format_spec, nearest
from repoeval_bench.core.words import plural

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


GONE: Mapping[tuple[str, str], str] = {
    ("protocol", "prose"): "commits",
    ("command", "add"): "repoeval-bench verify",
    ("command", "stability"): "python scripts/churn.py",
    ("protocol", "linemap"): "code-chunk",
    ("chunker", "blocks"): "functions",
    ("chunker", "least-nested"): "ast",
    ("chunker", "early-split"): "fixed",
    ("chunker", "half-overlap"): "window",
}
"""Kind and name of a part or command that this release removes -> the one to choose instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of part. `table` and `wrapper` are `module:Name`: core imports no room.

    `gives` are the parameters that are not options. `offers` are the attributes that a part from outside must have;
    `data` is the class of a part that is an object and needs no call. `wrapper` completes a part from outside: it is
    called with the part and its `ResolvedSpec`. A function with the parameter `called_with` is a part itself, and its
    other parameters are options. Any other callable makes a part, which may be callable itself. `shown` describes the
    interface in an error message.
    """

    name: str
    table: str
    gives: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    data: str = ""
    wrapper: str = ""
    called_with: str = ""
    shown: str = ""

    @property
    def group(self) -> str:
        """The group of its entry points."""
        return f"repoeval_bench.{self.name}s"


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="chunker",
            table="repoeval_bench.chunkers.registry:CHUNKERS",
            offers=("chunk",),
            called_with="file",
            shown="chunk(self, file), or __call__(self, file), which gives a list of Chunk",
            wrapper="repoeval_bench.chunkers._adapters:NamedChunker",
        ),
        Kind(
            name="embedder",
            table="repoeval_bench.embedding.registry:EMBEDDERS",
            gives=("spec", "folder"),
            offers=("encode", "identity"),
            shown="encode(self, texts, role), which gives an array (n, dim), and a mapping `identity`",
            wrapper="repoeval_bench.embedding.plug_in:PlugInEncoder",
        ),
        Kind(
            name="retriever",
            table="repoeval_bench.retrieval.registry:RETRIEVERS",
            gives=("chunks", "own", "embedder", "ideal", "scorer"),
            offers=("search",),
            shown="search(self, queries, k, excluded), which gives a Run",
            wrapper="repoeval_bench.retrieval.plug_in:PlugInRetriever",
        ),
        Kind(
            name="reranker",
            table="repoeval_bench.retrieval.registry:RERANKERS",
            offers=("score",),
            shown="score(self, query, texts), which gives a number for each text",
            wrapper="repoeval_bench.retrieval.plug_in:PlugInScorer",
        ),
        Kind(
            name="protocol",
            table="repoeval_bench.protocols.registry:PROTOCOLS",
            data="repoeval_bench.protocols.protocol:Protocol",
        ),
        Kind(
            name="measure",
            table="repoeval_bench.metrics.registry:MEASURES",
            data="repoeval_bench.metrics.definition:MeasureDefinition",
        ),
    )
}
"""name -> kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One part that a spec can name: its meaning, its parameters, and its module.

    - where: `module:Name`, imported on request. part: the part itself, if it is data.
    - options: None to read them from the class.
    - target: the word after the name, as MODEL in `st:MODEL`; in brackets if it may be left out. inner: the kind of
      part that the target names, whose options the spec may give too.
    - needs: its parameters of `Kind.gives`. requires: packages that only an extra installs.
    - final: no reranker reorders its results. origin: the package of a part from outside, "" for a built-in one.

    Of a chunker:

    - sizes: the options that set its chunks' size, if they are not in `SIZE_OPTIONS`. scaled: option of a size ->
      options that keep their ratio to it.
    - parallel: it keeps no state and starts no process, so it may cut in several processes. libraries: modules that
      take long to import; the server of those processes imports them.
    - series: the index of its colour in figures; None for the next free one.
    - pasted: its class has `of_size` and `snippet`, which work even if its package is not installed.
    """

    name: str
    meaning: str
    where: str = ""
    options: Mapping[str, Option] | None = field(default_factory=dict)
    target: str = ""
    inner: str = ""
    needs: frozenset[str] = frozenset()
    requires: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    final: bool = False
    origin: str = ""
    part: Any = None
    sizes: tuple[str, ...] = ()
    scaled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parallel: bool = False
    libraries: tuple[str, ...] = ()
    series: int | None = None
    pasted: bool = False

    @property
    def label(self) -> str:
        """The name as a list prints it, with its target if one is required."""
        needed = self.target and not self.target.startswith("[") and self.target != self.name
        return f"{self.name}:{self.target}" if needed else self.name

    def load(self) -> Any:
        """The class, function or data, imported."""
        if self.name == "py":
            _search_working_folder()
        return self.part if self.part is not None else load(self.where)

    def parameters(self) -> Mapping[str, Option]:
        """The options by name."""
        return options_of(self.load()) if self.options is None else self.options


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSpec:
    """A part that a spec names: its row, its target, and every option that has a value. Plain data."""

    kind: str
    row: Row
    target: str
    values: tuple[tuple[str, Any], ...]
    inner: ResolvedSpec | None = None

    @property
    def spec(self) -> str:
        """The spec that rebuilds it, every option printed."""
        inner = dict(self.inner.values) if self.inner else {}
        return format_spec(self.row.name, {**dict(self.values), **inner}, self.target)

    @property
    def options(self) -> dict[str, Any]:
        """Option -> value."""
        return dict(self.values)

    def check_installed(self) -> None:
        """Raise a UsageError if a package is missing that the part, or the one inside it, needs."""
        require(f"{self.kind} {self.row.name}", *self.row.requires, *(self.inner.row.requires if self.inner else ()))

    def make(self, **material: Any) -> Any:
        """Make the part from those of the materials that it has parameters for.

        UsageError if a package is missing, SpecError if a part from outside fails.
        """
        self.check_installed()
        kind, factory = KINDS[self.kind], self.row.load()
        material = {"spec": self.spec, "inner": self.inner, self.row.target.strip("[]").lower(): self.target} | material
        arguments = {name: material[name] for name in inspect.signature(factory).parameters if name in material}
        if not self.row.origin:
            return factory(**arguments, **self.options)
        with others_errors_as(lambda reason: SpecError(f"{self.spec} cannot be built: {reason}")):
            if is_part(kind, factory):
                part = SimpleNamespace(**dict.fromkeys(kind.offers, partial(factory, **self.options)))
            else:
                part = factory(**arguments, **self.options)
        missing = [name for name in kind.offers if not hasattr(part, name)]
        if missing and kind.called_with and callable(part):
            part, missing = SimpleNamespace(**dict.fromkeys(kind.offers, part)), []
        if missing:
            raise SpecError(f"{self.spec} has no {missing[0]}; {_a(kind.name)} has {kind.shown} (docs/plug-ins.md)")
        return load(kind.wrapper)(part, self)


def rows(kind: str) -> tuple[Row, ...]:
    """The parts of a kind that this package has: those of its table, and those of its leaves."""
    table: tuple[Row, ...] = load(KINDS[kind].table)
    leaves = (_of_leaf(kind, point) for point in shipped_entry_points(KINDS[kind].group).values())
    return (*table, *(row for row in leaves if row is not None))


def plug_ins(kind: str) -> list[Row]:
    """The parts of a kind in other packages, by name; the meaning of one that cannot be imported says why."""
    outside = []
    shipped = shipped_entry_points(KINDS[kind].group)
    for point in _entry_points(kind).values():
        if point.name in shipped and _of_leaf(kind, shipped[point.name]):
            continue
        try:
            outside.append(_plug_in(kind, point))
        except SpecError as error:
            outside.append(Row(name=point.name, meaning=str(error), origin=package_of(point)))
    return outside


def known(kind: str, name: str) -> Row | None:
    """The row of a name or alias, from the table or another package; None if there is none."""
    table: tuple[Row, ...] = load(KINDS[kind].table)
    listed = next((row for row in table if name in (row.name, *row.aliases)), None)
    if listed is None and name in (leaves := shipped_entry_points(KINDS[kind].group)):
        return _plug_in(kind, leaves[name])
    if listed is None and name in (points := _entry_points(kind)):
        return _plug_in(kind, points[name])
    return listed


def known_or_none(kind: str, name: str) -> Row | None:
    """`known`, but None for a plug-in that cannot be imported: a stored run no longer needs it."""
    try:
        return known(kind, name)
    except SpecError:
        return None


def find(kind: str, name: str, target: str = "") -> Row:
    """The row of a name, or of `py` and its target; a SpecError for an unknown name offers the nearest one.

    A `py:` module may be in the working folder, as for `python -m`.
    """
    if name == "py":
        return _from_module(kind, target)
    named = known(kind, name)
    if named is None and (instead := GONE.get((kind, name))):
        raise SpecError(f"{kind} {name} was removed; choose {instead}")
    if named is None:
        names = [*(row.name for row in rows(kind)), *_entry_points(kind), "py"]
        raise SpecError(nearest(kind, name, names, listed_by=f"repoeval-bench list {plural(kind)}"))
    return named


def is_parallel(spec: str) -> bool:
    """Return whether a chunker may cut in several processes."""
    row = known_or_none("chunker", Spec.parse(spec).name)
    return row is not None and row.parallel


def is_outside(kind: str, spec: str) -> bool:
    """Return whether a spec names a module, a program or a plug-in: code that may change while the spec stays."""
    parsed = Spec.parse(spec)
    if parsed.name in {"py", "exec"} or parsed.target.startswith("py:"):
        return True
    row = known(kind, parsed.name)
    return row is not None and bool(row.origin)


def choose(kind: str, spec: str | Spec) -> ResolvedSpec:
    """Resolve a spec: find the part, check its options and fill in their defaults; nothing is made.

    A SpecError says in one sentence what does not exist, is missing or is not possible.
    """
    parsed = Spec.parse(spec) if isinstance(spec, str) else spec
    row = find(kind, parsed.name, parsed.target)
    if row.name != "py":
        _check_target(kind, row, parsed.target)
    inner_row = _inner(row.inner, parsed.target) if row.inner else None
    own = dict(row.parameters())
    owner = f"{kind} {parsed.name}" + (f":{parsed.target}" if row.name == "py" else "")
    values = read_options(owner, parsed.params, {**own, **(inner_row.parameters() if inner_row else {})})
    own_values = tuple((key, value) for key, value in values.items() if key in own)
    inner = None
    if inner_row:
        others = tuple((key, value) for key, value in values.items() if key not in own)
        inner = ResolvedSpec(kind=row.inner, row=inner_row, target=parsed.target, values=others)
    return ResolvedSpec(kind=kind, row=row, target=parsed.target, values=own_values, inner=inner)


def _check_target(kind: str, row: Row, target: str) -> None:
    if target and not row.target:
        raise SpecError(f"{kind} {row.name} takes no name; {target!r} is not key=value")
    if row.target and not target and not row.target.startswith("["):
        example = (
            " or ".join(f"{row.name}:{inner.name}" for inner in rows(row.inner))
            if row.inner
            else f"{row.name}:{row.target}"
        )
        raise SpecError(f"{kind} {row.name} names no {row.target.lower()}; write {example}")


def _inner(kind: str, target: str) -> Row:
    """The row of a part inside another: `py:…`, a name, or else the row that takes any name."""
    if target.startswith("py:"):
        return _from_module(kind, target.removeprefix("py:"))
    return known(kind, target) or next(row for row in rows(kind) if row.target == row.name)


def load(where: str) -> Any:
    """Import what `module:Name` names."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)


def _entry_points(kind: str) -> Mapping[str, EntryPoint]:
    return entry_points(KINDS[kind].group)


def _of_leaf(kind: str, point: EntryPoint) -> Row | None:
    """Return the row of a leaf; None if its folder was deleted, or if it is not a row."""
    try:
        row = _plug_in(kind, point)
    except SpecError:
        return None
    return None if row.origin else row


def _plug_in(kind: str, point: EntryPoint) -> Row:
    loaded = load_point(point)
    if isinstance(loaded, Row):
        return loaded if is_shipped(point) else replace(loaded, origin=package_of(point))
    return _row(kind, point.name, loaded, where=point.value.replace(" ", ""), origin=package_of(point))


def _search_working_folder() -> None:
    if os.getcwd() not in sys.path and "" not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(os.getcwd())  # noqa: PTH109


def _from_module(kind: str, target: str) -> Row:
    name, _, attribute = target.partition(":")
    _search_working_folder()
    named = f"{kind} py:{target}: module {name!r}"
    way_out = "run from the folder that holds it, or install it"
    with others_errors_as(lambda reason: SpecError(f"{named} cannot be imported ({reason}); {way_out}")):
        module = import_module(name)
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise SpecError(f"{kind} py:{target}: {nearest(f'name in {name}', attribute, names)}")
    return _row(kind, "py", getattr(module, attribute), where=target, origin=f"module {name}")


def _row(kind: str, name: str, loaded: Any, *, where: str, origin: str) -> Row:
    """The row of a part from outside; SpecError if it cannot be one of this kind."""
    data = KINDS[kind].data
    if data:
        if not isinstance(loaded, load(data)):
            expected = data.replace(":", ".")
            raise SpecError(f"{kind} {where} is a {type(loaded).__name__}; {_a(kind)} is a {expected}")
        return Row(name=name, meaning=loaded.meaning, where=where, origin=origin)
    if not callable(loaded):
        raise SpecError(f"{kind} {where} is a {type(loaded).__name__}; name a class, or a function that makes one")
    gives = KINDS[kind].gives
    taken = (*gives, KINDS[kind].called_with) if is_part(KINDS[kind], loaded) else gives
    return Row(
        name=name,
        meaning=(inspect.getdoc(loaded) or "no description").partition("\n")[0],
        where=where,
        options=options_of(loaded, taken),
        needs=frozenset(gives) & inspect.signature(loaded).parameters.keys(),
        origin=origin,
    )


def is_part(kind: Kind, loaded: object) -> bool:
    """Return whether a function is a part itself, such as one that cuts a file, and not one that makes a part."""
    if not kind.called_with or not inspect.isfunction(loaded):
        return False
    parameter = inspect.signature(loaded).parameters.get(kind.called_with)
    return parameter is not None and parameter.default is parameter.empty


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
