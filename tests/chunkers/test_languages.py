"""`ast` and `functions` beyond Python, where the grammar's package is installed."""

import itertools

import pytest

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.chunkers.recursive import RecursiveChunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile, count_nws


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_that_fit_are_whole(language: str) -> None:
    path, text = SAMPLES[language]
    file = SourceFile("r", path, text)
    chunks = AstChunker(max_nws=120, min_nws=0).chunk(file)
    assert "".join(chunk.text for chunk in chunks) == text
    fit = [
        result.lines
        for result in definitions(file, LANGUAGES[language])
        if result.kind != "variable" and count_nws(file.line_text(result.lines)) <= 120
    ]
    assert fit
    assert all(any(chunk.lines.contains(lines) for chunk in chunks) for lines in fit)


ABOVE = [
    ("a.js", "import x from 'x';\n\n", "/** About f. */\nfunction f(a) {\n  return [a, 2, 3];\n}\n"),
    ("a.ts", "import { x } from 'x';\n\n", "// About f.\nexport function f(a: number): number[] {\n  return [a];\n}\n"),
    ("a.tsx", "import { x } from 'x';\n\n", "// About F.\nexport function F(p: P) {\n  return <ul>{p.a}</ul>;\n}\n"),
    ("A.java", "package a;\n\n", "/** About A. */\n@Named\npublic class A {\n  private final int a;\n}\n"),
    ("a.go", "package a\n\n", "// F is about f.\nfunc F(a int) []int {\n\treturn []int{a, a}\n}\n"),
    ("a.rs", "use std::fmt;\n\n", "/// About f.\n#[inline]\nfn f(a: u32) -> Vec<u32> {\n    vec![a, a]\n}\n"),
    ("a.c", "#include <stdio.h>\n\n", "/** About f. */\nstatic int *f(int a) {\n  return table + a;\n}\n"),
    ("a.cpp", "#include <vector>\n\n", "/// About f.\ntemplate <typename T>\nT f(T a) {\n  return a + 1;\n}\n"),
    ("A.cs", "using System;\n\n", "/// <summary>A.</summary>\n[Serializable]\npublic class A {\n  private int a;\n}\n"),
]


@pytest.mark.parametrize(("path", "before", "definition"), ABOVE)
def test_what_stands_above_a_definition_stays_with_it(path: str, before: str, definition: str) -> None:
    chunks = AstChunker(max_nws=count_nws(definition), min_nws=0).chunk(SourceFile("r", path, before + definition))
    assert [chunk.text for chunk in chunks] == [before, definition]


@pytest.mark.parametrize(
    ("path", "text", "cuts"),
    [
        ("a.js", "const a = 1;\nexport default async function f() {\n}\nexport class B {\n}\n", [1, 3]),
        ("a.ts", "type A = 1;\nexport interface B {\n  c: 1;\n}\nfunction d() {\n}\n", [1, 4]),
        ("A.java", "package a;\npublic final class A {\n  int b;\n  public int c() {\n  }\n}\n", [1, 3]),
        ("a.cs", "using A.Name.Of.Some.Length;\nnamespace B {\n}\ninternal static class C {\n}\n", [1, 3]),
        ("a.go", "package a\nimport b\ntype C struct {\n}\nfunc d() {\n}\n", [2, 4]),
        ("a.rs", "use a;\nuse b;\npub(crate) struct C {\n}\nimpl C {\n    pub async fn d() {\n    }\n}\n", [2, 4]),
        ("a.c", "#include <a.h>\nint a;\nint f(int);\nstatic int *g(void)\n{\n}\n", [3]),
        ("a.cpp", "#include <a>\nint a;\nnamespace b {\nclass C {\n};\n}\n", [2, 3]),
        ("a.txt", "class A\n\ndef b\n\nfunction c\n", [2, 4]),
    ],
)
def test_recursive_cuts_before_the_words_of_the_file_s_language(path: str, text: str, cuts: list[int]) -> None:
    """At a size that no two of these parts fit in together, and each alone does."""
    file = SourceFile("r", path, text)
    bounds = [0, *cuts, file.n_lines]
    parts = ["".join(text.splitlines(keepends=True)[a:b]) for a, b in itertools.pairwise(bounds)]
    chunks = RecursiveChunker(max_nws=max(map(count_nws, parts))).chunk(file)
    assert [chunk.text for chunk in chunks] == parts
