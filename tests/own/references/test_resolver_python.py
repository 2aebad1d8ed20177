"""A hand-made repository: what each name of some lines means is written beside it."""

import ast
from pathlib import Path

import pytest

import repoeval_bench
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_bindings import read_module
from repoeval_bench.own.references.python_names import names_of
from repoeval_bench.own.references.resolver import Resolver
from support import written
from support.written import names

FILES = {
    "shop/__init__.py": "from .core import *\nfrom .core import Basket as Cart\nfrom shop.prices import rate\n",
    "shop/core.py": '''\
"""Baskets."""
from __future__ import annotations
import json
from typing import overload, Optional
from .prices import rate as exchange_rate, Price
from . import prices
from .cycle_a import ping

__all__ = ["Basket", "Item"]
LIMIT = 10
LIMIT = 12
_hidden = 1


class Item:
    """Something to buy."""

    colour: str = "red"

    def __init__(self, price):
        self.amount = 1
        self.price = Price(price)

    @property
    def owner(self) -> Basket:
        return find_owner(self)

    def renamed_in_stock(self):
        self.stock = 3
        return self


class Special(Item):
    def __init__(self):
        super().__init__(3)
        self.extra = {}

    def late(self):
        self.amount = 2


class Basket:
    def __init__(self, first: Item, name=None):
        self.items = [first]
        self.first = first
        self.by_name: dict[str, Item] = {}
        self.last: Optional[Item] = None
        self.maker = Special()

    @overload
    def total(self, x: int) -> int: ...
    @overload
    def total(self, x: str) -> str: ...
    def total(self, x):
        return x

    @classmethod
    def empty(cls) -> Basket:
        return cls(None)

    def __enter__(self):
        return self

    def discounted_total(self): return 1


def find_owner(item: Item) -> Basket:
    return Basket.empty()


try:
    import ujson as fast
except ImportError:
    def fast(text):
        return json.loads(text)


if json:
    def chosen(): return 1
else:
    def chosen(): return 2
''',
    "shop/prices.py": "class Price:\n    cents = 0\n\n    def plus(\n        self,\n        other,\n    ):\n        return self\n\n\n"
    "@decorated(\n    1\n)\ndef rate(x):\n    '''Exchange.\n\n    More.\n    '''\n    return x\n",
    "shop/cycle_a.py": "from .cycle_b import pong\ndef ping(): return pong\n",
    "shop/cycle_b.py": "from .cycle_a import ping, missing\nfrom .cycle_a import nothing_there\ndef pong(): return ping\n",
}


def uses(body, head="", *, before="def written(a, item: Item, basket: Basket):\n", **more):
    """name -> tier of what the indented body uses, and the reasons of the others."""
    head += "from shop.core import Item, Basket, Special\nfrom shop import core\n"
    text = head + before + "".join(f"    {line}\n" for line in body.split("\n"))
    start = len((head + before).splitlines())
    files = {**FILES, **more, "shop/task.py": text}
    result = written.uses(files, "shop/task.py", start, len(text.splitlines()))
    assert result is not None
    return result


