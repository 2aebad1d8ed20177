"""Walk a Python syntax tree and note, scope by scope, which site binds which name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.uses.python_scopes import Bound, Function, Imported, Module, Role, Scope, last_word

_Block = tuple[Iterable[ast.stmt], Scope]
"""Statements and the scope that they are in."""

OF_EVERY_OBJECT = frozenset({"__class__", "__dict__"})
"""Attributes that an assignment changes and does not define: every object has them."""

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Binder:
    """Fills the scopes of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._statement = LineSpan(0, 0)

    def bind_all(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        """Bind what a block's statements bind: by a stack, as a chain of `elif` is as deep as it is long."""
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
                scope.declared_global.update(node.names)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._expression(child, scope)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler):
                if child.name:
                    self._name(child.name, "type" if child.type else "unknown", child.type, scope, child, local=True)
                yield child.body, scope
            elif isinstance(child, ast.match_case):
                for part in ast.walk(child.pattern):
                    if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                        self._name(part.name, "unknown", None, scope, part, local=True)
                yield child.body, scope
        if not isinstance(node, Function | ast.ClassDef):
            for block in ("body", "orelse", "finalbody"):
                inner = getattr(node, block, None)
                if isinstance(inner, list):
                    yield inner, scope

    def _open(self, node: Function | ast.ClassDef, scope: Scope) -> Scope:
        self._name(node.name, "value", None, scope, node)
        is_class = isinstance(node, ast.ClassDef)
        inner = Scope(
            kind="class" if is_class else "function",
            name=scope.prefix + node.name,
            parent=scope,
            node=node,
            module=self._module,
        )
        self._module.scopes[node] = inner
        if not isinstance(node, ast.ClassDef):
            self._parameters(node.args, inner)
        return inner

    def _parameters(self, given: ast.arguments, inner: Scope) -> None:
        around = inner.parent or inner
        defaults = [*[None] * (len(given.posonlyargs) + len(given.args) - len(given.defaults)), *given.defaults]
        pairs = [*zip((*given.posonlyargs, *given.args), defaults, strict=True)]
        pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
        for argument, default in pairs:
            self._name(argument.arg, "unknown", None, inner, argument)
            if argument.annotation:
                self._name(argument.arg, "type", argument.annotation, inner, argument, read_in=around)
            if default:
                self._name(argument.arg, "value", default, inner, argument, read_in=around)
        for argument in filter(None, (given.vararg, given.kwarg)):
            self._name(argument.arg, "unknown", None, inner, argument)
            if argument.annotation:  # what is declared is each of the arguments
                many = ast.Subscript(ast.Name("list", ast.Load()), argument.annotation, ast.Load())
                self._name(argument.arg, "type", many, inner, argument, read_in=around)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                found = Imported(node.module or "", alias.name, node.level)
                if alias.name == "*":
                    scope.stars.append(found)
                    continue
                name = alias.asname or alias.name
            else:
                name = alias.asname or alias.name.partition(".")[0]
                found = Imported(alias.name if alias.asname else name, None, 0)
            bound = Bound(
                node=node,
                role="unknown",
                source=None,
                scope=scope,
                line=node.lineno,
                lines=self._statement,
                imported=found,
            )
            scope.names[name].append(bound)

    def _target(self, target: ast.expr, role: Role, source: ast.expr, scope: Scope, *, local: bool = False) -> None:
        match target:
            case ast.Name():
                self._name(target.id, role, source, scope, target, local=local)
            case ast.Tuple() | ast.List():
                for at, each in enumerate(target.elts):
                    part = _part(source, role, at, len(target.elts))
                    inner = each.value if isinstance(each, ast.Starred) else each
                    self._target(inner, role if part else "unknown", part or source, scope, local=local)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute not in OF_EVERY_OBJECT:
                owner = self._owner(name, scope)
                if owner is not None:
                    # The line of an attribute's name may be below its object's.
                    line = target.end_lineno or target.lineno
                    bound = Bound(node=target, role=role, source=source, scope=scope, line=line, lines=self._statement)
                    owner.members[attribute].append((scope.name.rpartition(".")[2], bound))

    def _owner(self, name: str, scope: Scope) -> Scope | None:
        """The class whose instance a name is: the first parameter of a method, also in functions inside it."""
        while scope.kind == "function":
            around = scope.parent
            if around is not None and around.kind == "class" and own_name(scope) == name:
                return around
            if name in scope.names or around is None:
                return None
            scope = around
        return None

    def _expression(self, node: ast.expr, scope: Scope) -> None:
        """Bind the names of walrus and comprehension targets, and of isinstance tests."""
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr):
                self._target(part.target, "value", part.value, scope)
            elif isinstance(part, _Comprehension):
                for each in part.generators:
                    self._target(each.target, "item", each.iter, scope, local=True)
            elif isinstance(part, ast.Lambda):
                for argument in (*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs):
                    self._name(argument.arg, "unknown", None, scope, argument, local=True)
            elif (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Name)
                and part.func.id == "isinstance"
                and len(part.args) == 2
                and isinstance(part.args[0], ast.Name)
                and part.args[0].id in scope.names
            ):
                self._name(part.args[0].id, "narrowed", part.args[1], scope, part, local=True)

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
        bound = Bound(
            node=node, role=role, source=source, scope=read_in or scope, line=line, lines=self._statement, local=local
        )
        (self._module.top if name in scope.declared_global else scope).names[name].append(bound)


def own_name(scope: Scope) -> str | None:
    """The first parameter of a method that is not static: what the method calls its instance or class."""
    node = scope.node
    if not isinstance(node, Function) or "staticmethod" in decorators(node):
        return None
    every = (*node.args.posonlyargs, *node.args.args)
    return every[0].arg if every else None


def decorators(node: Function) -> frozenset[str]:
    """The last words of a def's decorators, such as `property`, `classmethod`, `cached_property`."""
    return frozenset(last_word(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list)


def _part(source: ast.expr, role: Role, at: int, count: int) -> ast.expr | None:
    """What the target number `at` of `count` gets of a source that is unpacked; None where it is not known."""
    match source:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if role == "value" and len(parts) == count:
            return parts[at]
        case ast.Call(func=ast.Name(id="enumerate"), args=[first, *_]) if role == "item" and at == 1:
            return first
        case ast.Call(func=ast.Name(id="zip"), args=parts) if role == "item" and len(parts) == count:
            return parts[at]
        # A dictionary is held as its values.
        case ast.Call(func=ast.Attribute(value=of, attr="items")) if role == "item" and at == 1:
            return of
    return None
