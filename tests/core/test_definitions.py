"""Definitions of ten languages, each row checked by hand against its source.

A row: kind form qualified | lines | header | body | doc | marks. Lines are 0-based and half-open, `-` is none.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.definitions import Definition, defining_nodes, definitions, definitions_around
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse, segments

PYTHON = '''\
"""Module."""
import os

try:
    import a
    A = 1
except ImportError:
    A = None

# plain
@dec
@dec2(
    1,
)
async def f(
    x,
) -> int:  # note

    # first
    r"""Doc of
    f."""

    y = 1

    def inner():
        return y
    return inner


class B(Base, metaclass=M):
    """Doc."""

    k: int = 1
    a, (b, *c) = d = x
    n: str

    @overload
    def m(self, a: int) -> int: ...
    def m(self, a): return a

    class C:
        pass
    if x:
        def cond(self): pass
self.x = 1
B.y = 2
z += 1
type T[V] = list[V]
'''
PYTHON_ROWS = """\
variable variable A | 5-6 | 5-6 | - | - |
variable variable A | 7-8 | 7-8 | - | - |
function function f | 10-27 | 10-17 | 18-27 | 19-21 |
function function f.inner | 24-26 | 24-25 | 25-26 | - |
class class B | 29-44 | 29-30 | 30-44 | 30-31 |
variable variable B.k | 32-33 | 32-33 | - | - |
variable variable B.a | 33-34 | 33-34 | - | - |
variable variable B.b | 33-34 | 33-34 | - | - |
variable variable B.c | 33-34 | 33-34 | - | - |
variable variable B.d | 33-34 | 33-34 | - | - |
variable variable B.n | 34-35 | 34-35 | - | - | declaration
method method B.m | 36-38 | 36-38 | 37-38 | - | declaration
method method B.m | 38-39 | 38-39 | 38-39 | - |
class class B.C | 40-42 | 40-41 | 41-42 | - |
method method B.cond | 43-44 | 43-44 | 43-44 | - |
class type T | 47-48 | 47-48 | - | - |
"""

TYPESCRIPT = """\
/** About A. */
@Component({
  a: 1,
})
export abstract class A {
  @Input() name: string;

  /** About m. */
  @dec()
  @dec2()
  async m<T>(a: T): Promise<T> {
    const local = 1;
    const inner = () => {
      return 2;
    };
    return a;
  }
  abstract n(): void;
}
const x = 1; // about x
function f() {}

/**
 * Adds.
 *
 * @param a one
 */
export const add = (
  a: number,
) => a + 1, { q, r: [s] } = x;

export default async function main() {
  app.get("/", function handler(req) {
    return req;
  });
}

if (x) {
  function cond() {
    return 1;
  }
}
namespace N {
  export const k = 1;
  export function z() {
    return k;
  }
}
describe("x", () => {
  it("y", () => {
    const p = 1;
  });
});
function over(a: string): void;
function over(a: any) {
  return a;
}
enum E { One, Two = 2 }
interface I<T> {
  first: T;
  second(): void;
}
declare const d: number;
type U = { a: number };
"""
TYPESCRIPT_ROWS = """\
class class A | 0-19 | 1-5 | 5-18 | 0-1 |
variable variable A.name | 5-6 | 5-6 | - | - |
method method A.m | 7-17 | 8-11 | 11-16 | 7-8 |
function arrow A.m.inner | 12-15 | 12-13 | 13-14 | - |
method method A.n | 17-18 | 17-18 | - | - | declaration
variable variable x | 19-20 | 19-20 | - | - |
function function f | 20-21 | 20-21 | 21-21 | - |
function arrow add | 22-30 | 27-30 | 29-30 | 22-27 |
variable variable q | 22-30 | 27-30 | - | 22-27 |
variable variable s | 22-30 | 27-30 | - | 22-27 |
function function main | 31-36 | 31-32 | 32-35 | - |
function function cond | 38-41 | 38-39 | 39-40 | - |
variable variable k | 43-44 | 43-44 | - | - |
function function z | 44-47 | 44-45 | 45-46 | - |
function function over | 53-54 | 53-54 | - | - | declaration
function function over | 54-57 | 54-55 | 55-56 | - |
class enum E | 57-58 | 57-58 | 57-58 | - |
variable enumerator E.One | 57-58 | 57-58 | - | - |
variable enumerator E.Two | 57-58 | 57-58 | - | - |
class interface I | 58-62 | 58-59 | 59-61 | - |
variable property I.first | 59-60 | 59-60 | - | - |
method method I.second | 60-61 | 60-61 | - | - | declaration
variable variable d | 62-63 | 62-63 | - | - | declaration
class type U | 63-64 | 63-64 | - | - |
variable property U.a | 63-64 | 63-64 | - | - |
"""

JAVASCRIPT = """\
/**
 * About make.
 */
