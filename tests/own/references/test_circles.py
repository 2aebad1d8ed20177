"""Names that lead to each other, in a chain, a circle or many ways: to look them up takes no time."""

import pytest

from support.written import uses


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


@pytest.mark.parametrize("shape", ["chain", "cycle", "diamonds", "both ways"])
@pytest.mark.parametrize("code", CODE, ids=lambda code: code.__name__)
def test_names_that_lead_to_each_other_in_any_way_end_at_once(code, shape):
    """So of aliases, inheritance, re-exports and imports: what takes twice the time for each more would never end."""
    others, path, text = code(edges(shape, 24))
    assert uses({**others, path: text}, path, 0, text.count("\n")) is not None
