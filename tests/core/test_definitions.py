"""Definitions of ten languages, each row checked by hand against its source: the sources are in `languages/`."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from support.samples import MORE, samples

SAMPLES = samples("definitions")


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
    sample = SAMPLES[language]
    assert [row(definition) for definition in defined(language, sample["text"])] == sample["rows"].splitlines()


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
    ("language", "text"), [*((name, sample["text"]) for name, sample in SAMPLES.items()), ("cpp", NAMESPACE)]
)
def test_the_definitions_around_a_line_are_those_of_the_file(language: str, text: str) -> None:
    whole = defined(language, text)
    file = SourceFile("r", "a", text)
    for line in range(text.count("\n")):
        assert around(definitions(file, LANGUAGES[language], (line,)), line) == around(whole, line)


def one(language: str, text: str, name: str) -> Definition:
    return next(definition for definition in defined(language, text) if definition.qualified == name)


@pytest.mark.parametrize("language", [language for language in SAMPLES if "documented" in SAMPLES[language]])
def test_signatures_are_one_line_and_docs_are_without_marks(language: str) -> None:
    documented = SAMPLES[language]["documented"]
    definition = one(language, SAMPLES[language]["text"], documented["of"])
    assert (definition.signature, definition.doc and definition.doc.text) == (
        documented["signature"],
        documented["doc"],
    )


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


@pytest.mark.parametrize("language", ["javascript", "tsx"])
@pytest.mark.parametrize("case", MORE["wrapped"])
def test_a_function_in_a_wrapper_has_the_name_of_the_whole(case: str, language: str) -> None:
    text, expected = MORE["wrapped"][case]
    assert [f"{item.kind} {item.qualified}" for item in defined(language, text)] == [expected]


def test_a_test_by_a_macro_is_a_function_of_its_own() -> None:
    sample = MORE["tests by macros"]
    assert [row(definition) for definition in defined("cpp", sample["text"])] == sample["rows"].splitlines()


@pytest.mark.parametrize("case", MORE["illegible"])
def test_what_a_grammar_cannot_parse_hides_no_definition(case: str) -> None:
    sample = MORE["illegible"][case]
    read = [item for item in defined(sample["language"], sample["text"]) if item.form != "macro"]
    assert [f"{item.kind} {item.qualified}" for item in read] == sample["definitions"]
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
    text = SAMPLES[language]["text"]
    plain = defined(language, text)
    assert [*map(row, defined(language, text.replace("\n", "\r\n")))] == [*map(row, plain)]
    assert [item.name for item in defined(language, "\n\n" + text)] == [definition.name for definition in plain]
    assert defined(language, "") == ()
    assert defined(language, "\x00\udcff\x00\n") == ()


@pytest.mark.parametrize("language", SAMPLES)
@given(data=st.data())
def test_any_part_of_a_file_gives_spans_within_it(language: str, data: st.DataObject) -> None:
    """Lines left out, doubled and moved: whatever is found keeps its promises."""
    lines = SAMPLES[language]["text"].splitlines(keepends=True)
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