exports.make = function (a) {
  return a;
};
Point.prototype.move = (x) => {
  this.x += x;
};
module.exports = { make };
const api = {
  get() {
    return 1;
  },
  post: async () => {
    return 2;
  },
  size: 3,
};
export default class extends Base {
  #hidden = 1;
  static of = () => {
    return new this();
  };
  get size() {
    return this.#hidden;
  }
}
function* numbers() {
  yield 1;
}
plain = function () {};
"""
JAVASCRIPT_ROWS = """\
function function make | 0-6 | 3-4 | 4-5 | 0-3 |
method arrow Point.move | 6-9 | 6-7 | 7-8 | - |
variable variable api | 10-19 | 10-19 | - | - |
method method api.get | 11-14 | 11-12 | 12-13 | - |
method arrow api.post | 14-17 | 14-15 | 15-16 | - |
class class default | 19-28 | 19-20 | 20-27 | - |
variable variable default.#hidden | 20-21 | 20-21 | - | - |
method arrow default.of | 21-24 | 21-22 | 22-23 | - |
method method default.size | 24-27 | 24-25 | 25-26 | - |
function function numbers | 28-31 | 28-29 | 29-30 | - |
"""

TSX = """\
type Props = { a: string };

// no doc
export function List({ a }: Props) {
  return (
    <ul>
      <li>{a}</li>
    </ul>
  );
}
export const Item = memo((p: Props) => <li>{p.a}</li>);
"""
TSX_ROWS = """\
class type Props | 0-1 | 0-1 | - | - |
variable property Props.a | 0-1 | 0-1 | - | - |
function function List | 3-10 | 3-4 | 4-9 | - |
variable variable Item | 10-11 | 10-11 | - | - |
"""

JAVA = """\
package a;

/**
 * About A.
 */
@Named("a")
public class A<T extends B>
    implements I {
  private int a, b = 2;
  // plain

  /** Makes one. */
  public A(int a) {
    this.a = a;
  }
  enum E {
    ONE(1) {
      void f() {}
    },
    TWO;

    void g() {
      h();
    }
  }
  record P(int x) {}
  interface Inner {
    int K = 1;
    void m();
    default void n() {
      class Local {
        int hidden;
      }
    }
  }
  void r() {
    new Thread(new Runnable() {
      @Override
      public void run() {
        go();
      }
    }).start();
  }
}
"""
JAVA_ROWS = """\
class class A | 2-44 | 5-8 | 8-43 | 2-5 |
variable field A.a | 8-9 | 8-9 | - | - |
variable field A.b | 8-9 | 8-9 | - | - |
method constructor A.A | 11-15 | 12-13 | 13-14 | 11-12 |
class enum A.E | 15-25 | 15-16 | 16-24 | - |
variable enumerator A.E.ONE | 16-19 | 16-17 | 17-18 | - |
method method A.E.ONE.f | 17-18 | 17-18 | 18-18 | - |
variable enumerator A.E.TWO | 19-20 | 19-20 | - | - |
method method A.E.g | 21-24 | 21-22 | 22-23 | - |
class record A.P | 25-26 | 25-26 | 26-26 | - |
class interface A.Inner | 26-35 | 26-27 | 27-34 | - |
variable constant A.Inner.K | 27-28 | 27-28 | - | - |
method method A.Inner.m | 28-29 | 28-29 | - | - | declaration
method method A.Inner.n | 29-34 | 29-30 | 30-33 | - |
class class A.Inner.n.Local | 30-33 | 30-31 | 31-32 | - |
variable field A.Inner.n.Local.hidden | 31-32 | 31-32 | - | - |
method method A.r | 35-43 | 35-36 | 36-42 | - |
method method A.r.run | 37-41 | 37-39 | 39-40 | - |
"""

GO = """\
package a