CASES = {
    # What is imported, from where it is defined in the end.
    "re-export": ("Cart", "from shop import Cart\n", {"core.Basket"}),
    "star import": ("Special", "from shop import *\n", {"core.Special"}),
    "dotted module": ("shop.prices.Price()", "import shop.prices\n", {"prices.Price"}),
    "module through another": ("core.prices.rate", "", {"prices.rate"}),
    "a name imported there": ("core.exchange_rate", "", {"prices.rate"}),
    "a cycle of imports": ("ping; pong", "from shop.cycle_b import ping, pong\n", {"cycle_a.ping", "cycle_b.pong"}),
    "import in the lines": ("from shop.prices import Price\nPrice.cents", "", {"prices.Price", "prices.Price.cents"}),
    # Classes and their instances.
    "inherited method": ("Special().renamed_in_stock()", "", {"core.Special", "core.Item.renamed_in_stock"}),
    "property": ("item.owner.first", "", {"core.Item.owner", "core.Basket.first"}),
    "constructor assigned": ("item.price.plus(1)", "", {"core.Item.price", "prices.Price.plus"}),
    "container": ("basket.by_name['a'].colour", "", {"core.Basket.by_name", "core.Item.colour"}),
    "optional": ("basket.last.colour", "", {"core.Basket.last", "core.Item.colour"}),
    "loop": ("for x in basket.items:\n    x.colour", "", {"core.Basket.items", "core.Item.colour"}),
    "zip": ("for a, b in zip([1], basket.items):\n    b.colour", "", {"core.Basket.items", "core.Item.colour"}),
    "class method": ("Basket.empty().first", "", {"core.Basket", "core.Basket.empty", "core.Basket.first"}),
    "returned": ("core.find_owner(1).maker.extra", "", {"core.find_owner", "core.Basket.maker", "core.Special.extra"}),
    "with": ("with Basket(1) as b:\n    b.maker", "", {"core.Basket", "core.Basket.maker"}),
    "narrowed": ("if isinstance(a, Item):\n    a.colour", "", {"core.Item", "core.Item.colour"}),
    "in the hole": ("z = Special()\nz.late()", "", {"core.Special", "core.Special.late"}),
    # One definition for several sites.
    "overloads": ("basket.total(1)", "", {"core.Basket.total"}),
    "conditional": ("core.chosen()", "", {"core.chosen"}),
    "fallback": ("core.fast('')", "", {"core.fast"}),
    # What is none.
    "module": ("core", "", set()),
    "shadowed": ("Item = 1\nItem", "", set()),
    "third party": ("np.zeros(3).shape", "import numpy as np\n", set()),
}


@pytest.mark.parametrize("case", CASES)
def test_what_lines_use(case):
    body, head, expected = CASES[case]
    actual = uses(body, head)
    result = {
        use.definition.file.removeprefix("r/shop/").removesuffix(".py") + "." + use.definition.name
        for use in actual.used
    }
    assert result == expected


def lines_of(resolution):
    return {use.definition.name: (use.definition.lines.start + 1, use.definition.lines.end) for use in resolution.used}


def test_gold_lines_are_header_and_docstring_or_the_statement():
    result = lines_of(uses("item.colour; item.stock; core.rate; core.exchange_rate(1); item.price.plus; core.LIMIT"))
    # Decorators, signature and docstring; of a class-level name its statement; the first of several sites.
    assert result["rate"] == (11, 18)
    assert result["Price.plus"] == (4, 7)
    assert result["Item.colour"] == (18, 18)
    assert result["Item.stock"] == (29, 29)
    assert result["LIMIT"] == (10, 10)


def test_at_most_twelve_lines_that_are_not_blank_are_gold():
    doc = "def long():\n    '''One.\n\n" + "".join(f"    line {n}\n" for n in range(20)) + "    '''\n"
    result = uses("long()", "from shop.long import long\n", **{"shop/long.py": doc})
    assert lines_of(result)["long"] == (1, 13)


def test_what_is_written_and_what_it_defines_are_left_out():
    body = "def inner(): return written(1)\nreturn inner()"
    assert not uses(body).used
    # A site in the hole is none; the other site of the attribute is.
    before = "class Own(Item):\n  def other(self):\n    self.depth = 1\n  def written(self):\n"
    result = uses("self.depth = 2\nself.height = 3\nself.colour = 'x'\nself.written()", before=before)
    assert names(result) == {"Own.depth", "Item.colour"}


OWN = """\
class Meta(type):
    def register(cls):
        cls.known_names = []


class Field:
    def __get__(self, instance, owner):
        return instance.values

    def describe(self): return 1


class Base(metaclass=Meta):
    part: Item
    shown = Field()

    def __init__(self):
        self.values = 1
        self.basket: Basket = Special()

    def change(self):
        self.__class__ = Base
        self.__dict__ = {}


class Own(Base):
    def __init__(self):
        self.part = None

    @classmethod
    def make(cls): return cls()

    def written(self, other):
"""
OWN_CASES = {
    "the class around the hole": ("isinstance(other, Own)", {"Own"}),
    "what every object has": ("self.__class__, other.__dict__", set()),
    "the class of an instance": ("self.__class__.make()", {"Own.make"}),
    "as a base declares it": ("self.part.colour", {"Own.part", "Item.colour"}),
    "as it is declared": ("self.basket.maker", {"Base.basket", "Basket.maker"}),
    "a descriptor": ("self.shown.describe()", {"Base.shown"}),
    "a descriptor itself": ("Own.shown.describe()", {"Own", "Base.shown", "Field.describe"}),
    "of the metaclass": ("Own.register(); Own.known_names", {"Own", "Meta.register", "Meta.known_names"}),
    "made by __new__": ("x = object.__new__(Own)\nx.make()", {"Own", "Own.make"}),
}


