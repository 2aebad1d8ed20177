"""The registry of parts: chunkers, embedders, retrievers, rerankers, protocols and measures.

A part registers itself where it stands, with its facts: `@CHUNKERS.register(parallel=True)` above a class. A part from
outside is named by `py:module:Name`, or by an entry point in the group of its kind, such as `repoeval_bench.chunkers`;
it need not be registered. `choose` parses and checks the spec of either, and `make` makes the part.

docs/api.md has the interface of a part from outside. A measure is a `MeasureDefinition`, and a protocol a `Protocol`.
The others are classes, or functions that make the part. They are called with keywords. A parameter whose name the kind
gives receives the material of the part, such as a retriever's `chunks` (repository -> its chunks). Every other
parameter is an option, read by its annotation or default (`core.fields`).
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from repoeval_bench.core.errors import SpecError, nearest, others_errors_as
from repoeval_bench.core.extras import require
from repoeval_bench.core.fields import Option, options_of, parameters_of, read_options
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.core.words import plural

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


def entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, in the order of their names; one of this package comes first."""
    return _points(group, tuple(sys.path))


@lru_cache(maxsize=32)
def _points(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - packages come with the path
    from importlib.metadata import entry_points as installed  # reads every package: only when a name is not ours

    named = {point.name: point for point in sorted(installed(group=group), key=is_shipped)}
    return dict(sorted(named.items()))


def is_shipped(point: EntryPoint) -> bool:
    """Return whether an entry point is one of this package."""
    return point.dist is not None and _name_and_version(point.dist)[0] == "repoeval-bench"


def extension(group: str, name: str) -> Any:
    """Import what an entry point names; None if no package has one of this name, SpecError if the import fails."""
    point = entry_points(group).get(name)
    return None if point is None else load_point(point)


def load_point(point: EntryPoint) -> Any:
    """Import what an entry point names; SpecError if the import fails."""
    named = f"plug-in {point.name!r} of {package_of(point)}"
    way_out = "repair or remove the package"
    with others_errors_as(lambda reason: SpecError(f"{named} cannot be imported ({reason}); {way_out}")):
        return point.load()


def package_of(point: EntryPoint) -> str:
    """Return the name and version of the package that has an entry point."""
    return " ".join(_name_and_version(point.dist)) if point.dist else "another package"


@lru_cache(maxsize=256)
def _name_and_version(package: Distribution) -> tuple[str, str]:
    metadata = package.metadata  # each look at it parses the file again
    return metadata["Name"], metadata["Version"]


GONE: Mapping[tuple[str, str], str] = {
    ("protocol", "prose"): "commits",
    ("command", "add"): "repoeval-bench verify",
    ("command", "explain"): "repoeval-bench list KIND NAME",
    ("command", "stability"): "python scripts/churn.py",
    ("protocol", "linemap"): "code-chunk",
    ("chunker", "blocks"): "functions",
    ("chunker", "least-nested"): "ast",
    ("chunker", "early-split"): "fixed",
    ("chunker", "half-overlap"): "window",
    ("chunker", "fixed-tokens"): "fixed:max_tokens=254",
}
"""Kind and name of a part or command that this release removes -> the one to choose instead."""

# Kind and name of a class of another library -> the part that calls it.
_CALLED: Mapping[tuple[str, str], str] = {
    ("chunker", "RecursiveCharacterTextSplitter"): "langchain",
    ("chunker", "CodeSplitter"): "llama-index",
    ("chunker", "CodeChunker"): "chonkie",
    ("chunker", "PythonCodeSplitter"): "haystack",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part as it is registered: its name and the facts that every kind has."""

    name: str
    meaning: str
    """One line for lists."""
    part: Any = None
    """The class or function that makes the part; the part itself if it is data; None if it cannot be imported."""
    target: str = ""
    """The word after the name, as MODEL in `st:MODEL`; in brackets if it may be left out."""
    inner: Kind[Any] | None = None
    """The kind of part that the target names, whose options the spec may give too."""
    options: Any = None
    """The class whose fields are its options, if they are not its own parameters."""
    requires: tuple[str, ...] = ()
    """Packages that only an extra installs."""
    aliases: tuple[str, ...] = ()
    """Other names."""
    origin: str = ""
    """The package of a part from outside, "" for one of this package."""

    @property
    def label(self) -> str:
        """The name as a list prints it, with its target if one is required."""
        needed = self.target and not self.target.startswith("[") and self.target != self.name
        return f"{self.name}:{self.target}" if needed else self.name

    @property
    def where(self) -> str:
        """`module:Name` of the part."""
        return f"{self.part.__module__}:{self.part.__qualname__}"


R = TypeVar("R", bound=Row)
Part = TypeVar("Part")


@dataclass(eq=False, repr=False)
class Kind(Generic[R]):
    """One kind of part. Iterating over it gives the rows of this package's parts: those of its room, and of leaves.

    `package` is its room, `row` the class of its rows, with the facts that only this kind has. `gives` are the
    parameters that are not options. `offers` are the attributes that a part from outside must have; `data` is the class
    of a part that is an object and needs no call. `wrapper` completes a part from outside: it is called with the part
    and its `ResolvedSpec`. A function with the parameter `called_with` is a part itself, and its other parameters are
    options. Any other callable makes a part, which may be callable itself. `shown` describes the interface in an error
    message.
    """

    name: str
    package: str
    row: type[R]
    _: KW_ONLY
    gives: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    data: type | None = None
    wrapper: Callable[[Any, ResolvedSpec], Any] | None = None
    called_with: str = ""
    shown: str = ""
    _walked: bool = field(default=False, init=False)
    # Each row, and the module that registers it.
    _registered: list[tuple[R, str]] = field(default_factory=list, init=False)

    @property
    def group(self) -> str:
        """The group of its entry points."""
        return f"repoeval_bench.{self.name}s"

    def register(self, *, name: str = "", meaning: str = "", **facts: Any) -> Callable[[Part], Part]:
        """Register the class or function below with its facts, which are other fields of the kind's row.

        Its name is its attribute `name`, or else that of its file. Its meaning is the first line of its docstring.
        """

        def decorate(part: Part) -> Part:
            own: Any = part
            named = name or getattr(own, "name", "") or own.__module__.rpartition(".")[2].replace("_", "-")
            self.add(self.row(name=named, meaning=meaning or _first_line(own), part=part, **facts), own.__module__)
            return part

        return decorate

    def add(self, row: R, module: str) -> None:
        """Register the row of a part of a module."""
        self._registered.append((row, module))

    def __iter__(self) -> Iterator[R]:
        self._walk()
        yield from self._of_room().values()
        yield from (row for row in self._of_packages() if not row.origin)

    def plug_ins(self) -> list[R]:
        """The parts in other packages, by name; the meaning of one that cannot be imported says why."""
        return [row for row in self._of_packages() if row.origin]

    def _of_packages(self) -> Iterator[R]:
        for point in entry_points(self.group).values():
            try:
                yield self._plug_in(point)
            except SpecError as error:
                yield self.row(name=point.name, meaning=str(error), origin=package_of(point))

    def _walk(self) -> None:
        """Import the files of the room once, so that its parts are registered."""
        if not self._walked:
            for module in iter_modules(import_module(self.package).__path__, f"{self.package}."):
                if not module.ispkg and not module.name.rpartition(".")[2].startswith("_"):
                    import_module(module.name)
            self._walked = True

    def _of_room(self) -> dict[str, R]:
        """Name -> row of the parts of the room whose modules are imported; of a reloaded one, the last."""
        inside = f"{self.package}."
        return {row.name: row for row, module in self._registered if module.startswith(inside)}

    def known(self, name: str) -> R | None:
        """The row of a name or alias, from the room or another package; None if there is none."""
        # The file with a part's name holds it; a walk finds those in other files.
        file = f"{self.package}.{name.replace('-', '_')}"
        if not self._walked and file.rpartition(".")[2].isidentifier() and find_spec(file):
            import_module(file)
        if (row := self._in_room(name)) is None:
            self._walk()
            row = self._in_room(name)
        if row is None and (point := entry_points(self.group).get(name)):
            return self._plug_in(point)
        return row

    def _in_room(self, name: str) -> R | None:
        return next((row for row in self._of_room().values() if name in (row.name, *row.aliases)), None)

    def find(self, name: str, target: str = "") -> R:
        """The row of a name, or of `py` and its target; a SpecError for an unknown name offers the nearest one."""
        if name == "py":
            return self._from_module(target)
        named = self.known(name)
        if named is None and (instead := GONE.get((self.name, name))):
            raise SpecError(f"{self.name} {name} was removed; choose {instead}")
        if named is None:
            if caller := _CALLED.get((self.name, name)):
                raise SpecError(f"unknown {self.name} {name!r}; choose {caller}, which calls it")
            names = [*(row.name for row in self), *entry_points(self.group), "py"]
            raise SpecError(nearest(self.name, name, names, listed_by=f"repoeval-bench list {plural(self.name)}"))
        return named

    def is_outside(self, spec: str) -> bool:
        """Return whether a spec names a module, a program or a plug-in."""
        # Such code may change while the spec stays.
        parsed = Spec.parse(spec)
        if parsed.name in {"py", "exec"} or parsed.target.startswith("py:"):
            return True
        row = self.known(parsed.name)
        return row is not None and bool(row.origin)

    def options(self, row: R) -> Mapping[str, Option]:
        """The options of a part by name."""
        if row.part is None or self.data:
            return {}
        called_with = [self.called_with] if self.is_part(row.part) else []
        gives = frozenset([*self.gives, *called_with, row.target.strip("[]").lower()])
        return options_of(row.options or row.part, gives)

    def choose(self, spec: str | Spec) -> ResolvedSpec:
        """Resolve a spec: find the part, check its options and fill in their defaults; nothing is made.

        A SpecError says in one sentence what does not exist, is missing or is not possible.
        """
        parsed = Spec.parse(spec) if isinstance(spec, str) else spec
        row = self.find(parsed.name, parsed.target)
        if row.name != "py":
            self._check_target(row, parsed.target)
        own = self.options(row)
        chosen = row.inner.inside(parsed.target) if row.inner else None
        others = row.inner.options(chosen) if row.inner else {}
        owner = f"{self.name} {parsed.name}" + (f":{parsed.target}" if row.name == "py" else "")
        values = read_options(owner, parsed.params, {**own, **others})
        inner = None
        if row.inner:
            of_inner = {key: value for key, value in values.items() if key not in own}
            inner = ResolvedSpec(kind=row.inner, row=chosen, target=parsed.target, options=of_inner)
        own_values = {key: value for key, value in values.items() if key in own}
        return ResolvedSpec(kind=self, row=row, target=parsed.target, options=own_values, inner=inner)

    def inside(self, target: str) -> R:
        """The row of a part inside another: `py:…`, a name, or else the row that takes any name."""
        if target.startswith("py:"):
            return self._from_module(target.removeprefix("py:"))
        return self.known(target) or next(row for row in self if row.target == row.name)

    def is_part(self, loaded: object) -> bool:
        """Return whether a function is a part itself, such as one that cuts a file, and not one that makes a part."""
        if not self.called_with or not inspect.isfunction(loaded):
            return False
        parameter = parameters_of(loaded).get(self.called_with)
        return parameter is not None and parameter.default is parameter.empty

    def _check_target(self, row: R, target: str) -> None:
        if target and not row.target:
            raise SpecError(f"{self.name} {row.name} takes no name; {target!r} is not key=value")
        if row.target and not target and not row.target.startswith("["):
            names = [inner.name for inner in row.inner] if row.inner else [row.target]
            example = " or ".join(f"{row.name}:{name}" for name in names)
            raise SpecError(f"{self.name} {row.name} names no {row.target.lower()}; write {example}")

    def _plug_in(self, point: EntryPoint) -> R:
        loaded, where = load_point(point), point.value.replace(" ", "")
        row = self._row(point.name, loaded, where, package_of(point))
        return replace(row, origin="") if is_shipped(point) and self._registration(loaded) else row

    def _from_module(self, target: str) -> R:
        name, _, attribute = target.partition(":")
        # The module may be in the working folder, as for `python -m`.
        if (here := os.getcwd()) not in sys.path and "" not in sys.path:  # noqa: PTH109 - sys.path holds strings
            sys.path.append(here)
        named = f"{self.name} py:{target}: module {name!r}"
        way_out = "run from the folder that holds it, or install it"
        with others_errors_as(lambda reason: SpecError(f"{named} cannot be imported ({reason}); {way_out}")):
            module = import_module(name)
        if not hasattr(module, attribute):
            if name == "__main__":
                raise SpecError(
                    f"{self.name} py:{target} is in a script, which no other program can import; move it to a module, "
                    f"name it py:MODULE:{attribute}, and make the run again"
                )
            names = [name for name in vars(module) if not name.startswith("_")]
            raise SpecError(f"{self.name} py:{target}: {nearest(f'name in {name}', attribute, names)}")
        return self._row("py", getattr(module, attribute), target, f"module {name}")

    def _registration(self, loaded: Any) -> R | None:
        return next((row for row, _ in reversed(self._registered) if row.part is loaded), None)

    def _row(self, name: str, loaded: Any, where: str, origin: str) -> R:
        """The row of a part from outside, with its facts if it registers itself; SpecError if it is of another kind."""
        if known := self._registration(loaded):
            return replace(known, name=name, origin=origin)
        given = f"{self.name} {where} is a {type(loaded).__name__}"
        if self.data and not isinstance(loaded, self.data):
            raise SpecError(f"{given}; {_a(self.name)} is a {self.data.__module__}.{self.data.__qualname__}")
        if not self.data and not callable(loaded):
            raise SpecError(f"{given}; name a class, or a function that makes one")
        meaning = getattr(loaded, "meaning", "") if self.data else _first_line(loaded)
        return self.row(name=name, meaning=meaning, part=loaded, origin=origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSpec:
    """A part that a spec names: its row, its target, and every option that has a value."""

    kind: Kind[Any]
    row: Any
    target: str
    options: dict[str, Any]
    inner: ResolvedSpec | None = None

    @property
    def spec(self) -> str:
        """The spec that rebuilds it, every option printed."""
        inner = self.inner.options if self.inner else {}
        return format_spec(self.row.name, self.options | inner, self.target)

    def check_installed(self) -> None:
        """Raise a UsageError if a package is missing that the part, or the one inside it, needs."""
        if packages := (*self.row.requires, *(self.inner.row.requires if self.inner else ())):
            require(f"{self.kind.name} {self.row.name}", *packages)

    def make(self, **material: Any) -> Any:
        """Make the part from those of the materials that it has parameters for.

        UsageError if a package is missing, SpecError if a part from outside fails.
        """
        self.check_installed()
        kind, factory = self.kind, self.row.part
        material |= {"inner": self.inner, self.row.target.strip("[]").lower(): self.target}
        parameters = parameters_of(factory)
        if "spec" in parameters:
            material.setdefault("spec", self.spec)
        arguments = {name: material[name] for name in parameters if name in material}
        if not self.row.origin:
            return factory(**arguments, **self.options)
        with others_errors_as(lambda reason: SpecError(f"{self.spec} cannot be built: {reason}")):
            if kind.is_part(factory):
                part = SimpleNamespace(**dict.fromkeys(kind.offers, partial(factory, **self.options)))
            else:
                part = factory(**arguments, **self.options)
        missing = [name for name in kind.offers if not hasattr(part, name)]
        if missing and kind.called_with and callable(part):
            part, missing = SimpleNamespace(**dict.fromkeys(kind.offers, part)), []
        if missing:
            raise SpecError(f"{self.spec} has no {missing[0]}; {_a(kind.name)} has {kind.shown} (docs/api.md)")
        assert kind.wrapper is not None
        return kind.wrapper(part, self)


def _first_line(part: object) -> str:
    return (inspect.getdoc(part) or "no description").partition("\n")[0]


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
