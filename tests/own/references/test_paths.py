"""Names behind a path: modules of Go and Rust, namespaces and classes of C++."""

import pytest

from support.written import uses

GO_ERRORS = {"errors/e.go": "package errors\n\nfunc Wrap(a int) int { return a }\n"}
GO_MODULE = {"go.mod": "// ours\nmodule example.org/mine/proj // here\n\ngo 1.22\n"}


def go(imported, call):
    return f"package main\n\nimport (\n\t{imported}\n)\n\nfunc goIt() int {{\n\treturn {call}\n}}\n"


GO = {
    "another module": ({**GO_MODULE, **GO_ERRORS}, '"github.com/pkg/errors"', "errors.Wrap(1)", ""),
    "the standard library": ({**GO_MODULE, **GO_ERRORS}, '"errors"', "errors.Wrap(1)", ""),
    "its own module": ({**GO_MODULE, **GO_ERRORS}, '"example.org/mine/proj/errors"', "errors.Wrap(1)", "Wrap"),
    "another name": ({**GO_MODULE, **GO_ERRORS}, 'e "example.org/mine/proj/errors"', "e.Wrap(1)", "Wrap"),
    "a module whose name begins the same": (
        {**GO_MODULE, **GO_ERRORS},
        '"example.org/mine/project/errors"',
        "errors.Wrap(1)",
        "",
    ),
    "no go.mod": (GO_ERRORS, '"example.org/any/errors"', "errors.Wrap(1)", "Wrap"),
    "a version": (
        {"go.mod": "module example.org/mine/v2\n", **GO_ERRORS},
        '"example.org/mine/v2/errors"',
        "errors.Wrap(1)",
        "Wrap",
    ),
    "the outermost package": (
        {"go.mod": "module example.org/mine\n", "m.go": "package mine\n\nfunc Wrap(a int) int { return a }\n"},
        '"example.org/mine"',
        "mine.Wrap(1)",
        "Wrap",
    ),
    "a module inside": (
        {**GO_MODULE, "tool/go.mod": "module example.org/tool\n", "tool/x/x.go": "package x\n\nfunc Run() {}\n"},
        '"example.org/tool/x"',
        "x.Run()",
        "Run",
    ),
    "a module inside by the path of the outer one": (
        {
            **GO_MODULE,
            "tool/go.mod": "module example.org/mine/proj/tool\n",
            "tool/x/x.go": "package x\n\nfunc Run() {}\n",
        },
        '"example.org/mine/proj/tool/x"',
        "x.Run()",
        "Run",
    ),
    "a local replacement": (
        {
            "go.mod": "module example.org/mine\n\nreplace (\n\texample.org/other v1.2.3 => ./forks/other\n)\n",
            "forks/other/x/x.go": "package x\n\nfunc Run() {}\n",
        },
        '"example.org/other/x"',
        "x.Run()",
        "Run",
    ),
    "a remote replacement": (
        {
            "go.mod": "module example.org/mine\n\nreplace example.org/other => example.org/fork v1.0.0\n",
            "other/x/x.go": "package x\n\nfunc Run() {}\n",
        },
        '"example.org/other/x"',
        "x.Run()",
        "",
    ),
}


@pytest.mark.parametrize(("files", "imported", "call", "expected"), GO.values(), ids=GO)
def test_an_import_of_go_leads_to_its_module(files, imported, call, expected):
    text = go(imported, call)
    assert used({**files, "cmd/m.go": text}, "cmd/m.go", 7, 8) == set(expected.split())