import "fmt"

// F is about f.
// It has two lines.
func F(a int) int {
	// first
	return a
}

var last = 1 // about last
func (s *Set[T]) Add(a T) {
	each := func() {}
	each()
}

// Set is a set.
type Set[T any] struct {
	first, second int // both
	// Third is one.
	Third string
	fmt.Stringer
}

type (
	// I is one.
	I interface {
		M(a int) int
	}
	J = int
)

const (
	One = iota
	Two
)

var x, _ = 1, 2
"""
GO_ROWS = """\
function function F | 4-10 | 6-7 | 7-9 | 4-6 |
variable variable last | 11-12 | 11-12 | - | - |
method method Set.Add | 12-16 | 12-13 | 13-15 | - |
class struct Set | 17-24 | 18-19 | 19-23 | 17-18 |
variable field Set.first | 19-20 | 19-20 | - | - |
variable field Set.second | 19-20 | 19-20 | - | - |
variable field Set.Third | 20-22 | 21-22 | - | 20-21 |
class interface I | 26-30 | 27-28 | 28-29 | 26-27 |
method method I.M | 28-29 | 28-29 | - | - | declaration
class type J | 30-31 | 30-31 | - | - |
variable constant One | 34-35 | 34-35 | - | - |
variable constant Two | 35-36 | 35-36 | - | - |
variable variable x | 38-39 | 38-39 | - | - |
"""

RUST = """\
//! About the file.

/// About S.
#[derive(Debug)]
pub struct S<T> {
    /// the a
    pub a: T, // note
    b: u8,
}

// plain
impl<T> fmt::Display for m::S<T>
where
    T: X,
{
    const K: u8 = 1;

    /// Shows.
    #[inline]
    fn show(&self) -> String {
        fn nested() -> u8 {
            1
        }
        let c = |x| x + 1;
        format!("{}", c(1))
    }
}

pub trait Tr: Sized {
    type O;
    fn one(&self) -> Self::O;
    async fn two(&self) {}
}
#[cfg(test)]
mod tests {
    static N: u8 = 1;

