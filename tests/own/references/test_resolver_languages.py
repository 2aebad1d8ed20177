"""What cases as data do not say of the other languages: overloads, circles, depth, and what was asked before."""

import pytest

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.resolver import Resolver
from support.written import lookups, names, sources, uses

GO_SHOP = lookups("members")["go"]["files"]["shop.go"]
MIXED = {
    "a/gen.go": "package a\n\nfunc written(x int) int {\n\tvar r Rest\n\treturn count(x) + total(r) // HOLE\n}\n",
    "a/Task.java": "package a;\npublic class Task {\n  int written(int x) {\n    return count(x) + new Rest().y; // HOLE\n  }\n}\n",
    "a/Use.cs": "class Use {\n  int Written(int x) {\n    return count(x) + new Rest().y; // HOLE\n  }\n}\n",
    "a/lib.ts": "export function count(x: number) { return x; }\nexport class Rest { y = 1; }\n",
    "a/rest.rs": "pub struct Rest { y: u32 }\npub fn total(x: u32) -> u32 { x }\n",
    "a/task.ts": 'import { count, Rest } from "./lib";\nfunction written(x: number) {\n'
    "  return count(x) + new Rest().y; // HOLE\n}\n",
}


@pytest.mark.parametrize("paths", [sorted(MIXED), sorted(MIXED, reverse=True)])
def test_files_of_other_languages_beside_a_file_are_not_its_own(paths):
    """Nor does what was asked before change an answer."""
    result = {}
    resolver = Resolver(sources({path: MIXED[path] for path in paths}))
    for path in paths:
        marked = [number for number, line in enumerate(MIXED[path].split("\n")) if "HOLE" in line]
        used = resolver.uses(path, LineSpan(marked[0], marked[-1] + 1)) if marked else ()
        result[path] = {use.definition.name for use in used}
    assert result.pop("a/task.ts") == {"count", "Rest", "Rest.y"}
    assert not any(result.values())


def test_super_in_a_module_inside_a_file_is_that_file():
    text = "pub fn run() {}\nmod tests {\n    fn run() {}\n    fn go() {\n        super::run();\n    }\n}\n"
    result = uses({"src/lib.rs": "pub mod b;\n", "src/b.rs": text}, "src/b.rs", 4, 5)
    assert [(item.definition.file, item.definition.lines.start) for item in result] == [("r/src/b.rs", 0)]


def test_java_tells_fields_methods_and_their_overloads_apart():
    """By what is called, and with how many arguments, on `this` or on another."""
    text = (
        "class Task {\n  Task size;\n  Task size() { return null; }\n  Task size(int by) { return null; }\n"
        "  void written(Task own) {\n    {}\n  }\n}\n"
    )
    for code, line in (("size", 1), ("size()", 2), ("size(1)", 3)):
        for at in ("", "own.", "this."):
            (result,) = uses({"Task.java": text.replace("{}", f"f({at}{code});")}, "Task.java", 5, 6)
            assert (result.definition.name, result.definition.lines.start) == ("Task.size", line)


def test_a_local_is_found_above_any_number_of_blocks():
    head = "package shop\n\nfunc written() {\n\tx := NewItem(1)\n"
    for deep in (10, 400):
        text = head + "{\n" * deep + "\tx.Price\n" + "}\n" * deep + "}\n"
        line = text.split("\n").index("\tx.Price")
        assert names(uses({"shop.go": GO_SHOP, "task.go": text}, "task.go", line, line + 1)) == {"Item.Price"}


def test_what_was_asked_before_changes_nothing():
    """A task's gold is the same alone and after another one in its function."""
    steps = "".join(f"\tx{n + 1} := x{n}.Grow(1)\n" for n in range(12))
    text = f"package shop\n\nfunc written(x0 *Item) {{\n{steps}\tx12.depth\n}}\n"
    files = {"shop.go": GO_SHOP, "task.go": text}
    resolver = Resolver(sources(files))
    assert resolver.uses("task.go", LineSpan(3, 15))
    assert resolver.uses("task.go", LineSpan(15, 16)) == uses(files, "task.go", 15, 16)


def test_types_that_lead_in_circles_end():
    """Nothing is known of them, and asking takes no time."""
    loop = "type A = B['x']; type B = A['x'] | { x: A }; interface C extends D {} interface D extends C {}\n"
    text = f"{loop}function f(a: A, c: C) {{\n  a.x.x.x.y; c.z.z; const g = () => g().h; // HOLE\n}}\n"
    assert uses({"a.ts": text}, "a.ts", 2, 3) is not None


def test_a_line_that_is_nested_as_deeply_as_it_is_long_is_read():
    files = {"a.ts": "export const far = 1\n", "b.ts": 'import {far} from "./a"\nx = far' + ".y()" * 600 + "\n"}
    assert names(uses(files, "b.ts", 1, 2)) == {"far"}
