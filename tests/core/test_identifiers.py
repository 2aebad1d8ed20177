"""The identifiers of code in every language: what names something, and is neither a keyword nor the language's own."""

import builtins
import keyword

import pytest

from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.identifiers import identifiers_in
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse

CODE = {
    "python": ("def f(a, *_):\n    # note\n    return self.b(print(f'x {c} y'), None, True, a.d)\n", "a b c d f self"),
    "javascript": (
        "class A { #p = 1; f({q, r: s}) { lbl: for (const t of this.#p) { console.log(`a ${t} b`, undefined, $x) } } }",
        "$x A f lbl log p q r s t",
    ),
    "typescript": (
        "type P<T> = Partial<Q<T>>; function f(a: string, b: N.M): void { return a as unknown as B }",
        "B M N P Q T a b f",
    ),
    "tsx": ("const x = <Foo bar={baz}/> // note", "Foo bar baz x"),
    "java": (
        "class A { @Override int f(List<String> a) { var b = this.c.d(); System.out.println(b); return null; } }",
        "A List a b c d f out println",
    ),
    "go": (
        "package p\nfunc (r *T) F(a int) error { _ = append(r.x, q.Y); goto L\nL:\n return nil }",
        "F L T Y a p q r x",
    ),
    "rust": (
        'fn f(self: &Self, a: u32) -> Option<B> { println!("x"); let r#type = S { y, z: 1 }; Some(m::n(a)) }',
        "B S a f m n type y z",
    ),
    "c": ("int f(struct s *a) { size_t b = a->c; return NULL; }", "a b c f s"),
    "cpp": ("namespace n { std::vector<T> f() { return ns::g<int>(this->x); } }", "T f g n ns vector x"),
    "csharp": ("class A { int F(string @a) { var b = nameof(a); return this.c.D(b); } }", "A D F a b c"),
}


def used_names(language, text, first=0, end=None):
    file = SourceFile("r", "p", text)
    return identifiers_in(parse(file, LANGUAGES[language]), LineSpan(first, file.n_lines if end is None else end))


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_found_in_every_language(language):
    text, names = CODE[language]
    assert used_names(language, text) == {*names.split()}


def test_only_those_on_the_lines_count():
    text = "a = 1\nb = 2\nc = '''x\ny''' + d\n"
    assert [sorted(used_names("python", text, line, line + 1)) for line in range(4)] == [["a"], ["b"], ["c"], ["d"]]
    # A form feed ends a line here, and not in the syntax tree.
    assert used_names("python", "a = 1\x0c\nb = 2\n", 2, 3) == {"b"}


def test_the_built_in_names_of_python_are_those_of_its_interpreters():
    """A newer one may add some: the table is fixed, so that no score moves with it."""
    shown = {name for name in dir(builtins) if not keyword.iskeyword(name)}
    assert len(shown - GRAMMARS["python"].builtins) <= 2
    assert {"PythonFinalizationError", "__file__", "print"} <= GRAMMARS["python"].builtins
    assert not any(map(keyword.iskeyword, GRAMMARS["python"].builtins))