@pytest.mark.parametrize("case", OWN_CASES)
def test_what_the_classes_around_a_hole_have(case):
    body, expected = OWN_CASES[case]
    body = "".join(f"    {line}\n" for line in body.splitlines())
    result = uses(body, before=OWN)
    assert names(result) == expected


HELD = {
    "shop/held.py": """\
from collections import UserDict
from typing import Iterator, List
from .core import Basket, Item


class Shelf(List["Item"]):
    def get(self, key) -> Basket: ...


class Stock(UserDict[str, Item]): pass


class Walk(Iterator[Item]):
    def __iter__(self): return self
    def __next__(self) -> Item: ...


class Later:
    def __aiter__(self): return self
    async def __anext__(self) -> Item: ...
    def __enter__(self): raise TypeError
    async def __aenter__(self) -> Basket: ...


def held(x) -> AbstractAsyncContextManager[Item]: ...
def soon(x) -> Awaitable[Item]: ...


class Both:
    def __init__(self, *parts: Item, **named: Basket):
        self.parts, self.named = parts, named
"""
}
HELD_CASES = {
    "a class that is a list": ("[x.colour for x in Shelf()]; Shelf()[0].stock", {"Shelf", "Item.colour", "Item.stock"}),
    "its own method first": ("Shelf().get(1).first", {"Shelf", "Shelf.get", "Basket.first"}),
    "a class that is a dictionary": (
        "for x in Stock().values():\n    x.colour\nStock()[1].stock",
        {"Stock", "Item.colour", "Item.stock"},
    ),
    "an iterator": ("for x in Walk():\n    x.colour", {"Walk", "Item.colour"}),
    "an asynchronous iterator": ("async for x in Later():\n    x.colour", {"Later", "Item.colour"}),
    "an asynchronous context": ("async with Later() as x:\n    x.first", {"Later", "Basket.first"}),
    "what a context manager holds": ("async with held(1) as x:\n    x.colour", {"held", "Item.colour"}),
    "what is awaited": ("(await soon(1)).colour", {"soon", "Item.colour"}),
    "all the arguments": (
        "Both().parts[0].colour; Both().named['a'].first",
        {"Both", "Both.parts", "Both.named", "Item.colour", "Basket.first"},
    ),
}


@pytest.mark.parametrize("case", HELD_CASES)
def test_what_is_held_by_a_value(case):
    body, expected = HELD_CASES[case]
    result = uses(body, "from shop.held import *\n", **HELD)
    assert names(result) == expected


@pytest.mark.parametrize("end", ["\f", "\x1c", "\u2028", "\x85"])
def test_line_ends_that_python_does_not_count_move_nothing(end):
    module = f"\f\nLIMIT = 1\n\f\nNOTE = '''a{end}b'''  # {end}\n\fdef far():\n    return 'é{end}', LIMIT\n"
    head = f"from shop.odd import far\nimport shop.odd\n# {end}\n"
    result = uses(f"x = '{end}'; far()\nshop.odd.LIMIT", head, **{"shop/odd.py": module})
    lines = module.splitlines()
    kept = {use.definition.name: use.definition.lines for use in result.used}
    assert {name: [lines[at] for at in where] for name, where in kept.items()} == {
        "LIMIT": ["LIMIT = 1"],
        "far": ["def far():"],
    }


@pytest.mark.parametrize("text", ["\f", "x = 1\f", "\fx = 1\r\ry = x\r\n", '"""\u2028"""\rx = (1,\f\n2)'])
def test_any_file_with_such_line_ends_is_read(text):
    result = written.uses({"a.py": text}, "a.py", 0, SourceFile("r", "a.py", text).n_lines)
    assert result is None or result.names == text.count("x") + text.count("y")


