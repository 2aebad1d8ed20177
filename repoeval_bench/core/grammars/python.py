"""The grammar of Python."""

from collections.abc import Iterator
from dataclasses import replace

from repoeval_bench.core.grammars.grammar import BARE, DefinedName, Grammar, child, defined, named, words
from repoeval_bench.core.syntax import Node, Parsed

# Names of the module builtins in Python 3.10 to 3.14, and those that every module has.
_BUILTINS = """
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
__build_class__ __debug__ __doc__ __file__ __import__ __loader__ __name__ __package__ __path__ __spec__
abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright
credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash
help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open
ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type
vars zip
"""


def _decorated(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = child(node, "definition")
    if inner is None:
        return
    overload = any(parsed.text(part).endswith("overload") for part in node.children if part.type == "decorator")
    for definition in _PLAIN[inner.type](parsed, inner):
        yield replace(definition, declared=True) if overload else definition


def _targets(target: Node) -> Iterator[Node]:
    stack = [target]  # targets nest without limit
    while stack:
        node = stack.pop()
        if node.type == "identifier":
            yield node
        elif node.type in ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"):
            stack += reversed(node.named_children)


def _assigned(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    assignment = node.children[0] if node.children else None
    while assignment is not None and assignment.type == "assignment":
        left, right = child(assignment, "left"), child(assignment, "right")
        for name_node in _targets(left) if left else ():
            yield defined(parsed, "variable", "variable", name_node, node, declared=right is None)
        assignment = right


def _type(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    left = child(node, "left")
    while left is not None and left.type in ("type", "generic_type"):
        left = left.named_children[0]
    if left is not None and left.type == "identifier":  # the grammar reads `type(x).y = z` as an alias too
        yield defined(parsed, "class", "type", left, node)


_PLAIN = {"function_definition": named("function", "function"), "class_definition": named("class", "class")}
PYTHON = Grammar(
    anywhere={**_PLAIN, "decorated_definition": _decorated},
    members={"expression_statement": _assigned, "type_alias_statement": _type},
    transparent=words(
        "block if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause "
        "with_statement for_statement while_statement match_statement case_clause"
    ),
    # In Python no expression contains a definition; in other languages functions are arguments.
    barren=words(
        "expression_statement return_statement assert_statement raise_statement delete_statement import_statement "
        "import_from_statement future_import_statement parameters argument_list"
    ),
    identifiers=("identifier",),
    builtins=words(_BUILTINS),
    calls={"call": ("function", {**BARE, "attribute": ("attribute", "identifier")})},
    imports="""
        (import_statement name: [(dotted_name) @name (aliased_import alias: (_) @name)])
        (import_from_statement name: [(dotted_name) @name (aliased_import alias: (_) @name)])""",
    separators=(r"^()class\s", r"^()[ \t]*(?:async\s+)?def\s"),
    indented=True,
)
