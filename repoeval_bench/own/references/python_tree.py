"""A Python file as nodes of the module `ast`, made from its tree-sitter tree: the same under every interpreter.

`ast.parse` knows the syntax of the running Python alone, and gives up on a whole file for one newer statement or one of
Python 2. The grammar knows the syntax of all of them, and reads the rest of a file around an error.

The nodes have the fields that `python_*` read. What these treat alike has one form: `Compare` is any expression whose
type is not known, `If` any statement with blocks that binds nothing itself, `MatchSequence` any pattern around others.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import Parsed, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_LOAD = ast.Load()
_BLOCKED = (ast.stmt, ast.ExceptHandler, ast.match_case)
_LEAVES = frozenset({"import_statement", "import_from_statement", "future_import_statement", "comment", "ERROR"})
"""Nodes that are not opened. Where a name in an error belongs is not known, so it counts as not written."""


class PythonTree:
    """The tree of a file. Lines of its nodes are those of the file, counted from 1.

    `colons`: a def or class -> the line, from 0, of the colon that ends its header. `error`: the line, from 0, of the
    first syntax error; None if there is none.
    """

    def __init__(self, file: SourceFile) -> None:
        self._parsed = parse(file, LANGUAGES["python"])
        self.colons: dict[ast.AST, int] = {}
        self.error = _first_error(self._parsed)
        self.module = ast.Module(body=self._made_up(), type_ignores=[])

    def _made_up(self) -> list[Any]:
        """Make the nodes from the leaves up, by a stack: code can be nested deeper than Python's recursion."""
        cursor = self._parsed.root.walk()
        opened: list[list[tuple[str, Any]]] = [[]]
        while (node := cursor.node) is not None:
            if node.type not in _LEAVES and cursor.goto_first_child():
                opened.append([])
                continue
            opened[-1].append((cursor.field_name or node.type, self._made(node, [])))
            while len(opened) > 1 and not cursor.goto_next_sibling():
                cursor.goto_parent()
                node = cursor.node or node
                opened[-2].append((cursor.field_name or node.type, self._made(node, opened[-1])))
                opened.pop()
            if len(opened) == 1:
                break
        built = opened[0][0][1]
        return built if isinstance(built, list) else []

    def _made(self, node: Node, parts: list[tuple[str, Any]]) -> Any:
        if not node.is_named:
            return node.type
        inside = _Inside(self, node, parts)
        built = _MAKERS.get(node.type, _other)(inside)
        if isinstance(built, ast.AST) and not hasattr(built, "lineno"):
            inside.place(built)
        return built

    def text(self, node: Node) -> str:
        """Return the text of a syntax node."""
        return self._parsed.text(node)

    def line(self, byte: int) -> int:
        """Return the line of a byte, counted from 1."""
        return bisect_right(self._parsed.line_bytes, byte)

    def place(self, built: Any, node: Node, last: Any = None) -> Any:
        """Set the position of what was made of a syntax node. A statement with blocks ends with the last one in it."""
        starts, end = self._parsed.line_bytes, node.end_byte
        built.lineno = self.line(node.start_byte)
        built.col_offset = node.start_byte - starts[built.lineno - 1]
        if last is not None:
            built.end_lineno, built.end_col_offset = last.end_lineno, last.end_col_offset
        else:
            built.end_lineno = self.line(max(node.start_byte, end - 1))
            built.end_col_offset = end - starts[built.end_lineno - 1]
        return built


def expression_of(text: str) -> ast.expr | None:
    """Return the expression that the text of an annotation is; None if it is not one expression."""
    tree = PythonTree(SourceFile("", "", text))
    body = tree.module.body if tree.error is None else []
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None


def _first_error(parsed: Parsed) -> int | None:
    node = parsed.root
    if not node.has_error:
        return None
    while inner := next((child for child in node.children if child.has_error), None):
        node = inner
    return parsed.span(node).start