    #[test]
    fn works() {}
}
enum E {
    A,
    B { x: u8 },
}
macro_rules! m {
    () => {};
}
extern "C" {
    fn far(a: u8);
}
"""
RUST_ROWS = """\
class struct S | 2-9 | 3-5 | 5-8 | 2-3 |
variable field S.a | 5-7 | 6-7 | - | 5-6 |
variable field S.b | 7-8 | 7-8 | - | - |
class impl S | 11-27 | 11-14 | 15-26 | - |
variable constant S.K | 15-16 | 15-16 | - | - |
method method S.show | 17-26 | 18-20 | 20-25 | 17-18 |
function function S.show.nested | 20-23 | 20-21 | 21-22 | - |
class trait Tr | 28-33 | 28-29 | 29-32 | - |
class type Tr.O | 29-30 | 29-30 | - | - |
method method Tr.one | 30-31 | 30-31 | - | - | declaration
method method Tr.two | 31-32 | 31-32 | 32-32 | - |
variable constant N | 35-36 | 35-36 | - | - |
function function works | 37-39 | 37-39 | 39-39 | - |
class enum E | 40-44 | 40-41 | 41-43 | - |
variable enumerator E.A | 41-42 | 41-42 | - | - |
variable enumerator E.B | 42-43 | 42-43 | 42-43 | - |
function macro m | 44-47 | 44-47 | - | - |
function function far | 48-49 | 48-49 | - | - | declaration
"""

C = """\
#ifndef X_H
#define X_H
#define N 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#ifdef __cplusplus
extern "C" {
#endif

/** About f. */
int f(void);

typedef struct point {
    int x; /**< not above y */
    int y, *z;
    void (*act)(int);
} point_t, *point_p;

typedef struct {
    int n;
} anonymous;
typedef int (*compare_fn)(int, int);

static inline int
g(int a)
{
    /* first */
    return a;
}
int *pointer(void) { return 0; }
int (*handler)(int) = g, table[2] = {1, 2};
int (*pick(int a))(int)
{
    struct local { int hidden; };
    return g;
}
extern int far;
struct later;
enum e { E1, E2 = 2 };

#ifdef __cplusplus
}
#endif
#endif
"""
C_ROWS = """\
variable macro N | 2-3 | 2-3 | - | - |
function macro MAX | 3-4 | 3-4 | - | - |
function function f | 8-10 | 9-10 | - | 8-9 | declaration
class struct point | 11-16 | 11-12 | 12-15 | - |
class type point_t | 11-16 | 11-16 | - | - |
class type point_p | 11-16 | 11-16 | - | - |
variable variable point.x | 12-13 | 12-13 | - | - |
variable variable point.y | 13-14 | 13-14 | - | - |
variable variable point.z | 13-14 | 13-14 | - | - |
variable variable point.act | 14-15 | 14-15 | - | - |
class struct anonymous | 17-20 | 17-18 | 18-19 | - |
variable variable anonymous.n | 18-19 | 18-19 | - | - |
class type compare_fn | 20-21 | 20-21 | - | - |
function function g | 22-28 | 22-24 | 25-27 | - |
function function pointer | 28-29 | 28-29 | 28-29 | - |
variable variable handler | 29-30 | 29-30 | - | - |
variable variable table | 29-30 | 29-30 | - | - |
function function pick | 30-35 | 30-31 | 32-34 | - |
class struct pick.local | 32-33 | 32-33 | 32-33 | - |
variable variable pick.local.hidden | 32-33 | 32-33 | - | - |
variable variable far | 35-36 | 35-36 | - | - | declaration
class struct later | 36-37 | 36-37 | - | - | declaration
class enum e | 37-38 | 37-38 | 37-38 | - |
variable enumerator e.E1 | 37-38 | 37-38 | - | - |
variable enumerator e.E2 | 37-38 | 37-38 | - | - |
"""

CPP = """\
#include <vector>
namespace ns::inner {
/// About A.
template <typename T>
class A : public B {
 public:
  A(int a) : a_(a) {}
  ~A();
  virtual int m() const = 0;
  T operator+(T o) { return o; }
  explicit operator bool() const;
  static constexpr int k = 1;
  using V = int;
  friend class C;
  enum class E { X, Y };
  template <class U>
  void tm(U u);

 private:
  int a_, *b_;
};

template <typename T>
template <class U>
void A<T>::tm(U u) {
  auto l = [](int a) { return a; };
}
int inner::A::m() const { return 1; }
void ns::free() {}
class Later;
}  // namespace
int A::count = 0;
int &r(int a) try {
  return a;
} catch (...) {
}
"""
CPP_ROWS = """\
class class A | 2-21 | 3-5 | 5-20 | 2-3 |
method method A.A | 6-7 | 6-7 | 7-7 | - |
method method A.~A | 7-8 | 7-8 | - | - | declaration
method method A.m | 8-9 | 8-9 | - | - | declaration
method method A.operator+ | 9-10 | 9-10 | 9-10 | - |
method method A.operator bool | 10-11 | 10-11 | - | - | declaration
variable variable A.k | 11-12 | 11-12 | - | - |
class type A.V | 12-13 | 12-13 | - | - |
class enum A.E | 14-15 | 14-15 | 14-15 | - |
variable enumerator A.E.X | 14-15 | 14-15 | - | - |
variable enumerator A.E.Y | 14-15 | 14-15 | - | - |
method method A.tm | 15-17 | 15-17 | - | - | declaration
variable variable A.a_ | 19-20 | 19-20 | - | - |
variable variable A.b_ | 19-20 | 19-20 | - | - |
method method A.tm | 22-27 | 22-25 | 25-26 | - |
method method A.m | 27-28 | 27-28 | 27-28 | - |
function function free | 28-29 | 28-29 | 29-29 | - |
class class Later | 29-30 | 29-30 | - | - | declaration
variable variable A.count | 31-32 | 31-32 | - | - |
function function r | 32-36 | 32-33 | 33-34 | - |
"""

CSHARP = """\
namespace N
{
    /// <summary>
    /// Doubles <paramref name="a"/>.
    /// </summary>
    [Obsolete]
    [Other]
    public static class Tools : IBase
    {
        public static int Twice(
            int a)
        {
            return 2 * a;

        }