DEEP = {
    "elif": "if a: pass\n" + "".join(f"elif a == {n}: Item\n" for n in range(700)),
    "decorators": "@a" + ".b" * 700 + "\ndef inner(): pass\nItem",
    "annotation": "x: " + " | ".join(["Item"] * 700) + "\nx.colour",
    "calls": "core" + ".x()" * 300 + "\nItem",
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_code_is_read_or_counted_as_unread(case):
    text = f"from shop.core import Item\nfrom shop import core\n{DEEP[case]}\n"
    result = written.uses({**FILES, "shop/task.py": text}, "shop/task.py", 2, text.count("\n"))
    assert result is None or "Item" in names(result)
    assert result or case == "annotation"


def test_names_without_a_definition_are_counted_by_reason():
    result = uses("np.a\nlen\na.whatever\nmissing_name", "import numpy as np\n")
    assert not result.used
    assert result.without == {"third party": 2, "builtin": 1, "dynamic": 1, "unresolved": 1}
    assert result.names == 6


ONLY_ONE = {
    "an attribute of an unknown value, a function": ("table.merge_shelves()", "def merge_shelves(table): ...\n"),
    "an attribute of an unknown value, a variable": ("settings.shelf_size", "shelf_size = 4\n"),
    "an attribute of an unknown value, a method": (
        "table.merge_shelves()",
        "class Shop:\n    def merge_shelves(self): ...\n",
    ),
    "a name that nothing binds": ("merge_shelves()", "def merge_shelves(table): ...\n"),
}


@pytest.mark.parametrize("case", ONLY_ONE)
def test_the_only_definition_of_a_name_is_not_meant_where_nothing_leads_to_it(case):
    code, module = ONLY_ONE[case]
    task = f"def written(table, settings):\n    {code}\n"
    result = written.uses({"shelves.py": module, "task.py": task}, "task.py", 1, 2)
    assert result.used == ()
    assert result.without in ({"dynamic": 1}, {"unresolved": 1})


OTHER_PYTHONS = {
    "type parameters": "class Shelf[T: (int, str), *Ts, **P]:\n    def put[U](self, item: T | U) -> None: ...\n",
    "an alias by type": "type Alias[T] = list[T]\nclass Shelf:\n    def put(self): ...\n",
    "quotes in an f-string": "class Shelf:\n    def put(self): return f'{self.names['a']!r:>{self.width}}'\n",
    "a template": "class Shelf:\n    def put(self): return t'{self.name}'\n",
    "exceptions without brackets": "try:\n    pass\nexcept KeyError, ValueError:\n    pass\n"
    "class Shelf:\n    def put(self): ...\n",
    "Python 2": "print 'x', 1\nexec 'y' in {}\nclass Shelf:\n    def put(self, (a, b)):\n        raise Error, 'x'\n",
    "a splat of nothing": "*, = x\nx = {**, 1: 2}\nclass Shelf:\n    def put(self): ...\n",
    "an error before": "x = = 3 $\n\n\nclass Shelf:\n    def put(self): ...\n",
}


@pytest.mark.parametrize("case", OTHER_PYTHONS)
def test_a_file_for_another_python_is_read(case):
    """The tree is that of the grammar, so what an interpreter knows changes nothing."""
    task = "from shelves import Shelf\ndef fill():\n    shelf = Shelf()\n    shelf.put()\n"
    files = {"shelves.py": OTHER_PYTHONS[case], "other.py": "class Crate:\n    def put(self): ...\n", "task.py": task}
    assert names(written.uses(files, "task.py", 2, 4)) == {"Shelf", "Shelf.put"}


BOUND = {
    "a type parameter of a function": ("def f[Item](x: Item):\n    return x.colour\n", 1, set()),
    "a type parameter of a class": (
        "class A[Item]:\n    def f(self, x: Item):\n        return x.colour, Item\n",
        2,
        set(),
    ),
    "beside one": ("def f[T](x: T, y: Item):\n    return y.colour\n", 1, {"Item.colour"}),
    "a type by its alias": ("type Other = Item\ndef f(x: Other):\n    return x.colour\n", 2, {"Item.colour"}),
    "an alias": ("type Other = Item\ndef f(x):\n    return Other\n", 2, {"Other"}),
    "an exception of Python 2": ("def f():\n    try: pass\n    except IOError, rate: rate\n", 2, set()),
    "two exceptions": ("def f():\n    try: pass\n    except IOError, Item: pass\n", 2, {"Item"}),
    "an attribute of a type": ("class A:\n    def f(self):\n        type(self).way = 1\n        self.way\n", 3, set()),
    "in a template": ("def f():\n    return t'{Item} {Item:>{rate}}'\n", 1, {"Item", "rate"}),
    "in Python 2": ("def f():\n    print >>rate, Item\n", 1, {"rate", "Item"}),
}


@pytest.mark.parametrize("case", BOUND)
def test_the_scopes_of_syntax_that_not_every_python_knows(case):
    code, first, expected = BOUND[case]
    head = "from shop.core import Item\nfrom shop.prices import rate\n"
    result = written.uses({**FILES, "task.py": head + code}, "task.py", first + 2, code.count("\n") + 2)
    assert names(result) == expected


def test_where_a_file_could_not_be_read_is_known():
    files = {"a.py": "def f():\n    return 1\n\nx = = 3\n", "b.py": "from a import f\nf()\n", "c.py": "x = = 3\n"}
    with Resolver(written.sources(files)) as resolver:
        assert names(resolver.uses("b.py", LineSpan(1, 2))) == {"f"}
        assert dict(resolver.syntax_errors) == {"a.py": 3}


PACKAGE = sorted(path for path in Path(repoeval_bench.__file__).parent.rglob("*.py"))[::6]


@pytest.mark.parametrize("path", [Path(__file__), *PACKAGE], ids=lambda path: path.name)
def test_the_names_of_a_file_are_those_that_the_running_python_finds(path):
    """In code that the oldest supported Python knows: each name, attribute and imported name with its place."""
    file = SourceFile("r", "a.py", path.read_text("utf-8"))
    module = read_module(file)
    places = (module.parsed.chars(used.place).start for used in names_of(module, LineSpan(0, file.n_lines)))
    assert sorted(places) == sorted(by_python(file))


def by_python(file):
    """The character at which each name begins, by `ast`."""
    for node in ast.walk(ast.parse(file.text)):
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute):
            line, column = node.end_lineno, node.end_col_offset - len(node.attr.encode())
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            yield from [at(file, alias.lineno, alias.col_offset)] if alias.name != "*" else ()
        if isinstance(node, ast.Name | ast.Attribute):
            yield at(file, line, column)


