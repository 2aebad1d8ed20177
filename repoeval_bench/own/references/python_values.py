"""Values of the type inference: classes, instances, routines, collections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.own.references.python_modules import Outside, Package
from repoeval_bench.own.references.python_nodes import DEFINITIONS, inside

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.python_scopes import Scope


@dataclass(frozen=True, slots=True)
class Class:
    """A class itself."""

    scope: Scope


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class; `above`: as `super()` sees it, without the class's own names."""

    scope: Scope
    above: bool = False


@dataclass(frozen=True, slots=True)
class Routine:
    """A function or a bound method; `on` is the class that it was looked up in."""

    scope: Scope
    on: Scope | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """Anything that contains or yields values of a type: a list, a dictionary (its values), a generator."""

    of: Type


Type = Class | Instance | Routine | Items | Package | Outside

WRAPPERS = frozenset(
    {"Optional", "Union", "Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly", "Awaitable"}
)
_HOLDERS = """
list List set Set frozenset FrozenSet tuple Tuple Sequence MutableSequence Iterable Iterator Collection Deque deque
dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Generator AsyncIterator AsyncIterable
AsyncGenerator Counter KeysView ValuesView ItemsView ContextManager AsyncContextManager AbstractContextManager
AbstractAsyncContextManager UserDict UserList Reversible
"""
HOLDERS = frozenset(_HOLDERS.split())
SAME = frozenset({"list", "sorted", "reversed", "set", "tuple", "iter", "frozenset", "filter", "copy", "deepcopy"})
ONE_OF = frozenset({"next", "min", "max", "choice"})
PROPERTIES = frozenset({"property", "cached_property", "lazy_property", "classproperty", "getter", "setter"})


def results(scope: Scope) -> Iterator[Node]:
    """Yield what a function returns or yields, without functions and classes inside it."""
    stack = [*inside(scope.node.child_by_field_name("body"))][::-1]
    while stack:
        node = stack.pop()
        if scope.module.marked(node) and node.type not in DEFINITIONS and node.type != "lambda":
            if node.type in ("return_statement", "yield"):
                yield node
            stack += inside(node)[::-1]


def class_around(scope: Scope) -> Scope | None:
    """Return the scope itself if it is a class, else the innermost class around it; None outside of classes."""
    while scope.kind != "class":
        if scope.parent is None:
            return None
        scope = scope.parent
    return scope