        public int Auto { get; set; } = 3;
        public int Full
        {
            get
            {
                return 1;
            }
        }
        public int Short => 1;
        private int a, b = 2;
        public event EventHandler Changed;
        ~Tools() { }
        public static Tools operator +(Tools a, Tools b) => a;
        public int this[int i] { get { return i; } }
        void IBase.Run()
        {
            int Local(int x)
            {
                return x;
            }
        }
        delegate int Call(int a);
    }
    public record Point(int X, int Y);
    interface IBase { void Run(); }
    enum Side { Left, Right = 2 }
}
"""
CSHARP_ROWS = """\
class class Tools | 2-39 | 5-8 | 9-38 | 2-5 |
method method Tools.Twice | 9-15 | 9-11 | 12-13 | - |
variable property Tools.Auto | 16-17 | 16-17 | - | - |
method property Tools.Full | 17-24 | 17-18 | 19-23 | - |
method property Tools.Short | 24-25 | 24-25 | 24-25 | - |
variable field Tools.a | 25-26 | 25-26 | - | - |
variable field Tools.b | 25-26 | 25-26 | - | - |
variable event Tools.Changed | 26-27 | 26-27 | - | - |
method destructor Tools.~Tools | 27-28 | 27-28 | 28-28 | - |
method operator Tools.operator + | 28-29 | 28-29 | 28-29 | - |
method indexer Tools.this | 29-30 | 29-30 | 29-30 | - |
method method Tools.Run | 30-37 | 30-31 | 32-36 | - |
function function Tools.Run.Local | 32-36 | 32-33 | 34-35 | - |
class delegate Tools.Call | 37-38 | 37-38 | - | - |
class record Point | 39-40 | 39-40 | - | - |
class interface IBase | 40-41 | 40-41 | 40-41 | - |
method method IBase.Run | 40-41 | 40-41 | - | - | declaration
class enum Side | 41-42 | 41-42 | 41-42 | - |
variable enumerator Side.Left | 41-42 | 41-42 | - | - |
variable enumerator Side.Right | 41-42 | 41-42 | - | - |
"""
SAMPLES = {
    "python": (PYTHON, PYTHON_ROWS),
    "typescript": (TYPESCRIPT, TYPESCRIPT_ROWS),
    "javascript": (JAVASCRIPT, JAVASCRIPT_ROWS),
    "tsx": (TSX, TSX_ROWS),
    "java": (JAVA, JAVA_ROWS),
    "go": (GO, GO_ROWS),
    "rust": (RUST, RUST_ROWS),
    "c": (C, C_ROWS),
    "cpp": (CPP, CPP_ROWS),
    "csharp": (CSHARP, CSHARP_ROWS),
}


def defined(language: str, text: str) -> tuple[Definition, ...]:
    return definitions(SourceFile("r", "a", text), LANGUAGES[language])


def span(lines: LineSpan | None) -> str:
    return f"{lines.start}-{lines.end}" if lines else "-" if lines is None else f"{lines.start}-{lines.start}"


def row(definition: Definition) -> str:
    doc = definition.doc.lines if definition.doc else None
    marks = " ".join(marker for marker in ("declaration", "broken") if getattr(definition, marker))
    cells = (
        f"{definition.kind} {definition.form} {definition.qualified}",
        *map(span, (definition.lines, definition.header, definition.body, doc)),
        marks,
    )
    return " | ".join(cells).rstrip()


@pytest.mark.parametrize("language", SAMPLES)
def test_each_definition_is_where_it_is(language: str) -> None:
    text, rows = SAMPLES[language]
    assert [row(definition) for definition in defined(language, text)] == rows.splitlines()


def around(definitions: Sequence[Definition], line: int) -> list[tuple[Definition, str | None]]:
    """Each definition around a line, with the name of the one around it."""
    names = [definition.qualified for definition in definitions]
    return [
        (replace(definition, parent=None), None if definition.parent is None else names[definition.parent])
        for definition in definitions
        if definition.named < line < definition.lines.end
    ]


NAMESPACE = "namespace foo {\nvoid bar();\n}\n\nvoid foo::bar()\n{\n    int a;\n}\n"


@pytest.mark.parametrize(
    ("language", "text"), [*((name, text) for name, (text, _) in SAMPLES.items()), ("cpp", NAMESPACE)]
)
def test_the_definitions_around_a_line_are_those_of_the_file(language: str, text: str) -> None:
    whole = defined(language, text)
    file = SourceFile("r", "a", text)
    for line in range(text.count("\n")):
        assert around(definitions_around(file, LANGUAGES[language], (line,)), line) == around(whole, line)


def one(language: str, text: str, name: str) -> Definition:
    return next(definition for definition in defined(language, text) if definition.qualified == name)


@pytest.mark.parametrize(
    ("language", "name", "signature", "doc"),
    [
        ("python", "f", "async def f( x, ) -> int", "Doc of\nf."),
        ("typescript", "add", "add = ( a: number, )", "Adds.\n\n@param a one"),
        ("javascript", "make", "exports.make = function (a)", "About make."),
        ("java", "A", '@Named("a") public class A<T extends B> implements I', "About A."),
        ("go", "F", "func F(a int) int", "F is about f.\nIt has two lines."),
        ("rust", "S", "pub struct S<T>", "About S."),
        ("c", "f", "int f(void)", "About f."),
        ("cpp", "A", "class A : public B", "About A."),
        ("csharp", "Tools", "[Obsolete] [Other] public static class Tools : IBase", "Doubles a."),
    ],
)
def test_signatures_are_one_line_and_docs_are_without_marks(language: str, name: str, signature: str, doc: str) -> None:
    definition = one(language, SAMPLES[language][0], name)
    assert (definition.signature, definition.doc.text if definition.doc else "") == (signature, doc)


def test_the_lines_of_a_doc_comment_stay_one_paragraph() -> None:
    """In Rust such a line comment holds its own line end."""
    for language, head, marker, code in (
        *(("rust", "", "///", "fn f() {}"), ("go", "package p\n\n", "//", "func f() {}")),
        ("csharp", "class A {\n", "///", "void f() {} }"),
    ):
        text = f"{head}{marker} Say it in\n{marker} two lines.\n{marker}\n{marker} More.\n{code}\n"
        (doc,) = [definition.doc for definition in defined(language, text) if definition.name == "f"]
        assert doc
        assert doc.text == "Say it in\ntwo lines.\n\nMore.", language


def test_a_comment_above_is_not_a_doc_and_one_behind_code_is_not_above() -> None:
    text = "/* plain */\nint f(void);\n\n/** about nothing */\n\nint g(void);\nint x; /** about x */\nint h(void);\n"
    result = [
        (definition.name, definition.doc, definition.lines.start, definition.above) for definition in defined("c", text)
    ]
    assert result == [("f", None, 1, 0), ("g", None, 5, 5), ("x", None, 6, 6), ("h", None, 7, 7)]


@pytest.mark.parametrize("brace", [" {", "\n{"])
@pytest.mark.parametrize("comment", ["", " // why", " /* why */"])
def test_a_comment_behind_the_brace_is_not_in_the_body(brace: str, comment: str) -> None:
    text = f"int f(int x){brace}{comment}\n  return x;\n}}\n"
    (only,) = defined("cpp", text)
    body = text.split("\n").index("  return x;")
    assert only.body == LineSpan(body, body + 1)


def test_a_class_behind_a_macro_is_a_class() -> None:
    text = "class EXPORT A {\n  int m() {\n    return 1;\n  }\n};\nint B {\n}\n"
    assert [(element.kind, element.qualified) for element in defined("cpp", text)] == [
        ("class", "A"),
        ("method", "A.m"),
    ]
    for base in ("B", "std::runtime_error", "B<int>"):
        every = defined("cpp", f"class EXPORT A : public {base} {{\n  int x;\n}};\n")
        assert ("class", "A") in [(item.kind, item.qualified) for item in every]
        assert base not in [definition.name for definition in every]


@pytest.mark.parametrize(
    ("language", "text"), [("javascript", "export default 1;\n"), ("cpp", "template <typename T>\n;\n")]
)
def test_what_has_no_name_is_no_definition(language: str, text: str) -> None:
    assert defined(language, text) == ()


def test_a_parent_is_what_is_around_and_comes_first() -> None:
    every = defined("java", JAVA)
    names = {index: definition.qualified for index, definition in enumerate(every)}
    for index, definition in enumerate(every):
        if definition.parent is not None:
            assert definition.parent < index
            assert definition.qualified == f"{names[definition.parent]}.{definition.name}"
            assert every[definition.parent].lines.contains(definition.lines)


def test_what_is_broken_says_so_and_the_rest_is_found() -> None:
    text = "def f(:\n    return 1\n\n\ndef g():\n    return 2\n"
    assert [definition.name for definition in defined("python", text) if not definition.broken] == ["g"]
    assert [row(definition) for definition in defined("cpp", "A::A() : x(1) try {\n} catch (...) {\n}\n")] == [
        "method method A.A | 0-2 | 0-1 | 1-1 | - | broken"
    ]


@pytest.mark.parametrize("language", SAMPLES)
def test_line_ends_and_other_text_around_move_nothing(language: str) -> None:
    text = SAMPLES[language][0]
    plain = defined(language, text)
    assert [*map(row, defined(language, text.replace("\n", "\r\n")))] == [*map(row, plain)]
    assert [item.name for item in defined(language, "\n\n" + text)] == [definition.name for definition in plain]
    assert defined(language, "") == ()
    assert defined(language, "\x00\udcff\x00\n") == ()


def test_a_file_read_piece_by_piece_defines_the_same(monkeypatch) -> None:
    """Above the window of the parser a file is cut between statements on the outermost level."""
    monkeypatch.setattr(segments, "__defaults__", (1_000,))
    text = PYTHON + "".join(f"\n\n# about f{n}\n@d\ndef f{n}(a):\n    def g(): pass\n    return a\n" for n in range(40))
    file = SourceFile("r", "a.py", text)
    assert len(list(segments(file, LANGUAGES["python"]))) > 1
    defined = [defined for defined, _ in defining_nodes(parse(file, LANGUAGES["python"]))]
    assert [*definitions(file, LANGUAGES["python"])] == defined


@pytest.mark.parametrize("language", SAMPLES)
@given(data=st.data())
def test_any_part_of_a_file_gives_spans_within_it(language: str, data: st.DataObject) -> None:
    """Lines left out, doubled and moved: whatever is found keeps its promises."""
    lines = SAMPLES[language][0].splitlines(keepends=True)
    text = "".join(data.draw(st.lists(st.sampled_from([*lines, "\f", "}\n", "(\n", '"""\n']), max_size=40)))
    n_lines = SourceFile("r", "a", text).n_lines
    for definition in defined(language, text):
        assert definition.name
        assert definition.lines.end <= n_lines
        assert definition.lines.contains(definition.header)
        assert definition.above <= definition.lines.start
        assert definition.body is None or (
            definition.header.start <= definition.body.start and definition.body.end <= definition.lines.end
        )
