"""Walk a Python syntax tree and record, scope by scope, which site binds which name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal

from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_scopes import (
    Comprehension,
    Function,
    Imported,
    Module,
    PythonBinding,
    Role,
    Scope,
    last_word,
    parts_of,
)
from repoeval_bench.own.references.python_tree import PythonTree

_Block = tuple[Iterable[ast.stmt], Scope]
"""Statements and the scope that they are in."""

OF_EVERY_OBJECT = frozenset({"__class__", "__dict__"})
"""Attributes that an assignment changes and does not define: every object has them."""


def read_module(file: SourceFile) -> Module | None:
    """Return a file's scopes with their bindings; None if its code is nested too deeply, or without the grammar."""
    try:
        tree = PythonTree(file)
        module = Module(file=file, tree=tree.module, colons=tree.colons, error=tree.error)
        scope = Scope(kind="module", name="", parent=None, node=None, module=module)
        module.scopes[tree.module] = scope
        Binder(module).bind_all(tree.module.body, scope)
    except (GrammarError, RecursionError):
        return None
    return module


class Binder:
    """Fills the scopes of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._statement = LineSpan(0, 0)

    def bind_all(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        """Add the bindings of a block's statements; by a stack, as a chain of `elif` is as deep as it is long."""
        blocks = [self._in_block(statements, scope)]
        while blocks:
            inner = next(blocks[-1], None)
            if inner is None:
                blocks.pop()
            else:
                blocks.append(self._in_block(*inner))

    def _in_block(self, statements: Iterable[ast.stmt], scope: Scope) -> Iterator[_Block]:
        for statement in statements:
            self._statement = LineSpan(statement.lineno - 1, statement.end_lineno or statement.lineno)
            yield from self._bind(statement, scope)

    def _bind(self, node: ast.stmt, scope: Scope) -> Iterator[_Block]:  # noqa: C901, PLR0912 - one branch a kind of statement
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.body, self._open(node, scope)
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.Assign():
                for target in node.targets:
                    self._target(target, "value", node.value, scope)
                self._expression(node.value, scope)
            case ast.AnnAssign():
                self._target(node.target, "type", node.annotation, scope)
                if node.value:
                    self._target(node.target, "value", node.value, scope)
                    self._expression(node.value, scope)
            case ast.For() | ast.AsyncFor():
                self._statement = LineSpan(node.lineno - 1, node.iter.end_lineno or node.lineno)
                self._target(node.target, "item", node.iter, scope)
                self._expression(node.iter, scope)
            case ast.With() | ast.AsyncWith():
                self._statement = LineSpan(node.lineno - 1, node.items[-1].context_expr.end_lineno or node.lineno)
                for item in node.items:
                    self._expression(item.context_expr, scope)
                    if item.optional_vars:
                        self._target(item.optional_vars, "context", item.context_expr, scope)
            case ast.Global():
                scope.declared_in |= dict.fromkeys(node.names, self._module.top)
            case ast.Nonlocal():
                scope.declared_in |= {name: _function_around(scope, name) for name in node.names}
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._expression(child, scope)
        if not isinstance(node, Function | ast.ClassDef):
            yield from self._blocks_of(node, scope)

    def _blocks_of(self, node: ast.stmt, scope: Scope) -> Iterator[_Block]:
        """The blocks of a statement in the order of the file: a `try` body comes before its handlers."""
        for _, parts in ast.iter_fields(node):
            if not isinstance(parts, list):
                continue
            if parts and isinstance(parts[0], ast.stmt):
                yield parts, scope
            for part in parts:
                if isinstance(part, ast.ExceptHandler):
                    if part.name:
                        self._name(part.name, "type" if part.type else "unknown", part.type, scope, part, local=True)
                    yield part.body, scope
                elif isinstance(part, ast.match_case):
                    for inner in ast.walk(part.pattern):
                        if isinstance(inner, ast.MatchAs | ast.MatchStar) and inner.name:
                            self._name(inner.name, "unknown", None, scope, inner, local=True)
                        elif isinstance(inner, ast.MatchMapping) and inner.rest:
                            self._name(inner.rest, "unknown", None, scope, inner, local=True)
                    if part.guard:
                        self._expression(part.guard, scope)
                    yield part.body, scope

    def _open(self, node: Function | ast.ClassDef, scope: Scope) -> Scope:
        self._name(node.name, "value", None, scope, node)
        is_class = isinstance(node, ast.ClassDef)
        inner = self._inside(node, scope, scope.prefix + node.name, "class" if is_class else "function")
        for part, within in parts_of(node, scope):
            if within is scope:
                self._expression(part, scope)
        if not isinstance(node, ast.ClassDef):
            self._parameters(node.args, inner)
        return inner

    def _inside(self, node: ast.AST, scope: Scope, name: str, kind: Literal["class", "function"] = "function") -> Scope:
        inner = Scope(kind=kind, name=name, parent=scope, node=node, module=self._module)
        self._module.scopes[node] = inner
        return inner

    def _parameters(self, parameters: ast.arguments, inner: Scope) -> None:
        around = inner.parent or inner
        positional = [*parameters.posonlyargs, *parameters.args]
        defaults = [*[None] * (len(positional) - len(parameters.defaults)), *parameters.defaults]
        pairs = [*zip(positional, defaults, strict=True)]
        pairs += zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        for argument, default in pairs:
            self._name(argument.arg, "unknown", None, inner, argument)
            if argument.annotation:
                self._name(argument.arg, "type", argument.annotation, inner, argument, read_in=around)
            if default:
                self._name(argument.arg, "value", default, inner, argument, read_in=around)
        for argument in filter(None, (parameters.vararg, parameters.kwarg)):
            self._name(argument.arg, "unknown", None, inner, argument)
            if argument.annotation:  # the annotation is the type of one argument
                many = ast.Subscript(ast.Name("list", ast.Load()), argument.annotation, ast.Load())
                self._name(argument.arg, "type", many, inner, argument, read_in=around)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                imported = Imported(node.module or "", alias.name, node.level)
                if alias.name == "*":
                    scope.stars.append(imported)
                    continue
                name = alias.asname or alias.name
            else:
                name = alias.asname or alias.name.partition(".")[0]
                imported = Imported(alias.name if alias.asname else name, None, 0)
            bound = PythonBinding(
                node=node,
                role="unknown",
                source=None,
                scope=scope,
                line=node.lineno,
                lines=self._statement,
                imported=imported,
            )
            scope.declared_in.get(name, scope).names[name].append(bound)

    def _target(
        self,
        target: ast.expr,
        role: Role,
        source: ast.expr,
        scope: Scope,
        *,
        local: bool = False,
        read_in: Scope | None = None,
    ) -> None:
        match target:
            case ast.Name():
                self._name(target.id, role, source, scope, target, local=local, read_in=read_in)
            case ast.Tuple() | ast.List():
                for index, element in enumerate(target.elts):
                    part = _part(source, role, index, len(target.elts))
                    inner = element.value if isinstance(element, ast.Starred) else element
                    known = role if part else "unknown"
                    self._target(inner, known, part or source, scope, local=local, read_in=read_in)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute not in OF_EVERY_OBJECT:
                owner = self._owner(name, scope)
                if owner is not None:
                    # The line of an attribute's name may be below its object's.
                    line = target.end_lineno or target.lineno
                    bound = PythonBinding(
                        node=target, role=role, source=source, scope=scope, line=line, lines=self._statement
                    )
                    owner.members[attribute].append((scope.name.rpartition(".")[2], bound))

    def _owner(self, name: str, scope: Scope) -> Scope | None:
        """The class whose instance a name is: the name is a method's first parameter, also in functions inside it."""
        while scope.kind == "function":
            around = scope.parent
            if around is not None and around.kind == "class" and own_name(scope) == name:
                return around
            if name in scope.names or around is None:
                return None
            scope = around
        return None

    def _expression(self, node: ast.AST, scope: Scope) -> None:
        """Bind the names of walrus and comprehension targets, of lambdas' parameters, and of isinstance tests."""
        stack: list[tuple[ast.AST, Scope]] = [(node, scope)]
        while stack:
            part, within = stack.pop()
            match part:
                case ast.NamedExpr():
                    self._target(part.target, "value", part.value, _statements_of(within), read_in=within)
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    inner = self._inside(part, within, within.name)
                    for index, generator in enumerate(part.generators):
                        read_in = inner if index else within
                        self._target(generator.target, "item", generator.iter, inner, local=True, read_in=read_in)
                case ast.Lambda():
                    self._parameters(part.args, self._inside(part, within, within.name))
                case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), of]):
                    if holding := _holding(name, within):
                        self._name(name, "narrowed", of, holding, part, local=True, read_in=within)
            stack += [*parts_of(part, within)][::-1]

    def _name(
        self,
        name: str,
        role: Role,
        source: ast.expr | None,
        scope: Scope,
        node: ast.AST,
        *,
        read_in: Scope | None = None,
        local: bool = False,
    ) -> None:
        line = getattr(node, "lineno", 0)
        bound = PythonBinding(
            node=node, role=role, source=source, scope=read_in or scope, line=line, lines=self._statement, local=local
        )
        scope.declared_in.get(name, scope).names[name].append(bound)


