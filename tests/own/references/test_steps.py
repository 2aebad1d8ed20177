"""How many steps names take: about twice as many where code is twice as deep, and a limit beyond which it is unread."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.resolver import Resolver
from repoeval_bench.own.references.steps import DEEPEST, MOST
from support.written import sources, uses


def edges(shape, depth):
    """(name, the names that it is made of) of each part, the last of which is asked for; `shape` says how they hang."""
    if shape == "chain":
        return [("N0", []), *((f"N{n}", [f"N{n - 1}"]) for n in range(1, depth))]
    if shape == "cycle":
        return [(f"N{n}", [f"N{(n - 1) % depth}"]) for n in range(depth)]
    if shape == "diamonds":
        parts = [("N0", []), ("M0", [])]
        for n in range(1, depth):
            parts += [(f"M{n}", [f"N{n - 1}", f"M{n - 1}"]), (f"N{n}", [f"M{n - 1}", f"N{n - 1}"])]
        return parts
    # Two cycles that run against each other.
    return [(f"N{n}", [f"N{(n - 1) % depth}", f"N{(n + 1) % depth}"]) for n in range(depth)]


def python_inherits(parts):
    text = "".join(f"class {name}({', '.join(of)}):\n    pass\n" for name, of in parts)
    return {"a.py": text}, "b.py", f"from a import {parts[-1][0]} as Last\nLast().missing\n"


def python_aliases(parts):
    text = "".join(f"{name} = {' or '.join(of) or 'object'}\n" for name, of in parts)
    return {"a.py": text}, "b.py", f"from a import {parts[-1][0]} as Last\nLast().missing\n"


def python_returns(parts):
    text = "".join(f"def {n}():\n" + "".join(f"    return {e}()\n" for e in of or ["x"]) for n, of in parts)
    return {"a.py": text}, "b.py", f"from a import {parts[-1][0]} as last\nlast().missing\n"


def python_stars(parts):
    files = {f"{name}.py": "".join(f"from {item} import *\n" for item in of) or "x = 1\n" for name, of in parts}
    return files, "b.py", f"from {parts[-1][0]} import missing\nmissing\n"


def python_imports(parts):
    files = {f"{name}.py": "".join(f"from {item} import missing\n" for item in of) or "x = 1\n" for name, of in parts}
    return files, "b.py", f"from {parts[-1][0]} import missing\nmissing\n"


def c_typedefs(parts):
    text = "".join(
        f"typedef struct {name} {{ int x{name}; }} {name};\n" + "".join(f"typedef {item} {name};\n" for item in of)
        for name, of in parts
    )
    return {"a.h": text}, "b.c", f'#include "a.h"\nvoid f({parts[-1][0]} *v) {{ v->missing; }}\n'


def c_includes(parts):
    files = {f"{name}.h": "".join(f'#include "{item}.h"\n' for item in of) + f"int x{name};\n" for name, of in parts}
    return files, "b.c", f'#include "{parts[-1][0]}.h"\nvoid f(void) {{ missing(); }}\n'


def go_embeds(parts):
    text = "package a\n" + "".join(f"type {name} struct {{\n" + "\n".join(of) + "\n}\n" for name, of in parts)
    return {"a.go": text}, "b.go", f"package a\nfunc f(v {parts[-1][0]}) {{ v.Missing() }}\n"


def java_inherits(parts):
    files = {
        f"a/{n}.java": f"package a;\ninterface {n}{' extends ' if of else ''}{', '.join(of)} {{ }}\n" for n, of in parts
    }
    return files, "a/B.java", f"package a;\nclass B {{ void f({parts[-1][0]} v) {{ v.missing(); }} }}\n"


def java_imports(parts):
    files = {
        f"{n}/C{n}.java": f"package {n};\n" + "".join(f"import {e}.*;\n" for e in of) + f"class C{n} {{ }}\n"
        for n, of in parts
    }
    return files, "b/B.java", f"package b;\nimport {parts[-1][0]}.*;\nclass B {{ void f() {{ Missing.go(); }} }}\n"


SCRIPT = 'import {{ {0} }} from "./a"\nfunction f(v: {0}) {{ v.missing }}\n'


def script_inherits(parts):
    text = "".join(
        f"export interface {n}{' extends ' if of else ''}{', '.join(of)} {{ x: number }}\n" for n, of in parts
    )
    return {"a.ts": text}, "b.ts", SCRIPT.format(parts[-1][0])


def script_aliases(parts):
    text = "".join(f"export type {name} = {' | '.join(of) or 'number'}\n" for name, of in parts)
    return {"a.ts": text}, "b.ts", SCRIPT.format(parts[-1][0])


def script_stars(parts):
    files = {f"{n}.ts": "".join(f'export * from "./{e}"\n' for e in of) or "export const x = 1\n" for n, of in parts}
    return files, "b.ts", f'import {{ missing }} from "./{parts[-1][0]}"\nmissing()\n'


def script_imports(parts):
    files = {
        f"{n}.ts": "".join(f'import {{ missing }} from "./{e}"\nexport {{ missing }}\n' for e in of)
        or "export const x = 1\n"
        for n, of in parts
    }
    return files, "b.ts", f'import {{ missing }} from "./{parts[-1][0]}"\nmissing()\n'


def rust_stars(parts):
    files = {
        f"src/{n.lower()}.rs": "".join(f"pub use crate::{e.lower()}::*;\n" for e in of) or "pub struct X;\n"
        for n, of in parts
    }
    files["src/lib.rs"] = "".join(f"pub mod {n.lower()};\n" for n, _ in parts)
    return files, "src/b.rs", f"use crate::{parts[-1][0].lower()}::*;\nfn f() {{ missing(); }}\n"


CODE = [
    *(python_inherits, python_aliases, python_returns, python_stars, python_imports),
    *(c_typedefs, c_includes, go_embeds, java_inherits, java_imports, rust_stars),
    *(script_inherits, script_aliases, script_stars, script_imports),
]


def steps(code, shape, depth):
    """All steps that the names of the last file take, what is remembered for other tasks too."""
    others, path, text = code(edges(shape, depth))
    with Resolver(sources({**others, path: text})) as resolver:
        assert resolver.uses(path, LineSpan(0, text.count("\n"))) is not None
        return resolver.steps.total


@pytest.mark.parametrize("code", CODE, ids=lambda code: code.__name__)
@settings(max_examples=settings.default.max_examples // 4)
@given(shape=st.sampled_from(["chain", "cycle", "diamonds", "both ways"]), depth=st.integers(8, 14))
def test_twice_the_depth_takes_about_twice_the_steps(code, shape, depth):
    """So of aliases, inheritance, re-exports and imports, in each way to look them up; a few steps do not grow."""
    assert steps(code, shape, 2 * depth) <= 2.5 * steps(code, shape, depth) + 20


def test_a_task_of_too_many_steps_is_unread_and_the_next_is_not():
    text = "class A:\n    def far(self): pass\n\n\ndef f(a: A):\n" + "    a.far()\n" * 20
    with Resolver(sources({"a.py": text})) as resolver:
        resolver.steps.most = 30
        assert resolver.uses("a.py", LineSpan(5, 25)) is None
        assert {use.definition.name for use in resolver.uses("a.py", LineSpan(5, 6)).used} == {"A.far"}
        resolver.steps.most = MOST
        assert resolver.uses("a.py", LineSpan(5, 25)).names == 40


def test_what_was_asked_before_changes_no_count():
    """A task is unread or not by itself: what is remembered for all tasks is counted apart."""
    others, path, text = java_inherits(edges("diamonds", 8))
    counts = []
    with Resolver(sources({**others, path: text})) as resolver:
        for _ in range(2):
            resolver.uses(path, LineSpan(1, 2))
            counts.append(resolver.steps.taken)
    assert counts[0] == counts[1] > 0


DEEP = {
    "a.ts": ("function f(v: number) {\n", "if (v) {\n", "v\n", "}\n", "}\n"),
    "a.go": ("package a\nfunc f(v int) {\n", "{\n", "v++\n", "}\n", "}\n"),
    "a.rs": ("fn f(v: u32) {\n", "{\n", "v;\n", "}\n", "}\n"),
    "a.c": ("void f(int v) {\n", "{\n", "v;\n", "}\n", "}\n"),
    "A.java": ("class A { void f(int v) {\n", "{\n", "v++;\n", "}\n", "} }\n"),
    "A.cs": ("class A { void F(int v) {\n", "{\n", "v++;\n", "}\n", "} }\n"),
}


@pytest.mark.parametrize("path", DEEP)
def test_what_is_nested_too_deeply_is_unread(path):
    before, opens, inside, closes, after = DEEP[path]
    for depth, read in ((20, True), (DEEPEST + 10, False)):
        text = before + opens * depth + inside + closes * depth + after
        line = (before + opens * depth).count("\n")
        assert (uses({path: text}, path, line, line + 1) is not None) == read


NESTED = {
    "use": ("a.rs", "use a::", "{", "far", "}", ";\nfn f() { far(); }\n"),
    "let": ("a.rs", "fn f(b: u32) { let ", "(", "a", ",)", " = b;\na.far(); }\n"),
    "if let": ("a.rs", "fn f(b: u32) { if let ", "&", "a", "", " = b {\na.far(); } }\n"),
    "condition": ("a.rs", "fn f(b: u32) { if ", "(", "let Some(a) = b", ")", " {\na.far(); } }\n"),
    "declarator": ("a.c", "int ", "*", "a", "", "(int v) {\nv->far; }\n"),
    "destructuring": ("a.ts", "function f(b) { const ", "[", "a", "]", " = b;\na.far(); }\n"),
    "literal": ("a.go", "package a\ntype A []A\nvar b = A{", "{", "\n{far: 1}", "}", "}\n"),
}


@pytest.mark.parametrize("case", NESTED)
def test_what_binds_a_name_may_be_nested(case):
    """As deeply as syntax nodes are read."""
    path, before, opens, inside, closes, after = NESTED[case]
    text = before + opens * 980 + inside + closes * 980 + after
    line = text.count("\n") - 1
    assert uses({path: text}, path, line, line + 1) is not None


def test_a_name_that_is_exported_again_and_again_is_unread():
    for depth, read in ((20, True), (400, False)):
        others, path, text = script_imports(edges("chain", depth))
        assert (uses({**others, path: text}, path, 0, 2) is not None) == read
