"""Which files are a source's own code."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.dataset.reading.code import (
    RULES,
    check_extensions,
    endings_beside,
    is_test,
    name_reason,
    text_reason,
)
from support.cases import cases

CASES = cases(__file__)
"""Reason -> paths or texts that are left out for it; `taken` has those that are not."""


def reason_of(named):
    return None if named == "taken" else named


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        *((path, reason_of(named)) for named, paths in CASES["names"].items() for path in paths),
        *((path, "unusable name") for path in ("a\nb.py", "a\udcff.py")),
        ("a/" * 200 + "b.py", None),
        ("bin/go", "unknown language"),
    ],
)
def test_names(path, reason):
    assert name_reason(path) == reason


@pytest.mark.parametrize(
    ("paths", "extensions", "read"),
    [
        (["lib/a.rb", "b.py", "c.proto"], [], {"b.py"}),
        (["lib/a.rb", "b.py", "c.proto"], [".proto"], {"b.py", "c.proto"}),
        (["lib/a.rb", "c.proto", "vendor/b.py"], [], {"lib/a.rb"}),
        (["lib/a.rb", "c.PROTO"], [".proto"], {"lib/a.rb", "c.PROTO"}),
        (["a.php", "b.php", "asset.js", "c.proto"], [], {"a.php", "b.php", "asset.js"}),
        ([*"abcdefghi", "run.sh"], [], {"run.sh"}),
        ([*(f"{n}.kt" for n in range(10)), "run.sh"], [], {f"{n}.kt" for n in range(10)}),
    ],
)
def test_other_endings_are_read_where_asked_for_or_where_they_are_most_of_the_code(paths, extensions, read):
    beside = endings_beside(paths, extensions)
    assert {path for path in paths if name_reason(path, paths, beside) is None} == read


@pytest.mark.parametrize("ending", ["rb", ".RB", ".blade.php", ".", "*.rb"])
def test_what_is_no_ending_is_refused(ending):
    with pytest.raises(UsageError, match="write .rb"):
        check_extensions([ending])


@pytest.mark.parametrize(("path", "beside", "reason"), CASES["compiled"])
def test_what_was_compiled_has_a_declaration_or_a_map_beside_it(path, beside, reason):
    assert name_reason(path, {path, beside}) == reason


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        *(
            (language, text, reason_of(named))
            for named, languages in CASES["texts"].items()
            for language, texts in languages.items()
            for text in texts
        ),
        # Minified scripts, and lines that nobody wrote.
        ("javascript", "a=1;" * 60 + "\n", "minified"),
        ("python", "a=1;" * 60 + "\n", None),
        ("python", "x = [" + "1," * 6000 + "]\n", "minified"),
    ],
)
def test_texts(language, text, reason):
    """What a tool says it wrote, and scripts that a compiler wrote, are left out; code that speaks of it is taken."""
    assert text_reason(LANGUAGES[language], text) == reason


def test_every_reason_is_explained():
    for reason in ("hidden", "vendored", "generated", "minified", "not text", "unusable name", "unknown language"):
        assert reason in RULES


TESTS = ("tests/a.py", "src/test_a.py", "a_test.go", "a.spec.ts", "src/__tests__/a.js", "ATest.java", "A.Tests/b.cs")
OTHERS = ("src/a.py", "contest.py", "latest/a.py", "testing.py", "a/inspect.ts", "Latest.java", "A.Testing/b.cs")


def test_tests_are_known_by_their_paths():
    assert [path for path in (*TESTS, *OTHERS) if is_test(path)] == [*TESTS]
