"""Questions from tests: the name of a test, in words, and its docstring ask for the definitions that the test calls.

Tests are not in the corpus. A test is a function or method whose name begins with `test`, in a file that a test runner
would find.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.occurrences import occurrences
from repoeval_bench.core.places import Gold, Place, join
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import segments
from repoeval_bench.core.terms import identifiers
from repoeval_bench.core.uses import Definition as Called
from repoeval_bench.dataset.build.code import is_test
from repoeval_bench.dataset.documented import count_words, first_paragraph, question_tasks, with_question_tasks
from repoeval_bench.references.resolver import Resolver

LEVEL = "test"
"""The level of tasks that are such questions."""

LEAST = 3
"""Words that are left of a question at least once the names of what it asks for are masked."""

COMMON_SHARE, COMMON_TESTS = 0.1, 10
"""Share and number of the tests that call code; a definition that more than both call helps tests, and is no gold."""


class _Test(NamedTuple):
    """A test: its place as `path::name`, its name, its docstring's first paragraph, and the definitions it calls."""

    asker: str
    name: str
    doc: str
    called: tuple[Called, ...]


def questions_of_tests(benchmark: Benchmark, *, named: bool = False) -> Benchmark:
    """The benchmark with a question for each test that calls a definition of the code, and without its tests' files.

    Identifiers that are part of a gold definition's name are masked, unless the question is to be `named`; the same
    tests ask then, but fewer of their texts are equal, and equal ones are one question. `unscored` counts the tests
    that ask nothing: they call no definition that is gold, or fewer than 3 words are left of them. A DatasetError where
    no test asks anything.
    """
    if benchmark.tasks and benchmark.tasks[0].level == LEVEL:
        return benchmark
    tasks: list[Task] = []
    files: dict[str, tuple[SourceFile, ...]] = {}
    unscored = 0
    for repo, repo_files in benchmark.files.items():
        files[repo] = tuple(file for file in repo_files if not is_test(file.path))
        golds = _golds(files[repo])
        tests = _tests(repo_files)
        common = _common(chain.from_iterable(tests))
        by_file: list[list[tuple[str, Gold, str | None]]] = []
        for of_file in tests:
            by_file.append([])
            for test in of_file:
                called = [definition for definition in test.called if definition not in common]
                masked = _question(test, called)
                if called and count_words(masked) >= LEAST:
                    question = _question(test, ()) if named else masked
                    by_file[-1].append((question, join(chain.from_iterable(map(golds.lines, called))), test.asker))
                else:
                    unscored += 1
        tasks += question_tasks(repo, LEVEL, by_file)
    return with_question_tasks(
        benchmark,
        tasks,
        files,
        unscored,
        nothing=f"no test in {', '.join(files) or benchmark.name} calls a definition and has {LEAST} words or "
        "more left in its name and docstring, so protocol tests asks nothing; name code with its tests, such as "
        "sdist:NAME==VERSION",
    )


def _common(tests: Iterable[_Test]) -> frozenset[Called]:
    """Return the definitions that so many tests call that none of them is about them."""
    n_tests = 0
    calls: Counter[Called] = Counter()
    for test in tests:
        n_tests += bool(test.called)
        calls.update(test.called)
    most = max(COMMON_TESTS, COMMON_SHARE * n_tests)
    return frozenset(definition for definition, number in calls.items() if number > most)


class _Golds:
    """The lines of a repository's functions and classes, by where a resolver says that they are defined."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._functions: dict[tuple[str, str], list[Definition]] = {}
        for file in files:
            language = language_of(file.path, file.text)
            for definition in definitions(file, language) if language else ():
                if definition.kind in {"function", "method"}:
                    self._functions.setdefault((file.name, definition.name), []).append(definition)

    def lines(self, called: Called) -> Gold:
        """Return all lines of a function; of a class those that `uses` takes: its head and its docstring."""
        own_name = called.name.rpartition(".")[2]
        for definition in self._functions.get((called.file, own_name), ()) if called.kind != "class" else ():
            if definition.lines.overlaps(called.lines):
                return (Place(called.file, definition.lines),)
        return (Place(called.file, called.lines),)


@lru_cache(maxsize=128)
def _golds(files: tuple[SourceFile, ...]) -> _Golds:
    return _Golds(files)


@lru_cache(maxsize=128)  # a comparison asks once for every chunker; resolving the names takes seconds
def _tests(files: tuple[SourceFile, ...]) -> tuple[tuple[_Test, ...], ...]:
    """The tests of each file of a repository that has some, with what they call outside of tests."""
    by_file = {file: tuple(_named_tests(file)) for file in files if is_test(file.path)}
    total = sum(map(len, by_file.values()))
    if not total:
        return ()
    result = []
    with progress(desc="resolve tests", unit="tests", total=total) as bar, Resolver(files) as resolver:
        for file, defined in by_file.items():
            calls = _calls(file) if defined else ()
            tests = []
            for definition in defined:
                bar.update()
                assert definition.body is not None
                uses = resolver.uses(file.path, definition.body)
                names = {name for name, line in calls if line in definition.body}
                called = tuple(
                    used.definition
                    for used in (uses.used if uses else ())
                    if used.definition.kind in {"function", "method", "class"}
                    and used.definition.name.rpartition(".")[2] in names
                    and not is_test(used.definition.file.partition("/")[2])
                )
                doc = first_paragraph(definition.doc.text) if definition.doc else ""
                tests.append(_Test(f"{file.path}::{definition.qualified}", definition.name, doc, called))
            if tests:
                result.append(tuple(tests))
    return tuple(result)


def _named_tests(file: SourceFile) -> Iterator[Definition]:
    """The tests of a file, each with a body; none of them is in another."""
    language = language_of(file.path, file.text)
    end = 0
    for definition in definitions(file, language) if language else ():
        is_function = definition.kind in {"function", "method"} and definition.body
        if is_function and definition.name.casefold().startswith("test") and definition.lines.start >= end:
            end = definition.lines.end
            yield definition


def _calls(file: SourceFile) -> tuple[tuple[str, int], ...]:
    """(name, first line) of every call in a file."""
    language = language_of(file.path, file.text)
    parsed = segments(file, language) if language else ()
    return tuple((call.name, call.lines.start) for tree in parsed for call in occurrences(tree).calls)


def _question(test: _Test, masked: Sequence[Called]) -> str:
    """The test's name in words and its docstring, without the names of the definitions that are `masked`."""
    names = {part for definition in masked for part in definition.name.split(".")}
    words = _words(test.name)
    while words and words[0] in {"test", "tests"}:
        words = words[1:]
    for name in sorted(names, key=len, reverse=True):
        words = _without(words, _words(name))
    folded = {name.casefold() for name in names}
    doc = re.sub(r"\w+", lambda match: "" if match[0].casefold() in folded else match[0], test.doc)
    return ". ".join(filter(None, (" ".join(words), " ".join(doc.split()))))


def _words(name: str) -> list[str]:
    """The parts of an identifier, in lower case."""
    whole, *parts = identifiers(name) or [""]
    return parts or [whole.strip("_")]


def _without(words: list[str], name: list[str]) -> list[str]:
    """The words without each run of them that is the name."""
    rest: list[str] = []
    i = 0
    while i < len(words):
        if words[i : i + len(name)] == name:
            i += len(name)
        else:
            rest.append(words[i])
            i += 1
    return rest
