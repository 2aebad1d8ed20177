"""The one interface of a language: what `by_name` asks about its names, its imports and its types.

A language is a subclass of `LanguageRules` in a file of its own under `languages/`. What it does not say is as it is in
most languages. Languages whose files name each other's definitions, such as C and C++, are one family with one file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition
    from repoeval_bench.core.uses import Kind
    from repoeval_bench.references.imports import Import, Imports
    from repoeval_bench.references.resolved_name import Reason
    from repoeval_bench.references.steps import Steps

Located = tuple[str, "Definition"]
"""A definition with the path of its file."""

NOWHERE = LineSpan(0, 0)
"""No lines: a name is looked up for a whole file."""


class Names(Protocol):
    """The interface by which languages and types ask for a repository's names; `visible_names` answers."""

    imports: Imports
    steps: Steps

    def rules(self, path: str) -> LanguageRules:
        """Return the rules of a file's language."""

    def fitting(self, matches: Sequence[Located], arguments: int | None) -> Sequence[Located]:
        """Return what a call with this number of arguments can be for; all of them where that leaves none."""

    def text(self, path: str) -> str:
        """Return the text of a file."""

    def defined(self, path: str) -> Sequence[Definition]:
        """Return what a file defines, in its order."""

    def of_name(self, path: str, name: str) -> Sequence[Located]:
        """Return all definitions of a name in the family of a file."""

    def bare(self, path: str, lines: LineSpan, name: str) -> tuple[Sequence[Located], Reason | None]:
        """Return what a name alone means on some lines of a file, locals aside, or why there is nothing."""

    def in_files(self, path: str, files: Sequence[str], name: str) -> list[Located]:
        """Return what files define under a name at their top, or give on from others, as the file `path` sees it."""

    def members_of(self, path: str, qualified: str, name: str) -> list[Located]:
        """Return the members of that name of a class as a file sees it, or of its bases."""

    def types(self, path: str, steps: Sequence[str]) -> tuple[Sequence[Located], Reason | None]:
        """Return the types that a name means whose parts are `steps`, or why there is none."""

    def of_module(self, path: str, steps: Sequence[str], name: str) -> tuple[Sequence[Located], Reason | None]:
        """Return what a name of a module means; nothing where the steps are not those of one."""

    def of_type(self, path: str, type_name: str, name: str) -> Sequence[Located]:
        """Return the member of the class that a file calls so."""

    def members(self, path: str, classes: Iterable[Located], name: str) -> Sequence[Located]:
        """Return the members of that name of the first class that has one."""

    def of_namespaces(self, path: str, steps: Sequence[str]) -> bool:
        """Return whether all steps are namespaces of the files of a file's family."""


