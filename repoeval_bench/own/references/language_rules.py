"""The interface of a language: its rules of names, imports and types, which `by_name` follows.

A language is a subclass of `LanguageRules` in a file of its own under `languages/`, with a table of its fields beside
it. What neither says is as in most languages. Languages whose files use each other's definitions, such as C and C++,
are one family with one file.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse
from repoeval_bench.own.references.binding_forms import BindingForms
from repoeval_bench.own.references.tree_names import Reason, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition


Located = tuple[str, "Definition"]
"""A definition with the path of its file."""

Answer = tuple[Sequence[Located], Reason | None]
"""The definitions of a name, or the reason for none."""

CALLED = ("function", "method")
"""The kinds of definitions with parameters."""

NOWHERE = LineSpan(0, 0)
"""No lines: a name is looked up for a whole file."""


class Names(Protocol):
    """The names of a repository, as languages and types look them up; `visible_names` implements this."""

    imports: Imports

    def rules(self, path: str) -> LanguageRules:
        """Return the rules of a file's language."""

    def fitting(self, matches: Sequence[Located], arguments: int | None) -> Sequence[Located]:
        """Return the definitions that a call with this number of arguments can mean; all of them if none fits."""

    def of_name(self, path: str, name: str) -> Sequence[Located]:
        """Return all definitions of a name in the language family of a file."""

    def bare(self, path: str, lines: LineSpan, name: str) -> Answer:
        """Return the definitions of a name without a receiver on some lines, locals aside, or the reason for none."""

    def in_files(self, path: str, files: Sequence[str], name: str, within: tuple[str, ...] = ()) -> list[Located]:
        """Return the definitions of a name at the top level of files as `path` sees them, re-exports included."""

    def free(self, path: str, lines: LineSpan, name: str) -> Answer:
        """Return the same for a name that is no member of a class around; in all namespaces if there are no lines."""

    def types(self, path: str, lines: LineSpan, parts: Sequence[str]) -> Answer:
        """Return the types that a qualified name with these `parts` means on some lines, or the reason for none."""

    def of_module(self, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer:
        """Return the definitions of a name in the module that `parts` name; nothing if they name no module."""

    def members(self, path: str, classes: Iterable[Located], name: str) -> Sequence[Located]:
        """Return the members of that name of the first class that has one."""

    def hides_namespaces(self, path: str) -> bool:
        """Return whether a syntax error may hide namespaces of a file."""

    def namespaces(self, path: str, lines: LineSpan) -> list[str]:
        """Return the names of the namespaces around some lines of a file, the outermost first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageRules:
    """The rules of names of a language; the defaults are those of most languages.

    Its fields are in a table `languages/FAMILY.yaml`.
    """

    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Role for names and types -> kinds of syntax nodes of its grammars; none where `scripted`.

    - `dotted` nodes look a name up in a receiver, and `creations` create a value of the type that they name;
    - `same` have the type of the expression inside them: a pointer or reference has the type of its target;
    - `wraps` are types with the members of the type inside them, and `untyped` stand for a type that is not written;
    - `patterns` match what the pattern inside them matches, and `groups` are declarations around those with the names;
    - `calls`, `casts`, `items` (subscripts), `literals`, `collections`, `classes`, `generic` types, `declarators` and
      `aliases` are what they say.
    """
    forms: BindingForms = field(default_factory=BindingForms)
    """The forms in which it binds local names."""
    texts: frozenset[str] = frozenset()
    """Nodes of comments and strings: what looks like an import there is none."""
    self_names: frozenset[str] = frozenset()
    """Names of an object and of its class inside the class, such as `this`."""
    super_names: frozenset[str] = frozenset()
    """Those of `self_names` that mean the bases alone."""
    standard: frozenset[str] = frozenset()
    """Names of the standard library as the first part of a qualified name."""
    pointers: frozenset[str] = frozenset()
    """Types that have the members of their type argument, such as smart pointers."""
    flat: frozenset[str] = frozenset()
    """Languages of the family in which code names an inner type without the outer one."""
    only_called: frozenset[str] = frozenset()
    """Forms of definitions that a name without a call does not mean: in Rust a macro is called with `!`."""

    scripted: bool = False
    """True where `script_types` infers the types, which uses the type that the code around an expression expects."""
    implicit_members: bool = False
    """True where code names members without a receiver, and each constructor has the name of its class."""
    types_apart: bool = False
    """True where a type and a value may have one name."""
    overloads: bool = False
    """True where several functions or methods have one name, and a call means that with its parameters."""
    arities: bool = False
    """True where types of one name may differ in their number of type parameters."""
    calls_apart: bool = False
    """True where a field and a method may have one name, and only a call means the method."""
    namespaces: bool = False
    """True where namespaces qualify names and do not tell in which files these are."""
    sees_all: bool = False
    """True where a file sees what all files define."""
    include_depth: int = 1
    """Depth to which imports of all names of a file are followed."""
    re_exports: bool = True
    """True where a file can export what it imports."""
    pointer_items: bool = False
    """True where a subscript of a pointer has the type of the pointer's target."""
    optional_items: bool = False
    """True where a method that returns an item of a collection returns it in an optional value."""
    outside_unless_found: bool = False
    """True where a type that no file defines is from outside the repository."""
    embeds: bool = False
    """True where a type has the members of the types that it embeds."""

    def space_of(self, node: Node) -> str:
        """Return the space that a name is looked up in: that of a type, value or method, or any."""
        return ("type" if node.type == "type_identifier" else "value") if self.types_apart else "any"

    def refers(self, node: Node, name: Node) -> bool:
        """Return whether a name that a node may bind refers to a definition."""
        return False

    def qualifier(self, path: str, receiver: Node) -> str:
        """Return the text of a receiver; a path that begins at the file's own place begins at the outermost one."""
        return text_of(receiver)

    def opens(self, scope: Node) -> bool:
        """Return whether the bindings of a scope also hold after it."""
        return False

    def imports(self, files: Imports, path: str, text: str) -> Iterable[Import]:
        """Read the imports of a file; none by default."""
        return ()

    def beside(self, files: Imports, path: str) -> Sequence[str]:
        """Return the files whose definitions a file sees without an import; none by default."""
        return ()

    def is_seen(self, names: Names, path: str, parsed: Definition) -> bool:
        """Return whether other files see a definition at the top level of a file."""
        return True

    def spaces(self, names: Names, path: str, lines: LineSpan, name: str) -> Iterator[Collection[tuple[str, ...]]]:
        """Yield the namespaces in which a name is looked up on some lines, the nearest first; none: in all of them."""
        return iter(())

    def imported_member(self, names: Names, imported: Import) -> list[Located] | None:
        """Return the definitions that an import names inside a class; None if it names one at the top level."""
        return None

    def opened(self, names: Names, path: str) -> Sequence[Located]:
        """Return the classes whose members a file names without a receiver; none by default."""
        return ()

    def plain_space(self, files: Imports, around: list[str]) -> list[str]:
        """Return the names of namespaces without those that code leaves out."""
        return around

    def of_module(self, names: Names, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer | None:
        """Return the definitions of a type's name in a module; None to follow the imports of the file."""
        return None

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the members of a qualified name; `matches` are those in the files that `path` sees."""
        return matches

    def sure(self, matches: Sequence[Located]) -> Sequence[Located]:
        """Return what a name means whichever of several definitions a build takes; all that it may mean by default."""
        return matches


_MODIFIERS = frozenset({"final", "const", "ref", "in", "out", "params", "this", "struct"})
_REST = re.compile(r"(^|\W)params\s|\.\.\.")


def parameters_of(parsed: Definition) -> str:
    """Return the parameters of a function as its file writes them."""
    named = re.search(rf"(?<!\w){re.escape(parsed.name)}\s*(?:<[^()]*>)?\s*\(", parsed.signature)
    start, depth = (named.end() if named else parsed.signature.find("(") + 1), 1
    for place in range(start, len(parsed.signature) if start else 0):
        depth += {"(": 1, ")": -1}.get(parsed.signature[place], 0)
        if not depth:
            return parsed.signature[start:place]
    return ""


def may_take(parsed: Definition, arguments: int | None) -> bool:
    """Return whether a call of a definition can have this number of arguments, by default values or as a list too."""
    parameters = [part for part in _listed(parsed) if part not in ("", "void") and not part.startswith("this ")]
    open_ended = any(_REST.search(parameter) for parameter in parameters)
    needed = sum(1 for parameter in parameters if "=" not in parameter and not _REST.search(parameter))
    takes = arguments is None or needed <= arguments <= (arguments if open_ended else len(parameters))
    return takes or parsed.kind not in CALLED


def _listed(parsed: Definition) -> list[str]:
    """Return the parameters of a function without what is in brackets."""
    text = parameters_of(parsed).replace("->", "").replace("=>", "")
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", text)) != text:
        text = shorter
    return [part.strip() for part in text.split(",")]


def types_of(parsed: Definition) -> tuple[str, ...]:
    """Return the plain types of a function's parameters."""
    named = (re.findall(r"[\w:.]+", re.sub(r"=.*|@\w+", "", parameter)) for parameter in _listed(parsed))
    listed = ([word for word in words if word not in _MODIFIERS] for words in named)
    return tuple(plain_type(words[-2] if words[1:] else "".join(words)) for words in listed)


def plain_type(name: str) -> str:
    """Return the name of a type without its scope, with one name for each built-in type."""
    own = re.split(r"::|\.", name)[-1]
    return {"String": "string", "boolean": "bool"}.get(own, own)


def are_overloads(one: Definition, other: Definition) -> bool:
    """Return whether the parameters of two functions of one name have different types."""
    pairs = zip_longest(*(parameters_of(parsed).split(",") for parsed in (one, other)), fillvalue="void")
    return not all(_without_name(left) & _without_name(right) for left, right in pairs)


def _without_name(parameter: str) -> set[tuple[str, ...]]:
    """Return the words of a parameter, with and without the last one, which may be its name."""
    text = re.sub(r"\w+\s*::", "", parameter.partition("=")[0])
    words = tuple(word for word in re.findall(r"\w+|[^\w\s]", text) if word not in ("final", "struct"))
    return {words or ("void",), words[:-1]} if words[1:] and words[-1].isidentifier() else {words or ("void",)}


EVERY = "*"
"""Stands for all names of a module."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Import:
    """An import of a file: `name` is bound to the name `original` of `files`, or to the module if that is None.

    With None, a use `name.member` means a definition at the top of `files`.

    It has no files if it is from outside the repository. `exported`: other files can import the name from this file.
    `name` may be `EVERY`. `within` is the module inside the files. `line`: it holds in the module and function around
    that line alone.
    """

    name: str
    original: str | None
    files: tuple[str, ...]
    exported: bool = False
    _: KW_ONLY
    within: tuple[str, ...] = ()
    line: int | None = None


class Imports:
    """The imports of each file of a repository, read on first use by the rules that `rules_of` returns for its path.

    `files` is path -> file, and `others` the same for files that are no code. `folders` is folder -> the paths in it,
    `tails` is file name -> the paths that end in it. `namespaces` returns those around some lines of a file.
    """

    def __init__(
        self,
        files: Mapping[str, SourceFile],
        others: Mapping[str, SourceFile],
        rules_of: Callable[[str], LanguageRules],
        namespaces: Callable[[str, LineSpan], Sequence[str]],
    ) -> None:
        self.files, self.others, self.namespaces = files, others, namespaces
        self.folders: dict[str, list[str]] = defaultdict(list)
        self.tails: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self.folders[posixpath.dirname(path)].append(path)
            self.tails[posixpath.basename(path)].append(path)
        self.rules_of = rules_of
        self._once: dict[Hashable, Any] = {}

    def of(self, path: str) -> tuple[Import, ...]:
        """Return the imports of a file."""
        rules = self.rules_of(path)
        return self.once(
            ("imports", path), lambda: tuple(rules.imports(self, path, _code(self.files[path], rules.texts)))
        )

    def once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Return the result of `read`, which is called once for each key."""
        if key not in self._once:
            self._once[key] = read()
        value: _T = self._once[key]
        return value


def _code(file: SourceFile, texts: frozenset[str]) -> str:
    """Return a file's text with blanks for comments, and for strings of several words, which name no module."""
    language = language_of(file.path, file.text)
    if language is None or not texts:
        return file.text
    parsed = parse(file, language)
    begin, code = parsed.root.start_byte, bytearray(parsed.root.text or b"")
    for match in parsed.matches(f"[{' '.join(f'({kind})' for kind in sorted(texts))}] @text"):
        (node,) = match["text"]
        start, end = node.start_byte - begin, node.end_byte - begin
        if "comment" in node.type or len(code[start:end].split()) > 1:
            code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    return code.decode("utf-8", "replace")
