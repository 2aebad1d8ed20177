"""Each scope of Python and the names that are local to it."""

import asyncio
import symtable
import sys
from collections import Counter
from pathlib import Path

import pytest

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_scopes import read_module
from support.written import uses


@pytest.mark.parametrize("first", ["def fast(): return 1", "class fast: pass", "fast = 1"])
def test_of_what_is_tried_and_done_instead_the_first_in_the_file_is_meant(first):
    module = f"try:\n    import nothing\n    {first}\nexcept ImportError:\n    def fast(): return 2\n"
    module += "else:\n    def fast(): return 3\n"
    (result,) = uses({"a.py": module, "task.py": "from a import fast\nfast\n"}, "task.py", 1, 2)
    assert result.definition.lines == LineSpan(2, 3)


READ = sorted(Path(asyncio.__file__).parent.glob("*.py"))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="symtable adds what comprehensions bind to what is around them")
@pytest.mark.parametrize("path", [Path(__file__), *READ], ids=lambda path: path.name)
def test_each_scope_binds_the_names_that_python_itself_finds(path):
    """Python's own table of symbols: functions, classes, lambdas and comprehensions with what is local to each."""
    file = SourceFile("r", "a.py", path.read_text(encoding="utf-8"))
    scopes = [item for item in read_module(file).scopes.values() if item.parent is not None]
    assert Counter(bound(scope) for scope in scopes) == Counter(tables(symtable.symtable(file.text, "a.py", "exec")))


def bound(scope):
    """(kind or name, the names) of a scope; private ones as written."""
    kinds = {"list_comprehension": "listcomp", "set_comprehension": "setcomp", "lambda": "lambda"}
    kinds |= {"dictionary_comprehension": "dictcomp", "generator_expression": "genexpr"}
    return kinds.get(scope.node.type, scope.name.rpartition(".")[2]), frozenset(map(unmangled, scope.names))


def tables(table):
    """The same of each table of symbols in another, without what Python adds itself."""
    for inner in table.get_children():
        result = {unmangled(symbol.get_name()) for symbol in inner.get_symbols() if symbol.is_local()}
        yield inner.get_name(), frozenset(result - {".0", "__class__"})
        yield from tables(inner)


def unmangled(name):
    """`_Class__name` and `__name` alike."""
    return name if name.endswith("__") else name.rpartition("__")[2]