@dataclass(frozen=True, kw_only=True)
class NodeKinds:
    """Syntax nodes of a language, by what they mean to names and types."""

    dotted: Sequence[str] = ()
    """They look a name up in something."""
    calls: Sequence[str] = ()
    creations: Sequence[str] = ()
    """They make a value of a type that they name."""
    casts: Sequence[str] = ()
    same: Sequence[str] = ()
    """Their type is that of what is inside, pointers and references being those of what they lead to."""
    items: Sequence[str] = ()
    literals: Sequence[str] = ()
    collections: Sequence[str] = ()
    classes: Sequence[str] = ()
    generic: Sequence[str] = ()
    wraps: Sequence[str] = ()
    """Types that are another type, but for pointers and similar wrappers."""
    opened: Sequence[str] = ()
    """They hold bindings for what is around them: parameters, conditions, declarations."""
    around: Sequence[str] = ()
    """They bind a name for what is in themselves."""
    untyped: Sequence[str] = ()
    declarators: Sequence[str] = ()
    patterns: Sequence[str] = ()
    """They are what is inside, as patterns."""
    groups: Sequence[str] = ()
    """Declarations around the one that has the name."""
    aliases: Sequence[str] = ()
    binds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Nodes that bind a name in a function -> the fields that hold the name."""


class LanguageRules:
    """Rules of names in most languages; a language overrides what it says otherwise."""

    common: ClassVar[frozenset[str]] = frozenset()
    """Methods of the language's own types with compound names: a call of one says nothing of the repository's."""
    nodes: ClassVar[NodeKinds] = NodeKinds()
    """The nodes of its grammars; of none where types are not read off as they are declared."""
    own: ClassVar[frozenset[str]] = frozenset()
    """Names of an object and of its class from inside."""
    above: ClassVar[frozenset[str]] = frozenset()
    """Those of `own` that mean the bases alone."""
    open_objects: ClassVar[frozenset[str]] = frozenset()
    """Kinds of objects that may be given members that no class declares."""
    standard: ClassVar[tuple[str, ...]] = ()
    """Name of the standard library where a name is looked up in it."""
    pointers: ClassVar[frozenset[str]] = frozenset()
    """Types that have the members of what is inside."""
    makers: ClassVar[frozenset[str]] = frozenset()
    """Built-in functions that give what their first argument says."""
    kinds: ClassVar[Mapping[bool, frozenset[Kind]]] = {}
    """True for a name that is looked up in something -> the kinds that it can be of by its name alone; else all."""
    never_local: ClassVar[frozenset[str]] = frozenset()
    """Syntax nodes whose names are those of types, so that no local is meant."""
    only_called: ClassVar[frozenset[str]] = frozenset()
    """Forms of definitions that a name alone does not mean: in Rust a macro is called by `!`."""

    apart: ClassVar[bool] = False
    """True where `python_names` resolves the names of its files."""
    scripted: ClassVar[bool] = False
    """True where types are read off as of JavaScript, by what a place expects, and not as they are declared."""
    implicit_members: ClassVar[bool] = False
    """True where members are named without their object, and no constructor has another name than its class."""
    calls_no_local: ClassVar[bool] = False
    """True where what is called is never a local."""
    overloads: ClassVar[bool] = False
    """True where a class has several methods of one name."""
    inner_types: ClassVar[bool] = False
    """True where a class in a class is looked up in that."""
    namespaces: ClassVar[bool] = False
    """True where names are looked up in namespaces, which say nothing of files."""
    sees_all: ClassVar[bool] = False
    """True where a file sees what all files define."""
    include_depth: ClassVar[int] = 1
    """Depth to which whole imports are followed."""
    gives_on: ClassVar[bool] = True
    """True where a file can give on what it imports as its own."""
    pointer_items: ClassVar[bool] = False
    """True where an element is taken of what a pointer leads to."""
    initializes_own: ClassVar[bool] = False
    """True where an initializer of a field is in the constructor of its class."""
    one_definition: ClassVar[bool] = False
    """True where a method that several types define under one name is none of them."""
    hoists_enumerators: ClassVar[bool] = False
    """True where what an enumeration lists is named without it, too."""
    outside_unless_found: ClassVar[bool] = False
    """True where a type that no file has is from outside."""
    embeds: ClassVar[bool] = False
    """True where a type has the members of the types that it embeds."""

    def imports(self, files: Imports, path: str, text: str) -> Iterable[Import]:
        """Read what a file imports; nothing unless the language says so."""
        return ()

    def beside(self, files: Imports, path: str) -> Sequence[str]:
        """Return the files whose definitions a file sees without an import; none unless the language says so."""
        return ()

    def given(self, names: Names, imported: Import) -> list[Located] | None:
        """Return what is imported where its name says more than a file's top has; None where it does not."""
        return None

    def given_last(self, names: Names, imported: Import) -> list[Located]:
        """Return what is imported where no file has its name at the top."""
        return []

    def of_module(
        self,
        names: Names,
        path: str,
        steps: Sequence[str],
        name: str,
    ) -> tuple[Sequence[Located], Reason | None] | None:
        """Return what a name of a module means; None where imports say it."""
        return None

    def in_path(self, names: Names, path: str, steps: Sequence[str]) -> Sequence[Located]:
        """Return the types of a path of modules that no import names."""
        return ()

    def is_here(self, names: Names, path: str, steps: Sequence[str]) -> bool:
        """Return whether what a type's name is looked up in may be of these files."""
        return True

    def looked_up(
        self,
        names: Names,
        path: str,
        steps: Sequence[str],
        name: str,
    ) -> tuple[Sequence[Located], Reason | None] | None:
        """Return what a name is of the module or type before it; None if it is resolved as a member of any receiver."""
        return None

    def members(
        self,
        names: Names,
        path: str,
        qualified: str,
        matches: list[Located],
    ) -> list[Located]:
        """Return the members of a qualified name, given those that the files have that are seen."""
        return matches

    def is_fit(self, parsed: Definition, arguments: int | None) -> bool:
        """Return whether a definition can be what is called, or not called where `arguments` is None."""
        return True

    def may_take(self, signature: str, arguments: int) -> bool:
        """Return whether a signature can be called with this number of arguments though it names another one."""
        return False

    def decides_alone(self, name_in: str, defined_in: str) -> bool:
        """Return whether a file's name alone can mean a definition of another file."""
        return True

    def best(self, matches: Sequence[Located], of_trait: Collection[int]) -> Located | None:
        """Return the one of several definitions of one qualified name in one file; None where it may be any."""
        return matches[0]


def parameters_of(signature: str) -> Sequence[str]:
    """Return the parameters of a signature, without what is in their brackets."""
    inside = re.search(r"\((.*)\)", signature, re.DOTALL)
    text = inside[1].strip() if inside else ""
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", text)) != text:
        text = shorter
    return [part.strip() for part in text.split(",")] if text and text != "void" else []
