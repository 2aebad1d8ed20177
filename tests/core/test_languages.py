"""The language of a file, by its name, and by its text where the name belongs to two."""

import pytest

from repoeval_bench.core.languages import ENDINGS, LANGUAGES, language_of

NAMES = {
    "python": ("a.py", "a/b.PYI", "a.pyw", ".py"),
    "javascript": ("a.js", "a.jsx", "a.mjs", "a.cjs"),
    "typescript": ("a.ts", "types.d.ts", "a.mts", "a.cts"),
    "tsx": ("a.tsx",),
    "java": ("A.java",),
    "go": ("a_test.go",),
    "rust": ("src/lib.rs",),
    "c": ("a.c", "a.h"),
    "cpp": ("a.cpp", "a.cc", "a.hpp", "a.C++"),
    "csharp": ("A.cs",),
}


@pytest.mark.parametrize(("language", "path"), [(name, path) for name, paths in NAMES.items() for path in paths])
def test_the_name_of_a_file_says_its_language(language: str, path: str) -> None:
    assert language_of(path) is LANGUAGES[language]


@pytest.mark.parametrize("path", ["notes.md", "Makefile", "a.py.orig", "a.py/notes", "a.", ""])
def test_any_other_name_says_none(path: str) -> None:
    assert language_of(path) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("#include <vector>\n", "cpp"),
        ("#ifndef A_H\n#define A_H\nclass A {\n public:\n  int m();\n};\n#endif\n", "cpp"),
        ("class A final : public B {};\n", "cpp"),
        ("template <typename T>\nT f(T a);\n", "cpp"),
        ("namespace a {\n}\n", "cpp"),
        ("int f(std::string a);\n", "cpp"),
        ("struct A {\n  private:\n  int a;\n};\n", "cpp"),
        ("#include <stdio.h>\nint f(char *class);\n", "c"),
        ('#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("/* in a class of its own\n * class of things */\nstruct a { int first; };\n", "c"),
        ("", "c"),
    ],
)
def test_a_header_is_cpp_where_its_text_is_nothing_else(text: str, language: str) -> None:
    assert language_of("a.h", text) is LANGUAGES[language]
    assert language_of("a.py", text) is LANGUAGES["python"]


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("#import <Foundation/Foundation.h>\n", False),
        ('#import "Kit.h"\n#include <vector>\n', False),
        ("@interface Rack : NSObject\n- (void)add;\n@end\n", False),
        ("@protocol Racked\n@end // Racked\n", False),
        ("@class Rack, Part;\nstd::string name;\n", False),
        ("/**\n@class Rack\n@interface Rack rack.h\n@protocol Racked\n@endcode\n*/\nint f(void);\n", True),
        ('#import "rack.tlb" no_namespace\nint f(void);\n', True),
    ],
)
def test_a_header_of_objective_c_is_in_no_known_language(text: str, *, is_read: bool) -> None:
    assert (language_of("a.h", text) is not None) == is_read
    assert language_of("a.c", text) is LANGUAGES["c"]


def test_each_ending_belongs_to_one_language() -> None:
    assert len(ENDINGS) == len(set(ENDINGS)) == sum(len(language.endings) for language in LANGUAGES.values())
    assert all(ending == ending.lower() and ending.startswith(".") for ending in ENDINGS)
