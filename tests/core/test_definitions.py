"""Definitions of ten languages, each row checked by hand against its source.

A row: kind form qualified | lines | header | body | doc | marks. Lines are 0-based and half-open, `-` is none.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.definitions import Definition, defining_nodes, definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse, segments

PYTHON = '''\
try:
    A = 1
except ImportError:
    A = None

# plain
@dec
async def f(
    x,
) -> int:  # note

    # first
    r"""Doc of
    f."""

    y = 1

    def inner():
        return y


class B(Base, metaclass=M):
    """Doc."""

    a, (b, *c) = d = x
    n: str

    @overload
    def m(self, a: int) -> int: ...
    def m(self, a): return a

    class C:
        pass
self.x = 1
z += 1
type T[V] = list[V]
'''
PYTHON_ROWS = """\
variable variable A | 1-2 | 1-2 | - | - |
variable variable A | 3-4 | 3-4 | - | - |
function function f | 6-19 | 6-10 | 11-19 | 12-14 |
function function f.inner | 17-19 | 17-18 | 18-19 | - |
class class B | 21-33 | 21-22 | 22-33 | 22-23 |
variable variable B.a | 24-25 | 24-25 | - | - |
variable variable B.b | 24-25 | 24-25 | - | - |
variable variable B.c | 24-25 | 24-25 | - | - |
variable variable B.d | 24-25 | 24-25 | - | - |
variable variable B.n | 25-26 | 25-26 | - | - | declaration
method method B.m | 27-29 | 27-29 | 28-29 | - | declaration
method method B.m | 29-30 | 29-30 | 29-30 | - |
class class B.C | 31-33 | 31-32 | 32-33 | - |
class type T | 35-36 | 35-36 | - | - |
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
  async m<T>(a: T): Promise<T> {
    const inner = () => {
      return 2;
    };
  }
  abstract n(): void;
}
/**
 * Adds.
 *
 * @param a one
 */
export const add = (
  a: number,
) => a + 1, { q, r: [s] } = x;
namespace N {
  export const k = 1;
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
class class A | 0-15 | 1-5 | 5-14 | 0-1 |
variable variable A.name | 5-6 | 5-6 | - | - |
method method A.m | 6-13 | 7-9 | 9-12 | 6-7 |
function arrow A.m.inner | 9-12 | 9-10 | 10-11 | - |
method method A.n | 13-14 | 13-14 | - | - | declaration
function arrow add | 15-23 | 20-23 | 22-23 | 15-20 |
variable variable q | 15-23 | 20-23 | - | 15-20 |
variable variable s | 15-23 | 20-23 | - | 15-20 |
variable variable k | 24-25 | 24-25 | - | - |
function function over | 31-32 | 31-32 | - | - | declaration
function function over | 32-35 | 32-33 | 33-34 | - |
class enum E | 35-36 | 35-36 | 35-36 | - |
variable enumerator E.One | 35-36 | 35-36 | - | - |
variable enumerator E.Two | 35-36 | 35-36 | - | - |
class interface I | 36-40 | 36-37 | 37-39 | - |
variable property I.first | 37-38 | 37-38 | - | - |
method method I.second | 38-39 | 38-39 | - | - | declaration
variable variable d | 40-41 | 40-41 | - | - | declaration
class type U | 41-42 | 41-42 | - | - |
variable property U.a | 41-42 | 41-42 | - | - |
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
  post: async () => {
    return 2;
  },
};
export default class extends Base {
  static of = () => {
    return new this();
  };
}
function* numbers() {
  yield 1;
}
plain = function () {};
"""
JAVASCRIPT_ROWS = """\
function function make | 0-6 | 3-4 | 4-5 | 0-3 |
method arrow Point.move | 6-9 | 6-7 | 7-8 | - |
variable variable api | 10-15 | 10-15 | - | - |
method arrow api.post | 11-14 | 11-12 | 12-13 | - |
class class default | 15-20 | 15-16 | 16-19 | - |
method arrow default.of | 16-19 | 16-17 | 17-18 | - |
function function numbers | 20-23 | 20-21 | 21-22 | - |
"""

TSX = """\
type Props = { a: string };
export function List({ a }: Props) {
  return (
    <ul>
    </ul>
  );
}
export const Item = memo((p: Props) => <li>{p.a}</li>);
"""
TSX_ROWS = """\
class type Props | 0-1 | 0-1 | - | - |
variable property Props.a | 0-1 | 0-1 | - | - |
function function List | 1-7 | 1-2 | 2-6 | - |
function arrow Item | 7-8 | 7-8 | 7-8 | - |
"""

JAVA = """\
package a;

/**
 * About A.
 */