def _function_around(scope: Scope, name: str) -> Scope:
    """The function whose name `nonlocal` means: the nearest around that binds it so far, else the nearest."""
    around: list[Scope] = []
    while scope.parent is not None:
        scope = scope.parent
        around += [scope] if scope.kind == "function" else []
    return next((outer for outer in around if name in outer.names), (around or [scope])[0])


def _statements_of(scope: Scope) -> Scope:
    """The scope of the statement that a comprehension is in; a lambda has its own."""
    while isinstance(scope.node, Comprehension) and scope.parent is not None:
        scope = scope.parent
    return scope


def _holding(name: str, scope: Scope) -> Scope | None:
    """The scope that binds a name, up to the function, class or module around comprehensions and lambdas."""
    while name not in scope.names and isinstance(scope.node, Comprehension | ast.Lambda) and scope.parent is not None:
        scope = scope.parent
    return scope if name in scope.names else None


def own_name(scope: Scope) -> str | None:
    """The first parameter of a method that is not static: what the method calls its instance or class."""
    node = scope.node
    if not isinstance(node, Function) or "staticmethod" in decorators(node):
        return None
    parameters = (*node.args.posonlyargs, *node.args.args)
    return parameters[0].arg if parameters else None


def decorators(node: Function) -> frozenset[str]:
    """The last words of a def's decorators, such as `property`, `classmethod`, `cached_property`."""
    return frozenset(
        last_word(decorator.func if isinstance(decorator, ast.Call) else decorator) for decorator in node.decorator_list
    )


def _part(source: ast.expr, role: Role, index: int, count: int) -> ast.expr | None:
    """Return the part of an unpacked source that the target at `index` of `count` gets; None if it is not known."""
    match source:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if role == "value" and len(parts) == count:
            return parts[index]
        case ast.Call(func=ast.Name(id="enumerate"), args=[first, *_]) if role == "item" and index == 1:
            return first
        case ast.Call(func=ast.Name(id="zip"), args=parts) if role == "item" and len(parts) == count:
            return parts[index]
        # The `Items` of a dictionary are its values.
        case ast.Call(func=ast.Attribute(value=of, attr="items")) if role == "item" and index == 1:
            return of
    return None