RUST = {
    "src/lib.rs": "pub mod a;\npub mod b;\npub mod deep;\npub fn top() {}\npub mod inline { pub fn within() {} }\n",
    "src/a.rs": "pub fn run() -> u8 { 1 }\npub const LIMIT: u8 = 3;\npub struct Pen { pub n: u8 }\n"
    "impl Pen { pub fn make() -> Pen { Pen { n: 1 } } pub fn draw(&self) {} }\npub enum Tone { Low }\n",
    "src/deep/mod.rs": "pub mod er;\npub fn shallow() {}\n",
    "src/deep/er.rs": "pub fn bottom() {}\n",
}
RUST_CASES = {
    "crate::a::run();": "run",
    "crate::a::LIMIT;": "LIMIT",
    "super::a::run();": "run",
    "super::top();": "top",
    "super::deep::shallow();": "shallow",
    "crate::deep::er::bottom();": "bottom",
    "super::deep::er::bottom();": "bottom",
    "self::own();": "own",
    "crate::b::own();": "own",
    "crate::inline::within();": "within",
    "crate::top();": "top",
    "let z: crate::a::Pen = w;": "Pen",
    "let z: &super::a::Pen = w;": "Pen",
    "crate::a::Pen::make();": "Pen make",
    "crate::a::Pen::make().draw();": "Pen make draw",
    "let p = crate::a::Pen { n: 1 };": "Pen n",
    "crate::a::Tone::Low;": "Tone Low",
    "a::run();": "",
    "crate::a::missing();": "",
    "crate::b::run();": "",
    "std::a::run();": "",
    "other::run();": "",
    "let own = 1; self::own();": "own",
    'println!("{}", crate::a::run());': "run",
}


@pytest.mark.parametrize("code", RUST_CASES)
def test_a_path_of_rust_begins_at_the_crate_or_at_a_module(code):
    own = f"pub fn own() {{}}\npub fn run2() {{}}\nfn go() {{\n    {code}\n}}\n"
    assert used({**RUST, "src/b.rs": own}, "src/b.rs", 3, 4) == set(RUST_CASES[code].split())


def test_super_in_a_module_inside_a_file_is_that_file():
    text = "pub fn run() {}\nmod tests {\n    fn run() {}\n    fn go() {\n        super::run();\n    }\n}\n"
    with_path = uses({**RUST, "src/b.rs": text}, "src/b.rs", 4, 5)
    assert [(item.definition.file, item.definition.lines.start) for item in with_path.used] == [("r/src/b.rs", 0)]


CPP = {
    "e.hpp": "#pragma once\nenum class Code { Ok = 0, Bad = 3 };\nenum struct Tone { Low };\nenum Color { Red };\n"
    "namespace one { int rate(int); struct Pen { int n; static Pen make(); }; }\n"
    "namespace two {\nnamespace in { int only(int); }\ninline namespace v1 { int inl(int); }\n}\n"
    "namespace alias = two::in;\nstruct Box { static Box make(); int width; };\nint free_one(int);\n",
}
CPP_CASES = {
    "throw Bad(1);": "",
    "use(Low);": "",
    "use(Code::Bad);": "Code Bad",
    "use(Red);": "Red",
    "use(Color::Red);": "Color Red",
    "one::rate(1);": "rate",
    "two::rate(1);": "",
    "other::rate(1);": "",
    "two::in::only(1);": "only",
    "in::only(1);": "only",
    "one::in::only(1);": "",
    "two::inl(1);": "inl",
    "two::v1::inl(1);": "inl",
    "alias::only(1);": "only",
    "one::free_one(1);": "",
    "one::Pen p;": "Pen",
    "two::Pen p;": "",
    "one::Pen p; p.n = 1;": "Pen n",
    "two::Pen p; p.n = 1;": "",
    "one::Pen::make();": "Pen make",
    "two::Pen::make();": "",
    "use(Box::make().width);": "Box make width",
    "use(one::Pen::make().n);": "Pen make n",
    "auto b = Box::make(); use(b.width);": "Box make width",
}


@pytest.mark.parametrize("code", CPP_CASES)
def test_a_name_of_cpp_is_in_its_namespace_or_class(code):
    text = f'#include "e.hpp"\nvoid go(int x) {{\n  {code}\n}}\n'
    assert used({**CPP, "m.cpp": text}, "m.cpp", 2, 3) == set(CPP_CASES[code].split())


def test_a_namespace_that_a_macro_opens_is_not_asked_for():
    header = "#pragma once\n#define OPEN namespace fmt {\n#define CLOSE }\nOPEN\nint print(int);\nCLOSE\n"
    text = '#include "h.hpp"\nvoid go(int x) {\n  fmt::print(1);\n}\n'
    assert used({"h.hpp": header, "m.cpp": text}, "m.cpp", 2, 3) == {"print"}


def used(files, path, first, last):
    """Return the names of the definitions that lines use, without their classes."""
    imported = (item for item in uses(files, path, first, last).used if item.tier == "imported")
    return {item.definition.name.rpartition(".")[2] for item in imported}
