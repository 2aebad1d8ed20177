"""Calls and comments, in each of the ten languages."""

import pytest

from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.occurrences import occurrences
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import segments

PYTHON = '''import os
from a import b  # why
# a comment
def f():
    """A text
    of two lines."""
    self.own(1)
    other.far(
        2,
    )
    bare()
'''
SCRIPT = """import a from "a";
const b = require("b");
export * from "c";
// a comment
bare(`a text
of two lines`);
this.own(1); other.far(
  2); new Made();
"""
JAVA = """package p;
import a.B;
/* a comment
 * of two lines */
class C { void f() { bare(); this.own(1); other.far(
  2); new Made(); String s = "x"; } }
"""
GO = """package p
import "fmt"
// a comment
func f() { bare(); other.far(
  `a text
of two lines`) }
"""
RUST = """use a::b;
mod c;
// a comment
macro_rules! m {
    () => {};
}
fn f(&self) { bare(); self.own(1); other.far(
  2); A::made(); m!(); }
"""
C = """#include <a.h>
#define LONG(x) \\
  other(x)
/* a comment */
int f() { bare(1); other->far(
  2); }
"""
CPP = """#include <a>
using std::x;
// a comment
void f() { bare(1); this->own(1); other.far(
  2); A::made(3); tpl<int>(4); new Made(5); }
"""
CSHARP = """using A;
// a comment
class C { void f() { bare(); this.own(1); other.far(
  2); new Made(1); } }
"""


def names(result):
    return [(call.name, len(call.lines)) for call in result.calls]


def look(language, text):
    (parsed,) = segments(SourceFile("r", "f", text), LANGUAGES[language])
    return occurrences(parsed)


@pytest.mark.parametrize(
    ("language", "text", "calls", "comments"),
    [
        ("python", PYTHON, [("own", 1), ("far", 3), ("bare", 1)], [1, 2]),
        *(
            (name, SCRIPT, [("require", 1), ("bare", 2), ("own", 1), ("far", 2), ("Made", 1)], [3])
            for name in ("javascript", "typescript", "tsx")
        ),
        ("java", JAVA, [("bare", 1), ("own", 1), ("far", 2), ("Made", 1)], [2]),
        ("go", GO, [("bare", 1), ("far", 3)], [2]),
        ("rust", RUST, [("bare", 1), ("own", 1), ("far", 2), ("made", 1), ("m", 1)], [2]),
        ("c", C, [("bare", 1), ("far", 2)], [3]),
        ("cpp", CPP, [("bare", 1), ("own", 1), ("far", 2), ("made", 1), ("tpl", 1), ("Made", 1)], [2]),
        ("csharp", CSHARP, [("bare", 1), ("own", 1), ("far", 2), ("Made", 1)], [1]),
    ],
)
def test_calls_with_their_lines_and_comments_are_found(language, text, calls, comments):
    result = look(language, text)
    assert names(result) == calls
    assert [span.start for span in result.comments] == comments


def test_a_file_in_pieces_finds_the_same_as_in_one():
    text = "".join(f"def f{i}():\n    call_{i}(\n        {i},\n    )\n\n\n" for i in range(40))
    file = SourceFile("r", "f", text)
    whole = names(look("python", text))
    pieces = [call for parsed in segments(file, LANGUAGES["python"], window=200) for call in names(occurrences(parsed))]
    assert pieces == whole
    assert len(whole) == 40


def test_lines_are_those_of_a_file_with_form_feeds():
    result = look("python", "x = 1\x0c\nfoo(\n  1)\n")
    assert [(call.lines.start, call.lines.end) for call in result.calls] == [(2, 4)]
