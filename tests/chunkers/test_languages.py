"""`ast` and `functions` beyond Python, where the grammar's package is installed."""

from __future__ import annotations

import itertools

import pytest

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.chunkers.functions import FunctionsChunker
from repoeval_bench.chunkers.recursive import RecursiveChunker
from repoeval_bench.chunkers.tools.cases import CASES
from repoeval_bench.chunkers.tools.conformance import broken_promises
from repoeval_bench.core.source import SourceFile, count_nws

SOURCES = {
    "javascript": (
        "a.js",
        "import x from 'x';\n\n",
        "/** About f. */\nfunction f(a) {\n  if (a) {\n    return [1, 2, 3];\n  }\n  return a;\n}\n\n",
        "class A extends B {\n  constructor(a) {\n    this.a = a;\n  }\n",
        "\n  // about m\n  m() {\n    return this.a;\n  }\n}\n",
    ),
    "typescript": (
        "a.ts",
        "import { x } from 'x';\n\n",
        "// About f.\nexport function f(a: number): number[] {\n  const b = a + 1;\n  return [b, a];\n}\n\n",
        "interface A {\n  first: string;\n  second: number;\n}\n",
        "\nclass C<T> {\n  m(a: T): T {\n    return a;\n  }\n}\n",
    ),
    "tsx": (
        "a.tsx",
        "import React from 'react';\n\n",
        "export function F(p: Props) {\n  return (\n    <ul>\n      <li>{p.a}</li>\n    </ul>\n  );\n}\n\n",
        "class A {\n  first = 1;\n  second = 2;\n}\n",
        "\nclass C {\n  m() {\n    return 1;\n  }\n}\n",
    ),
    "java": (
        "A.java",
        "package a;\n\nimport java.util.List;\n\n",
        "/** About A. */\n@Named\npublic class A {\n  private final int a;\n\n  public A(int a) {\n    this.a = a;\n  }\n}\n\n",
        "interface B {\n  int first();\n  int second();\n}\n",
        "\nenum C {\n  ONE,\n  TWO,\n  THREE_AND_MORE\n}\n",
    ),
    "go": (
        "a.go",
        'package a\n\nimport "fmt"\n\n',
        "// F is about f.\nfunc F(a int) []int {\n\tfmt.Println(a)\n\treturn []int{a, a}\n}\n\n",
        "type A struct {\n\tfirst  string\n\tsecond int\n}\n",
        "\nfunc (a *A) M() int {\n\treturn a.second\n}\n",
    ),
    "rust": (
        "a.rs",
        "use std::fmt;\n\n",
        "/// About f.\n#[inline]\nfn f(a: u32) -> Vec<u32> {\n    let b = a + 1;\n    vec![a, b]\n}\n\n",
        "#[derive(Debug)]\nstruct A {\n    first: String,\n    second: u32,\n}\n",
        "\nimpl A {\n    fn m(&self) -> u32 {\n        self.second\n    }\n}\n",
    ),
    "c": (
        "a.c",
        "#include <stdio.h>\n\n",
        "/** About f. */\nstatic int *f(int a) {\n    int b = a + 1;\n    return table + b;\n}\n\n",
        "struct a {\n    char *first;\n    int second;\n};\n",
        "\nint m(struct a *self) {\n    return self->second;\n}\n",
    ),
    "cpp": (
        "a.cpp",
        "#include <vector>\n\n",
        "/// About f.\ntemplate <typename T>\nT f(T a) {\n  auto b = a + 1;\n  return b;\n}\n\n",
        "class A {\n public:\n  int m() const;\n  int second;\n};\n",
        "\nint A::m() const {\n  return second;\n}\n",
    ),
    "csharp": (
        "A.cs",
        "using System;\n\n",
        "/// <summary>About A.</summary>\n[Serializable]\npublic class A {\n  private int a;\n\n"
        "  public A(int a) {\n    this.a = a;\n  }\n}\n\n",
        "interface IB {\n  int First();\n  int Second();\n}\n",
        "\nenum C {\n  One,\n  Two,\n  ThreeAndMore\n}\n",
    ),
}


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]


def test_definitions_that_fit_are_whole_and_what_stands_above_them_stays_with_them(source) -> None:
    path, *pieces = source
    text = "".join(pieces)
    chunks = AstChunker(max_nws=max(map(count_nws, pieces)), min_nws=0).chunk(SourceFile("r", path, text))
    assert "".join(chunk.text for chunk in chunks) == text
    assert any(pieces[1].strip() in chunk.text for chunk in chunks), [chunk.text for chunk in chunks]


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


def test_functions_are_found(source) -> None:
    path, *pieces = source
    chunks = FunctionsChunker().chunk(SourceFile("r", path, "".join(pieces)))
    assert len(chunks) >= 4
    assert "".join(chunk.text for chunk in chunks) == "".join(pieces)


@pytest.mark.parametrize("language", SOURCES)
def test_whatever_the_language_the_suite_passes(language: str) -> None:
    """The suite's Python is a syntax error there, which is as good a test."""
    chunker = AstChunker(max_nws=60, language=language)
    for text in CASES.values():
        if len(text) < 2_000:
            assert broken_promises(chunker, SourceFile("r", "case", text)) == {}
