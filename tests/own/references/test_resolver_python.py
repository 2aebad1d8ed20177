"""How Python is read: lines of gold, odd line ends, deep code, and the names that Python finds."""

import ast
from pathlib import Path

import pytest

import repoeval_bench
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_names import names_of
from repoeval_bench.own.references.python_scopes import read_module
from repoeval_bench.own.references.resolver import Resolver
from support import written
from support.written import lookups, names

FILES = lookups("python")["what is imported, and members of classes"]["files"]


def uses(body, head="", *, before="def written(a, item: Item, basket: Basket):\n", **more):
    """What the indented body uses."""
    head += "from shop.core import Item, Basket, Special\nfrom shop import core\n"
    text = head + before + "".join(f"    {line}\n" for line in body.split("\n"))
    start = len((head + before).splitlines())
    files = {**FILES, **more, "shop/task.py": text}
    result = written.uses(files, "shop/task.py", start, len(text.splitlines()))
    assert result is not None
    return result


def lines_of(resolution):
    return {use.definition.name: (use.definition.lines.start + 1, use.definition.lines.end) for use in resolution}


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
    assert not uses(body)
    # A site in the hole is none; the other site of the attribute is.
    before = "class Own(Item):\n  def other(self):\n    self.depth = 1\n  def written(self):\n"
    result = uses("self.depth = 2\nself.height = 3\nself.colour = 'x'\nself.written()", before=before)
    assert names(result) == {"Own.depth", "Item.colour"}


@pytest.mark.parametrize("end", ["\f", "\x1c", "\u2028", "\x85"])
def test_line_ends_that_python_does_not_count_move_nothing(end):
    module = f"\f\nLIMIT = 1\n\f\nNOTE = '''a{end}b'''  # {end}\n\fdef far():\n    return 'é{end}', LIMIT\n"
    head = f"from shop.odd import far\nimport shop.odd\n# {end}\n"
    result = uses(f"x = '{end}'; far()\nshop.odd.LIMIT", head, **{"shop/odd.py": module})
    lines = module.splitlines()
    kept = {use.definition.name: use.definition.lines for use in result}
    assert {name: [lines[at] for at in where] for name, where in kept.items()} == {
        "LIMIT": ["LIMIT = 1"],
        "far": ["def far():"],
    }


@pytest.mark.parametrize("text", ["\f", "x = 1\f", "\fx = 1\r\ry = x\r\n", '"""\u2028"""\rx = (1,\f\n2)'])
def test_any_file_with_such_line_ends_is_read(text):
    assert not written.uses({"a.py": text}, "a.py", 0, SourceFile("r", "a.py", text).n_lines)


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
    assert result is not None or case == "annotation"


def test_names_from_outside_and_unknown_ones_have_no_definition():
    assert not uses("np.a\nlen\na.whatever\nmissing_name", "import numpy as np\n")


def test_where_a_file_could_not_be_read_is_known():
    files = {"a.py": "def f():\n    return 1\n\nx = = 3\n", "b.py": "from a import f\nf()\n", "c.py": "x = = 3\n"}
    resolver = Resolver(written.sources(files))
    assert names(resolver.uses("b.py", LineSpan(1, 2))) == {"f"}


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