def at(file, line, column):
    """The character at a line (counted from 1) and a byte of it."""
    lines = LineSpan(line - 1, line)
    return file.chars_of(lines).start + len(file.line_text(lines).encode()[:column].decode())


TANGLED = {
    "pkg/__init__.py": "from .a import *\nfrom .b import make as build\n",
    "pkg/a.py": "def shown(): ...\ndef hidden(): ...\n",
    "pkg/b.py": "from __future__ import annotations\nfrom . import c\ndef make() -> c.Car: ...\n"
    "class Box:\n    def open(self) -> Way: ...\nclass Way:\n    way = 1\nAlias = Way\n",
    "pkg/c.py": "from . import b\nclass Car:\n    def go(self): return b.make()\n",
    "other/a.py": "def shown(): ...\n",
}
SHADOWS = {
    "shown(); build().go()": "shown make Car.go",
    "Box().open().way; of.way": "Box Box.open Way.way",
    "[hidden for hidden in x]": "",
    "(hidden := 1) + hidden": "",
    "lambda shown: shown": "",
    "for build in x: build()": "",
    "with x as shown: shown()": "",
    "f'{shown()}' + x[hidden:1]": "shown hidden",
}


@pytest.mark.parametrize("code", SHADOWS)
def test_names_that_are_bound_again_lead_nowhere_and_those_given_on_to_the_end(code):
    head = "from pkg import shown, build\nfrom pkg.a import hidden\nfrom pkg.b import Box, Alias\n"
    files = TANGLED | {"task.py": f"{head}def written(x, of: Alias):\n    {code}\n"}
    result = written.uses(files, "task.py", 4, 5)
    assert names(result) == set(SHADOWS[code].split())
    assert "r/other/a.py" not in {use.definition.file for use in result.used}
