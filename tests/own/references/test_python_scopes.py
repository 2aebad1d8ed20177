"""Names that Python looks up in a scope of its own: of a comprehension, a lambda, a handler, a star import."""

import asyncio
import symtable
import sys
from collections import Counter
from pathlib import Path

import pytest

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_bindings import read_module
from support.written import names, uses

CARS = """\
class Way:
    def go(self): return 1


class Car:
    way = Way()

    def cars(self) -> list["Car"]: ...


class Bus:
    way: Way = Way()
    stops = 3


shown = Bus()
"""
SCOPES = {
    "a target is another name than that around": ("[a.way for a in unknown]", ""),
    "a target has the type of its items": ("[a.way for a in bus_list]", "Bus.way"),
    "what is gone through first is read outside": ("[a for a in a.cars()]", "Car.cars"),
    "what is gone through next is read inside": ("[b.stops for a in bus_list for b in [a]]", "Bus.stops"),
    "conditions are read inside": ("{a for a in bus_list if a.stops}", "Bus.stops"),
    "of a dictionary key and value are read inside": ("{a.stops: a.way for a in bus_list}", "Bus.stops Bus.way"),
    "a comprehension in another": ("[[b.stops for b in [a]] for a in bus_list]", "Bus.stops"),
    "what it gives is known": ("for b in [a for a in bus_list]:\n    b.stops", "Bus.stops"),
    "what a dictionary of one gives is known": ("{1: a for a in bus_list}[1].stops", "Bus.stops"),
    "after it the name is the one around": ("[a for a in unknown]\na.way", "Car.way"),
    "a walrus is of the function": ("[(b := x) for x in bus_list]\nb.stops", "Bus.stops"),
    "a test in one holds for it": ("[b.way for b in unknown if isinstance(b, Bus)]", "Bus Bus.way"),
    "a test on a name around it": ("any(isinstance(unknown, Bus) for _ in x)\nunknown.stops", "Bus Bus.stops"),
    "a parameter of a lambda": ("lambda a: a.way", ""),
    "a default of a lambda is read outside": ("lambda b=a: b.way", "Car.way"),
    "a lambda does not bind around it": ("lambda shown: 1\nshown.stops", "shown Bus.stops"),
    "of the function around": ("b = x\ndef f():\n    nonlocal b\n    b = shown\nb.stops", "shown Bus.stops"),
    "in a guard": ("match x:\n    case 1 if any(a.way for a in unknown): pass", ""),
}


@pytest.mark.parametrize("case", SCOPES)
def test_what_a_name_of_an_inner_scope_means(case):
    code, expected = SCOPES[case]
    head = "from cars import Bus, Car, shown\ndef written(a: Car, bus_list: list[Bus], unknown, x):\n"
    text = head + "".join(f"    {line}\n" for line in code.splitlines())
    assert used({"cars.py": CARS}, text, 2) == set(expected.split())


def test_the_names_of_a_class_are_not_seen_from_a_comprehension_in_it():
    text = "from cars import Bus, shown\nclass A:\n    shown = 1\n    x = [shown.stops for _ in shown.y]\n"
    assert used({"cars.py": CARS}, text, 3) == {"shown", "Bus.stops", "A.shown"}


@pytest.mark.parametrize("first", ["def fast(): return 1", "class fast: pass", "fast = 1"])
def test_of_what_is_tried_and_done_instead_the_first_in_the_file_is_meant(first):
    module = f"try:\n    import nothing\n    {first}\nexcept ImportError:\n    def fast(): return 2\n"
    module += "else:\n    def fast(): return 3\n"
    (result,) = uses({"a.py": module, "task.py": "from a import fast\nfast\n"}, "task.py", 1, 2).used
    assert result.definition.lines == LineSpan(2, 3)


STARS = {
    "with a type": ("__all__: list[str] = ['a']", {"a"}),
    "more of it later": ("__all__ = ['a']\n__all__ += ['_b']", {"a", "_b"}),
    "one more": ("__all__ = ['a']\n__all__.append('c')\n__all__.extend(['_b'])", {"a", "_b", "c"}),
    "partly of another module": ("import x\n__all__ = ['_b'] + x.__all__", {"a", "_b", "c"}),
    "computed": ("__all__ = [x for x in dir()]", {"a", "c"}),
    "partly in a condition": ("__all__ = ['a']\nif a:\n    __all__ += ['c']", {"a", "c"}),
    "fewer of it later": ("__all__ = ['a']\n__all__.remove('a')", {"a", "c"}),
    "none": ("", {"a", "c"}),
}


@pytest.mark.parametrize("case", STARS)
def test_a_star_import_gives_what_all_lists(case):
    code, expected = STARS[case]
    files = {"pkg/__init__.py": "from .m import *\n", "pkg/m.py": f"a = 1\n_b = 2\nc = 3\n{code}\n"}
    assert used(files, "from pkg import a, _b, c\na\n_b\nc\n", 1) == expected


def test_a_name_that_a_star_import_does_not_give_is_that_of_the_next():
    files = {
        "pkg/__init__.py": "from .m import *\nfrom .n import *\n",
        "pkg/m.py": "__all__ = ['a']\nfrom .n import helper as a\ndef helper(): return 1\n",
        "pkg/n.py": "def helper(): return 2\n",
        "task.py": "from pkg import helper\nhelper\n",
    }
    (result,) = uses(files, "task.py", 1, 2).used
    assert result.definition.file == "r/pkg/n.py"


READ = sorted(Path(asyncio.__file__).parent.glob("*.py"))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="symtable adds what comprehensions bind to what is around them")
@pytest.mark.parametrize("path", [Path(__file__), *READ], ids=lambda path: path.name)
def test_each_scope_binds_the_names_that_python_itself_finds(path):
    """Python's own table of symbols: functions, classes, lambdas and comprehensions with what is local to each."""
    file = SourceFile("r", "a.py", path.read_text(encoding="utf-8"))
    scopes = [item for item in read_module(file).scopes.values() if item.parent is not None]
    assert Counter(bound(scope) for scope in scopes) == Counter(tables(symtable.symtable(file.text, "a.py", "exec")))


@pytest.mark.parametrize("pattern", ["{'a': 1, **name}", "[1, *name]", "A(x=name)", "{'a': [name]}", "(1 | 2) as name"])
def test_what_a_pattern_takes_is_a_name_of_the_function(pattern):
    code = f"def name(): return 1\ndef g(x):\n    match x:\n        case {pattern}:\n            return name\n"
    assert used({}, code, 4) == set()


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


def used(files, text, first):
    """The definitions that the lines of a task from `first` on use."""
    return names(uses({**files, "task.py": text}, "task.py", first, text.count("\n")))