class _Inside:
    """The nodes that the children of a syntax node became, each with its field, or its kind where it has no field.

    A token is its text, a block or a list of arguments a list.
    """

    def __init__(self, tree: PythonTree, node: Node, parts: Sequence[tuple[str, Any]]) -> None:
        self.tree, self.node, self.parts = tree, node, parts

    @property
    def text(self) -> str:
        """The text of the node."""
        return self.tree.text(self.node)

    def place(self, built: Any) -> Any:
        """Set the position of what was made of the node."""
        block = self.block() if isinstance(built, _BLOCKED) else []
        return self.tree.place(built, self.node, block[-1] if block else None)

    def values(self, *fields: str) -> Iterator[Any]:
        """Yield what is in some fields, or in all; of lists, what is in them."""
        for field, value in self.parts:
            if not fields or field in fields:
                yield from value if isinstance(value, list) else (value,)

    def all(self, *fields: str) -> list[Any]:
        """Return the expressions in some fields, or in all."""
        return [value for value in self.values(*fields) if isinstance(value, ast.expr)]

    def maybe(self, *fields: str) -> Any:
        """Return the expression in some fields, or in all: a tuple of several, None if there is none."""
        inside = self.all(*fields)
        return inside[0] if len(inside) == 1 else self.place(ast.Tuple(elts=inside, ctx=_LOAD)) if inside else None

    def one(self, *fields: str) -> Any:
        """Return the expression in some fields, or in all; a placeholder where an error left none."""
        expression = self.maybe(*fields)
        return self.place(ast.Constant(value=...)) if expression is None else expression

    def name(self, *fields: str) -> str:
        """Return the name in a field; empty where an error left none."""
        return getattr(self.maybe(*fields), "id", "")

    def block(self, *fields: str) -> list[Any]:
        """Return the statements, handlers and cases in some fields, or in all."""
        return [value for value in self.values(*fields) if isinstance(value, _BLOCKED)]

    def body(self, *fields: str) -> list[Any]:
        """Return a block; it is never empty."""
        return self.block(*fields) or [self.place(ast.Pass())]

    def of(self, kind: type[ast.AST]) -> list[Any]:
        """Return what became a node of some kind."""
        return [value for value in self.values() if isinstance(value, kind)]