@Named("a")
public class A<T extends B>
    implements I {
  /** Makes one. */
  public A(int a) {
    this.a = a;
  }
  enum E {
    ONE(1) {
      void f() {}
    },
    TWO;
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
}
"""
JAVA_ROWS = """\
class class A | 2-29 | 5-8 | 8-28 | 2-5 |
method constructor A.A | 8-12 | 9-10 | 10-11 | 8-9 |
class enum A.E | 12-18 | 12-13 | 13-17 | - |
variable enumerator A.E.ONE | 13-16 | 13-14 | 14-15 | - |
method method A.E.ONE.f | 14-15 | 14-15 | 15-15 | - |
variable enumerator A.E.TWO | 16-17 | 16-17 | - | - |
class record A.P | 18-19 | 18-19 | 19-19 | - |
class interface A.Inner | 19-28 | 19-20 | 20-27 | - |
variable constant A.Inner.K | 20-21 | 20-21 | - | - |
method method A.Inner.m | 21-22 | 21-22 | - | - | declaration
method method A.Inner.n | 22-27 | 22-23 | 23-26 | - |
class class A.Inner.n.Local | 23-26 | 23-24 | 24-25 | - |
variable field A.Inner.n.Local.hidden | 24-25 | 24-25 | - | - |
"""

GO = """\
package a

// F is about f.
// It has two lines.
func F(a int) int {
	return a
}
func (s *Set[T]) Add(a T) {
	each := func() {}
	each()
}
// Set is a set.
type Set[T any] struct {
	first, second int // both
	// Third is one.
	Third string
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
function function F | 2-7 | 4-5 | 5-6 | 2-4 |
method method Set.Add | 7-11 | 7-8 | 8-10 | - |
class struct Set | 11-17 | 12-13 | 13-16 | 11-12 |
variable field Set.first | 13-14 | 13-14 | - | - |
variable field Set.second | 13-14 | 13-14 | - | - |
variable field Set.Third | 14-16 | 15-16 | - | 14-15 |
class interface I | 18-22 | 19-20 | 20-21 | 18-19 |
method method I.M | 20-21 | 20-21 | - | - | declaration
class type J | 22-23 | 22-23 | - | - |
variable constant One | 25-26 | 25-26 | - | - |
variable constant Two | 26-27 | 26-27 | - | - |
variable variable x | 28-29 | 28-29 | - | - |
"""

RUST = """\
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
        let c = |x| x + 1;
        format!("{}", c(1))
    }
}
pub trait Tr: Sized {
    type O;
    fn one(&self) -> Self::O;
    async fn two(&self) {}
}
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
class struct S | 0-7 | 1-3 | 3-6 | 0-1 |
variable field S.a | 3-5 | 4-5 | - | 3-4 |
variable field S.b | 5-6 | 5-6 | - | - |
class impl S | 8-20 | 8-11 | 12-19 | - |
variable constant S.K | 12-13 | 12-13 | - | - |
method method S.show | 13-19 | 14-16 | 16-18 | 13-14 |
class trait Tr | 20-25 | 20-21 | 21-24 | - |
class type Tr.O | 21-22 | 21-22 | - | - |
method method Tr.one | 22-23 | 22-23 | - | - | declaration
method method Tr.two | 23-24 | 23-24 | 24-24 | - |
variable constant N | 26-27 | 26-27 | - | - |
function function works | 27-29 | 27-29 | 29-29 | - |
class enum E | 30-34 | 30-31 | 31-33 | - |
variable enumerator E.A | 31-32 | 31-32 | - | - |
variable enumerator E.B | 32-33 | 32-33 | 32-33 | - |
function macro m | 34-37 | 34-37 | - | - |
function function far | 38-39 | 38-39 | - | - | declaration
"""

C = """\
#define N 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))
extern "C" {
/** About f. */
int f(void);
typedef struct point {
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
int (*pick(int a))(int)
{
    struct local { int hidden; };
    return g;
}
extern int far;
struct later;
enum e { E1, E2 = 2 };
}
"""
C_ROWS = """\
variable macro N | 0-1 | 0-1 | - | - |
function macro MAX | 1-2 | 1-2 | - | - |
function function f | 3-5 | 4-5 | - | 3-4 | declaration
class struct point | 5-9 | 5-6 | 6-8 | - |
class type point_t | 5-9 | 5-9 | - | - |
class type point_p | 5-9 | 5-9 | - | - |
variable variable point.y | 6-7 | 6-7 | - | - |
variable variable point.z | 6-7 | 6-7 | - | - |
variable variable point.act | 7-8 | 7-8 | - | - |
class struct anonymous | 9-12 | 9-10 | 10-11 | - |
variable variable anonymous.n | 10-11 | 10-11 | - | - |
class type compare_fn | 12-13 | 12-13 | - | - |
function function g | 13-19 | 13-15 | 16-18 | - |
function function pick | 19-24 | 19-20 | 21-23 | - |
class struct pick.local | 21-22 | 21-22 | 21-22 | - |
variable variable pick.local.hidden | 21-22 | 21-22 | - | - |
variable variable far | 24-25 | 24-25 | - | - | declaration
class struct later | 25-26 | 25-26 | - | - | declaration
class enum e | 26-27 | 26-27 | 26-27 | - |
variable enumerator e.E1 | 26-27 | 26-27 | - | - |
variable enumerator e.E2 | 26-27 | 26-27 | - | - |
"""

CPP = """\
namespace ns::inner {
/// About A.
template <typename T>
class A : public B {
  virtual int m() const = 0;
  explicit operator bool() const;
  static constexpr int k = 1;
  using V = int;
  enum class E { X, Y };
  template <class U>
  void tm(U u);
};
template <class U>
void A<T>::tm(U u) {
  auto l = [](int a) { return a; };
}
int inner::A::m() const { return 1; }
void ns::free() {}
class Later;
}  // namespace
int &r(int a) try {
  return a;
} catch (...) {
}
"""
CPP_ROWS = """\
class class A | 1-12 | 2-4 | 4-11 | 1-2 |
method method A.m | 4-5 | 4-5 | - | - | declaration
method method A.operator bool | 5-6 | 5-6 | - | - | declaration
variable variable A.k | 6-7 | 6-7 | - | - |
class type A.V | 7-8 | 7-8 | - | - |
class enum A.E | 8-9 | 8-9 | 8-9 | - |
variable enumerator A.E.X | 8-9 | 8-9 | - | - |
variable enumerator A.E.Y | 8-9 | 8-9 | - | - |
method method A.tm | 9-11 | 9-11 | - | - | declaration
method method A.tm | 12-16 | 12-14 | 14-15 | - |
method method A.m | 16-17 | 16-17 | 16-17 | - |
function function free | 17-18 | 17-18 | 18-18 | - |
class class Later | 18-19 | 18-19 | - | - | declaration
function function r | 20-24 | 20-21 | 21-22 | - |
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
        public int Auto { get; set; } = 3;
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
class class Tools | 2-25 | 5-8 | 9-24 | 2-5 |
variable property Tools.Auto | 9-10 | 9-10 | - | - |
method property Tools.Short | 10-11 | 10-11 | 10-11 | - |
variable field Tools.a | 11-12 | 11-12 | - | - |
variable field Tools.b | 11-12 | 11-12 | - | - |
variable event Tools.Changed | 12-13 | 12-13 | - | - |
method destructor Tools.~Tools | 13-14 | 13-14 | 14-14 | - |
method operator Tools.operator + | 14-15 | 14-15 | 14-15 | - |
method indexer Tools.this | 15-16 | 15-16 | 15-16 | - |
method method Tools.Run | 16-23 | 16-17 | 18-22 | - |
function function Tools.Run.Local | 18-22 | 18-19 | 20-21 | - |
class delegate Tools.Call | 23-24 | 23-24 | - | - |
class record Point | 25-26 | 25-26 | - | - |
class interface IBase | 26-27 | 26-27 | 26-27 | - |
method method IBase.Run | 26-27 | 26-27 | - | - | declaration
class enum Side | 27-28 | 27-28 | 27-28 | - |
variable enumerator Side.Left | 27-28 | 27-28 | - | - |
variable enumerator Side.Right | 27-28 | 27-28 | - | - |
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
        assert around(definitions(file, LANGUAGES[language], (line,)), line) == around(whole, line)


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
    assert one("python", "def f():\n    g(1)\n", "f").doc is None


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


WRAPPED = {
    "memo": ("const A = memo((p) => {\n  return p;\n});\n", "function A"),
    "of a namespace": ("export const A = React.forwardRef((p, ref) => {\n  return p;\n});\n", "function A"),
    "one in another": ("const A = memo(forwardRef(function B(p) {\n  return p;\n}));\n", "function A"),
    "with more arguments": ("const A = memo(function (p) {\n  return p;\n}, (a, b) => a === b);\n", "function A"),
    "made before": ("const A = connect(state)((p) => {\n  return p;\n});\n", "function A"),
    "exported without a name": ("export default memo((p) => {\n  return p;\n});\n", "function default"),
    "exported with a name": ("export default memo(function A(p) {\n  return p;\n});\n", "function A"),
    "assigned": ("exports.A = memo((p) => {\n  return p;\n});\n", "function A"),
    "a method's result is a value": ("const a = rows.map((p) => {\n  return p;\n});\n", "variable a"),
    "a function further behind": ("const a = reduce(rows, (p) => {\n  return p;\n});\n", "variable a"),
    "a name": ("const A = memo(B);\n", "variable A"),
    "in a function": ("function f() {\n  const a = useMemo(() => {\n    return 1;\n  });\n}\n", "function f"),
}


@pytest.mark.parametrize("language", ["javascript", "tsx"])
@pytest.mark.parametrize("case", WRAPPED)
def test_a_function_in_a_wrapper_has_the_name_of_the_whole(case: str, language: str) -> None:
    text, expected = WRAPPED[case]
    assert [f"{item.kind} {item.qualified}" for item in defined(language, text)] == [expected]


BY_MACROS = """\
TEST(Suite, First) {
  int a = 1;
}
TEST(Suite, Second)
{
  int b = 1;
}
BOOST_AUTO_TEST_CASE(adds) {
}
namespace n {
TEST_CASE("adds", "[a]") {
  int b = 1;
  SECTION("b") {
    int c = 1;
  }
}
}
SCENARIO("a rack"
         " moves")  // slowly
{
  int d = 1;
}
TEMPLATE_TEST_CASE("of types", "[b]", int, a::b) {
  TestType e;
}
BENCHMARK(run);
class Rack {
  Rack(Part) {
  }
};
"""
BY_MACROS_ROWS = """\
function function TEST(Suite, First) | 0-3 | 0-1 | 1-2 | - |
function function TEST(Suite, Second) | 3-7 | 3-4 | 5-6 | - |
function function BOOST_AUTO_TEST_CASE(adds) | 7-9 | 7-8 | 8-8 | - |
function function TEST_CASE("adds", "[a]") | 10-16 | 10-11 | 11-15 | - |
function function SCENARIO("a rack" " moves") | 17-22 | 17-19 | 20-21 | - |
function function TEMPLATE_TEST_CASE("of types", "[b]", int, a::b) | 22-25 | 22-23 | 23-24 | - |
class class Rack | 26-30 | 26-27 | 27-29 | - |
method method Rack.Rack | 27-29 | 27-28 | 28-28 | - |
"""


def test_a_test_by_a_macro_is_a_function_of_its_own() -> None:
    assert [row(definition) for definition in defined("cpp", BY_MACROS)] == BY_MACROS_ROWS.splitlines()


ILLEGIBLE = {
    "a comment in a macro": (
        "c",
        '#define M do { /* c; */; } while (0)\n#define N "n"\n#define O 1\nint f(int a) {\n  return a;\n}\n',
        ["function f"],
    ),
    "a comment in a macro of lines": (
        "cpp",
        '#define M(a) do { /* c */ a("/*"); \\\n  /* d */ } while (0)\nint f(int a) {\n  return a;\n}\n',
        ["function f"],
    ),
    "two headers of a method": (
        "csharp",
        "class A\n{\n#if X\n  int F() {\n#elif Y\n  int F(int b) {\n#else\n  int F(int a) {\n#endif\n    return 1;\n  }\n"
        "  int G() { return 2; }\n}\n",
        ["class A", "method A.F", "method A.G"],
    ),
    "two headers of a class": (
        "csharp",
        "#if X\r\npublic class A : B {\r\n#else\r\npublic class A {\r\n#endif\r\n  int F() { return 1; }\r\n}\r\n",
        ["class A", "method A.F"],
    ),
    "directives around whole members stay": (
        "csharp",
        "class A\n{\n#if X\n  int F() { return 1; }\n#else\n  int G() { return 1; }\n#endif\n}\n",
        ["class A", "method A.F", "method A.G"],
    ),
}


@pytest.mark.parametrize("case", ILLEGIBLE)
def test_what_a_grammar_cannot_parse_hides_no_definition(case: str) -> None:
    language, text, expected = ILLEGIBLE[case]
    read = [item for item in defined(language, text) if item.form != "macro"]
    assert [f"{item.kind} {item.qualified}" for item in read] == expected
    assert not any(item.broken for item in read)


@pytest.mark.parametrize(
    ("language", "text"), [("javascript", "export default 1;\n"), ("cpp", "template <typename T>\n;\n")]
)
def test_what_has_no_name_is_no_definition(language: str, text: str) -> None:
    assert defined(language, text) == ()


@pytest.mark.parametrize(
    ("language", "opens", "closes"),
    [
        *(("python", "[", "]"), ("python", "(", ",)"), ("javascript", "let [", "]"), ("javascript", "let {a: ", "}")),
        *(("typescript", "let [", " = []]"), ("tsx", "let {a: ", " = {}}")),
    ],
)
def test_names_are_found_at_any_depth_of_a_target(language: str, opens: str, closes: str) -> None:
    """In their order; the names around the innermost one are bound too."""
    *declares, opens = opens.rpartition("let ")
    text = f"{''.join(declares)}{opens * 2_000}b{closes * 2_000} = c\n"
    assert [definition.name for definition in defined(language, text)] == ["b"]


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