class _WithoutTypes(ast.NodeTransformer):
    """Replaces type parameters in what they are for: they are no names of the scopes around."""

    def __init__(self, parameters: Sequence[ast.expr]) -> None:
        self._names = {next(_names(parameter), None) for parameter in parameters}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a value of unknown type for a type parameter."""
        return ast.copy_location(ast.Constant(value=...), node) if node.id in self._names else node


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _block(inside: _Inside) -> Any:
    statements = []
    for (_, value), child in zip(inside.parts, inside.node.children, strict=True):
        statement = inside.tree.place(ast.Expr(value=value), child) if isinstance(value, ast.expr) else value
        statements += [statement] if isinstance(statement, _BLOCKED) else []
    return statements


def _other(inside: _Inside) -> Any:
    """Any statement or expression without a form of its own."""
    if inside.block():
        return ast.If(test=inside.one(), body=inside.body(), orelse=[])
    first, *others = inside.all() or [None]
    return ast.Constant(value=...) if first is None else ast.Compare(left=first, ops=[], comparators=others)


def _expression_statement(inside: _Inside) -> Any:
    return next(iter(inside.block()), None) or ast.Expr(value=inside.one())


def _assignment(inside: _Inside) -> Any:
    target, after = inside.one("left"), next(inside.values("right"), None)
    if (annotation := inside.maybe("type")) is not None:
        return ast.AnnAssign(target=target, annotation=annotation, value=inside.maybe("right"), simple=0)
    if isinstance(after, ast.Assign):  # a = b = c
        return ast.Assign(targets=[target, *after.targets], value=after.value)
    return ast.Assign(targets=[target], value=inside.one("right"))


def _imported(inside: _Inside) -> list[ast.alias]:
    names = []
    for node in inside.node.children_by_field_name("name"):
        name, alias = node.child_by_field_name("name") or node, node.child_by_field_name("alias")
        dotted = "".join(inside.tree.text(name).split())
        built = ast.alias(name=dotted, asname=inside.tree.text(alias) if alias else None)
        names.append(inside.tree.place(built, node))
    return names


def _import_from(inside: _Inside) -> Any:
    module = inside.node.child_by_field_name("module_name")
    text = "".join(inside.tree.text(module).split()) if module else "__future__"
    names = _imported(inside) or [inside.place(ast.alias(name="*", asname=None))]
    return ast.ImportFrom(module=text.lstrip(".") or None, names=names, level=len(text) - len(text.lstrip(".")))


def _if(inside: _Inside) -> Any:
    """An `if`: each `elif` is what else is done by the one before."""
    orelse: list[Any] = []
    for field, value in reversed(inside.parts):
        if field == "alternative" and isinstance(value, ast.If):
            value.orelse, last = orelse, (orelse or value.body)[-1]
            value.end_lineno, value.end_col_offset = last.end_lineno, last.end_col_offset
            orelse = [value]
        elif field == "alternative":
            orelse = value or []
    return ast.If(test=inside.one("condition"), body=inside.body("consequence"), orelse=orelse)


def _handler(inside: _Inside) -> Any:
    types, bound = inside.all(), next(iter(inside.of(ast.withitem)), None)
    name = types[-1] if len(types) == 2 else None
    if bound is not None:
        return ast.ExceptHandler(
            type=bound.context_expr, name=getattr(bound.optional_vars, "id", None), body=inside.body()
        )
    if isinstance(name, ast.Name) and name.id.islower():  # `except A, e` of Python 2; since 3.14 these are two types
        return ast.ExceptHandler(type=types[0], name=name.id, body=inside.body())
    return ast.ExceptHandler(type=inside.maybe(), name=None, body=inside.body())


def _function(inside: _Inside) -> Any:
    (parameters,) = inside.of(ast.arguments) or [_parameters(_Inside(inside.tree, inside.node, []))]
    built = ast.FunctionDef(
        name=inside.name("name"),
        args=parameters,
        body=inside.body("body"),
        decorator_list=[],
        returns=inside.maybe("return_type"),
        type_comment=None,
    )
    return _headed(inside, built)


def _class(inside: _Inside) -> Any:
    given = [*inside.values("superclasses")]
    built = ast.ClassDef(
        name=inside.name("name"),
        bases=[base for base in given if isinstance(base, ast.expr)],
        keywords=[word for word in given if isinstance(word, ast.keyword)],
        body=inside.body("body"),
        decorator_list=[],
    )
    return _headed(inside, built)


def _headed(inside: _Inside, built: ast.FunctionDef | ast.ClassDef) -> Any:
    """A def or class without its type parameters, whose colon is noted."""
    if types := inside.all("type_parameters"):
        _WithoutTypes(types).visit(built)
    colons = (child.start_byte for child in reversed(inside.node.children) if child.type == ":")
    inside.tree.colons[built] = inside.tree.line(next(colons, inside.node.start_byte)) - 1
    return built


def _decorated(inside: _Inside) -> Any:
    definition = next(iter(inside.block()), None)
    if isinstance(definition, ast.FunctionDef | ast.ClassDef):
        definition.decorator_list = inside.all("decorator")
    return definition


def _parameter(inside: _Inside) -> Any:
    """A parameter with a type or a default, as (name, type, default)."""
    name = next((value for field, value in inside.parts if field not in ("type", "value")), None)
    return name, inside.maybe("type"), inside.maybe("value")


def _parameters(inside: _Inside) -> Any:
    built = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
    named = False
    for kind, value in inside.parts:
        written, annotation, default = value if isinstance(value, tuple) else (value, None, None)
        name = written.value if isinstance(written, ast.Starred | ast.keyword) else written
        named = named or kind == "keyword_separator" or isinstance(written, ast.Starred)
        for inner in ast.walk(name) if isinstance(name, ast.Name | ast.Tuple) else ():  # Python 2 has tuples here
            if not isinstance(inner, ast.Name):
                continue
            argument = ast.copy_location(ast.arg(arg=inner.id, annotation=annotation), inner)
            if isinstance(written, ast.Starred):
                built.vararg = argument
            elif isinstance(written, ast.keyword):
                built.kwarg = argument
            elif named:
                built.kwonlyargs.append(argument)
                built.kw_defaults.append(default)
            else:
                built.args.append(argument)
                built.defaults += [default] if default else []
    return built


def _type_alias(inside: _Inside) -> Any:
    """`type X[T] = list[T]` as an assignment; the grammar takes `type(x).y = z` for one too."""
    name, value = inside.one("left"), inside.one("right")
    left, called, around = inside.node.named_children[0], name, None
    while left.type in ("type", "attribute", "subscript"):
        if left.type != "type":
            called, around = called.value, called
        left = left.named_children[0]
    if around is not None:
        word = inside.tree.place(ast.Name(id="type", ctx=_LOAD), inside.node.children[0])
        around.value = inside.place(ast.Call(func=word, args=[called], keywords=[]))
    elif isinstance(name, ast.Subscript):
        types = name.slice.elts if isinstance(name.slice, ast.Tuple) else [name.slice]
        name, value = name.value, _WithoutTypes(types).visit(value)
    return ast.Assign(targets=[name], value=value)


def _with(inside: _Inside) -> Any:
    items = inside.of(ast.withitem) or [ast.withitem(context_expr=inside.one(), optional_vars=None)]
    return ast.With(items=items, body=inside.body("body"))


def _with_item(inside: _Inside) -> Any:
    return next(iter(inside.of(ast.withitem)), None) or ast.withitem(context_expr=inside.one(), optional_vars=None)


def _as(inside: _Inside) -> Any:
    """`with a as b`, `except a as b`; in a `case`, a pattern with a name."""
    patterns = inside.of(ast.pattern)
    if patterns:
        return ast.MatchAs(pattern=patterns[0], name=inside.name())
    first, *_ = [*inside.all(), inside.one()]
    return ast.withitem(context_expr=first, optional_vars=inside.maybe("alias"))


def _subscript(inside: _Inside) -> Any:
    index = inside.one("subscript")
    if any(value == "," for value in inside.values()) and len(inside.all("subscript")) == 1:
        index = inside.place(ast.Tuple(elts=[index], ctx=_LOAD))
    return ast.Subscript(value=inside.one("value"), slice=index, ctx=_LOAD)


def _generic(inside: _Inside) -> Any:
    first, *types = inside.all() or [inside.one()]
    index = types[0] if len(types) == 1 else inside.place(ast.Tuple(elts=types, ctx=_LOAD))
    return ast.Subscript(value=first, slice=index, ctx=_LOAD)


def _call(inside: _Inside) -> Any:
    given = [*inside.values("arguments")]
    return ast.Call(
        func=inside.one("function"),
        args=[argument for argument in given if isinstance(argument, ast.expr)],
        keywords=[argument for argument in given if isinstance(argument, ast.keyword)],
    )


def _slice(inside: _Inside) -> Any:
    lower, upper, step, *_ = [*inside.all(), None, None, None]
    return ast.Slice(lower=lower, upper=upper, step=step)


_JOINS: Mapping[str, ast.operator] = {"|": ast.BitOr(), "+": ast.Add()}


def _binary(inside: _Inside) -> Any:
    if len(operands := inside.all()) != 2:
        return _other(inside)
    operator = _JOINS.get(next(inside.values("operator"), "|"), ast.Mult())
    return ast.BinOp(left=operands[0], op=operator, right=operands[1])


def _boolean(inside: _Inside) -> Any:
    """`a or b or c` is one node, as in `ast`."""
    values, left = inside.all(), inside.node.child_by_field_name("left")
    kind = ast.Or if "or" in inside.values("operator") else ast.And
    if left is not None and left.type == "boolean_operator" and isinstance(values[0].op, kind):
        values[:1] = values[0].values
    return ast.BoolOp(op=kind(), values=values)


def _conditional(inside: _Inside) -> Any:
    bound = next(iter(inside.of(ast.withitem)), None)  # the grammar reads `with a if b else (c as d)`
    parts = [*inside.all(), *([bound.context_expr] if bound else [])]
    if len(parts) != 3:
        return _other(inside)
    built = inside.place(ast.IfExp(test=parts[1], body=parts[0], orelse=parts[2]))
    return ast.withitem(context_expr=built, optional_vars=bound.optional_vars) if bound else built


def _dictionary(inside: _Inside) -> Any:
    pairs = [value for value in inside.values() if isinstance(value, tuple | ast.keyword)]
    keys = [pair[0] if isinstance(pair, tuple) else None for pair in pairs]
    values = [pair[1] if isinstance(pair, tuple) else pair.value for pair in pairs]
    return ast.Dict(keys=keys, values=values)


def _comprehension(inside: _Inside) -> Any:
    generators: list[ast.comprehension] = []
    for field, value in inside.parts:
        if isinstance(value, ast.comprehension):
            generators.append(value)
        elif field == "if_clause" and generators:
            generators[-1].ifs.append(value)
    if inside.node.type == "dictionary_comprehension":
        key, value = next(inside.values("body"), None) or (inside.one(), inside.one())
        return ast.DictComp(key=key, value=value, generators=generators)
    kinds = {"list_comprehension": ast.ListComp, "set_comprehension": ast.SetComp}
    return kinds.get(inside.node.type, ast.GeneratorExp)(elt=inside.one("body"), generators=generators)


def _string(inside: _Inside) -> Any:
    start = inside.tree.text(inside.node.children[0]).lower()
    if {"f", "t"} & {*start}:
        return ast.JoinedStr(values=inside.all("interpolation"))
    contents = (child for child in inside.node.children if child.type == "string_content")
    return ast.Constant(value=b"" if "b" in start else "".join(map(inside.tree.text, contents)))


def _strings(inside: _Inside) -> Any:
    parts = inside.all()
    if any(isinstance(part, ast.JoinedStr) for part in parts):
        return ast.JoinedStr(values=[value for part in parts for value in getattr(part, "values", ())])
    texts = [part.value for part in parts]
    return ast.Constant(value=b"" if b"" in texts else "".join(texts))


def _case(inside: _Inside) -> Any:
    patterns = inside.of(ast.pattern)
    pattern = patterns[0] if len(patterns) == 1 else inside.place(ast.MatchSequence(patterns=patterns))
    return ast.match_case(pattern=pattern, guard=inside.maybe("guard"), body=inside.body("consequence"))


def _pattern(inside: _Inside) -> Any:
    """A pattern with what is in it; a value is compared."""
    inner = [
        inside.tree.place(ast.MatchValue(value=value), inside.node) if isinstance(value, ast.expr) else value
        for value in inside.values()
        if isinstance(value, ast.expr | ast.pattern)
    ]
    return inner[0] if len(inner) == 1 else ast.MatchSequence(patterns=inner)


def _listed(inside: _Inside) -> Any:
    """A list, as a value or target or in a `case`; brackets alone make none."""
    if inside.of(ast.pattern):
        return _pattern(inside)
    if inside.node.type == "tuple_pattern" and len(inside.all()) == 1 and "," not in inside.values():
        return inside.one()
    return (ast.List if inside.node.type in ("list", "list_pattern") else ast.Tuple)(elts=inside.all(), ctx=_LOAD)


def _dotted(inside: _Inside) -> Any:
    """A name in a `case`: alone it is bound, with a dot it is a value."""
    first, *others = inside.all()
    around = inside.node.parent
    if not others and (around is None or around.type != "class_pattern"):
        return ast.MatchAs(pattern=None, name=first.id)
    for other in others:
        attribute = ast.copy_location(ast.Attribute(value=first, attr=other.id, ctx=_LOAD), first)
        attribute.end_lineno, attribute.end_col_offset = other.end_lineno, other.end_col_offset
        first = attribute
    return ast.MatchValue(value=first)


def _first(inside: _Inside) -> Any:
    return next((value for value in inside.values() if isinstance(value, ast.AST)), None)


_MAKERS: Mapping[str, Callable[[_Inside], Any]] = {
    **dict.fromkeys(
        ("comment", "ERROR", "line_continuation", "keyword_separator", "positional_separator"), lambda _: None
    ),
    # Statements
    **dict.fromkeys(("module", "block"), _block),
    **dict.fromkeys(("else_clause", "finally_clause"), _Inside.block),
    "expression_statement": _expression_statement,
    "assignment": _assignment,
    "augmented_assignment": lambda inside: ast.AugAssign(
        target=inside.one("left"), op=ast.Add(), value=inside.one("right")
    ),
    "type_alias_statement": _type_alias,
    "return_statement": lambda inside: ast.Return(value=inside.maybe()),
    "global_statement": lambda inside: ast.Global(names=[node.id for node in inside.all()]),
    "nonlocal_statement": lambda inside: ast.Nonlocal(names=[node.id for node in inside.all()]),
    "import_statement": lambda inside: ast.Import(names=_imported(inside)),
    **dict.fromkeys(("import_from_statement", "future_import_statement"), _import_from),
    **dict.fromkeys(("if_statement", "elif_clause"), _if),
    "for_statement": lambda inside: ast.For(
        target=inside.one("left"),
        iter=inside.one("right"),
        body=inside.body("body"),
        orelse=inside.block("alternative"),
        type_comment=None,
    ),
    "with_statement": _with,
    "with_clause": lambda inside: inside.of(ast.withitem),
    "with_item": _with_item,
    "try_statement": lambda inside: ast.Try(
        body=inside.body("body"),
        handlers=inside.of(ast.ExceptHandler),
        orelse=inside.block("else_clause"),
        finalbody=inside.block("finally_clause"),
    ),
    **dict.fromkeys(("except_clause", "except_group_clause"), _handler),
    "match_statement": lambda inside: ast.Match(subject=inside.one("subject"), cases=inside.of(ast.match_case)),
    "case_clause": _case,
    "function_definition": _function,
    "class_definition": _class,
    "decorated_definition": _decorated,
    **dict.fromkeys(("parameters", "lambda_parameters"), _parameters),
    **dict.fromkeys(("typed_parameter", "default_parameter", "typed_default_parameter"), _parameter),
    # Expressions
    "identifier": lambda inside: (
        ast.Name(id=inside.text, ctx=_LOAD) if inside.node.end_byte > inside.node.start_byte else None
    ),
    "attribute": lambda inside: ast.Attribute(value=inside.one("object"), attr=inside.name("attribute"), ctx=_LOAD),
    "member_type": lambda inside: ast.Attribute(value=inside.all()[0], attr=inside.all()[-1].id, ctx=_LOAD),
    "subscript": _subscript,
    "generic_type": _generic,
    "slice": _slice,
    "call": _call,
    "argument_list": lambda inside: inside.all() + inside.of(ast.keyword),
    "keyword_argument": lambda inside: ast.keyword(arg=inside.name("name"), value=inside.one("value")),
    **dict.fromkeys(
        ("dictionary_splat", "dictionary_splat_pattern"), lambda inside: ast.keyword(arg=None, value=inside.one())
    ),
    **dict.fromkeys(
        ("list_splat", "list_splat_pattern", "splat_type"), lambda inside: ast.Starred(value=inside.one(), ctx=_LOAD)
    ),
    **dict.fromkeys(("binary_operator", "union_type"), _binary),
    "boolean_operator": _boolean,
    "conditional_expression": _conditional,
    "lambda": lambda inside: ast.Lambda(
        args=(inside.of(ast.arguments) or [_parameters(_Inside(inside.tree, inside.node, []))])[0],
        body=inside.one("body"),
    ),
    "await": lambda inside: ast.Await(value=inside.one()),
    "yield": lambda inside: _other(inside) if "from" in inside.values() else ast.Yield(value=inside.maybe()),
    "named_expression": lambda inside: ast.NamedExpr(target=inside.one("name"), value=inside.one("value")),
    **dict.fromkeys(("list", "list_pattern", "tuple", "tuple_pattern", "pattern_list", "expression_list"), _listed),
    "set": lambda inside: ast.Set(elts=inside.all()),
    "dictionary": _dictionary,
    "pair": lambda inside: (inside.one("key"), inside.one("value")),
    **dict.fromkeys(
        ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"), _comprehension
    ),
    "for_in_clause": lambda inside: ast.comprehension(
        target=inside.one("left"), iter=inside.one("right"), ifs=[], is_async=0
    ),
    "string": _string,
    "concatenated_string": _strings,
    "interpolation": lambda inside: inside.all("expression", "format_specifier"),
    "format_specifier": lambda inside: inside.all("format_expression"),
    "none": lambda _: ast.Constant(value=None),
    # Forms around another
    **dict.fromkeys(("parenthesized_expression", "parenthesized_list_splat", "type", "decorator", "if_clause"), _first),
    **dict.fromkeys(("as_pattern_target", "format_expression"), _first),
    "type_parameter": _Inside.all,
    # Patterns
    "as_pattern": _as,
    "dotted_name": _dotted,
    **dict.fromkeys(("case_pattern", "class_pattern", "union_pattern", "dict_pattern"), _pattern),
    "keyword_pattern": lambda inside: _pattern(_Inside(inside.tree, inside.node, inside.parts[1:])),
    "splat_pattern": lambda inside: ast.MatchStar(name=inside.name() or None),
}
