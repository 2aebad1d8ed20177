"""Questions from tests: the query is a test's name in words, and its docstring; the gold is what the test calls.

Tests are not in the corpus. A test is a function or method whose name begins with `test`, in a file that a test runner
would find.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, dropwhile
from typing import NamedTuple

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.definitions import Definition, calls_in, definitions
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import LANGUAGES, Language, language_of
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold, LineSpan, Place, join
from repoeval_bench.core.syntax import parse
from repoeval_bench.core.terms import identifiers
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.dataset.reading.code import is_test
from repoeval_bench.own.questions.documented import count_words, first_paragraph, question_tasks, with_question_tasks
from repoeval_bench.own.references.resolver import Resolver
from repoeval_bench.protocols.protocol import protocol

LEVEL = "test"
"""The level of tasks that are such questions."""

LEAST = 3
"""The fewest words of a question once the names of its gold are masked."""

COMMON_SHARE, COMMON_TESTS = 0.1, 10
"""A share and a number of tests. A definition that more than both of these call is a helper, and not gold."""


class _Test(NamedTuple):
    """A test: its location as `path::name`, its name, its docstring's first paragraph, and the definitions it calls."""

    location: str
    name: str
    doc: str
    named: tuple[CodeDefinition, ...]

    def question(self, masked: Sequence[CodeDefinition]) -> str:
        """The test's name in words and its docstring, without the names of the definitions that are `masked`."""
        words = " ".join(dropwhile({"test", "tests"}.__contains__, _words(self.name)))
        for name in sorted(_name_parts(masked), key=lambda name: (-len(name), name)):
            run = re.escape(" ".join(_words(name)))
            words = " ".join(re.sub(rf"(?<!\S){run}(?!\S)", "", words).split())
        return ". ".join(filter(None, (words, _masked(self.doc, masked))))


def questions_of_tests(benchmark: Benchmark) -> Benchmark:
    """Make a question of each test that calls a definition of the code, and leave out the tests' files.

    The names of the gold definitions are masked. `unscored` counts tests without a question: they call no gold
    definition, or fewer than `LEAST` words are left. Without any question, a DatasetError.
    """
    if benchmark.tasks and benchmark.tasks[0].level == LEVEL:
        return benchmark
    tasks: list[Task] = []
    files: dict[str, tuple[SourceFile, ...]] = {}
    unscored = 0
    for repo, repo_files in benchmark.files.items():
        files[repo] = tuple(file for file in repo_files if not is_test(file.path))
        gold_of = partial(_gold, _functions(files[repo]))
        groups = _tests(repo_files)
        common = _common(chain.from_iterable(groups))
        by_file: list[list[tuple[str, Gold, str | None]]] = []
        for of_file in groups:
            by_file.append([])
            for test in of_file:
                specific = [definition for definition in test.named if definition not in common]
                question = test.question(specific)
                if specific and count_words(question) >= LEAST:
                    by_file[-1].append((question, join(chain.from_iterable(map(gold_of, specific))), test.location))
                else:
                    unscored += 1
        tasks += question_tasks(repo, LEVEL, by_file)
    nothing = (
        f"protocol tests has no query: no test in {', '.join(files) or benchmark.name} calls a definition and has "
        f"{LEAST} words or more left in its name and docstring; name code with its tests, such as sdist:NAME==VERSION"
    )
    return with_question_tasks(benchmark, tasks, files, unscored, nothing=nothing)


@lru_cache(maxsize=128)  # a comparison asks once for every chunker; resolving the names takes seconds
def _tests(files: tuple[SourceFile, ...]) -> tuple[tuple[_Test, ...], ...]:
    """The tests of each file of a repository that has some, with what they call outside of tests."""
    by_file = {file: tuple(_named_tests(file)) for file in files if is_test(file.path)}
    total = sum(map(len, by_file.values()))
    if not total:
        return ()
    result, resolver = [], Resolver(files)
    with progress(desc="resolve tests", unit="tests", total=total) as bar:
        for file, defined in by_file.items():
            language = _language(file)
            calls = calls_in(parse(file, language)) if defined and language else []
            tests = []
            for test, body in defined:
                bar.update()
                uses = resolver.uses(file.path, body)
                names = {name for name, lines in calls if lines.start in body}
                called = tuple(
                    used.definition
                    for used in uses or ()
                    if used.definition.kind in {"function", "method", "class"}
                    and used.definition.name.rpartition(".")[2] in names
                    and not is_test(used.definition.file.partition("/")[2])
                )
                tests.append(test._replace(named=called))
            if tests:
                result.append(tuple(tests))
    return tuple(result)


def _language(file: SourceFile) -> Language | None:
    """The language of a file, if it is one of the ten whose tests and calls are read."""
    language = language_of(file.path, file.text)
    return language if language and language.name in LANGUAGES else None


def _named_tests(file: SourceFile) -> Iterator[tuple[_Test, LineSpan]]:
    """The tests of a file and their bodies; none of them is in another.

    In JavaScript and TypeScript a call such as `it("says what", () => {…})` is a test too; its text is its docstring.
    """
    language = _language(file)
    end = 0
    for definition in definitions(file, language) if language else ():
        is_named = definition.kind in {"function", "method"} and definition.name.casefold().startswith("test")
        if definition.body and is_named and definition.lines.start >= end:
            end = definition.lines.end
            doc = first_paragraph(definition.doc.text) if definition.doc else ""
            yield _Test(f"{file.path}::{definition.qualified}", definition.name, doc, ()), definition.body
    if language and (query := GRAMMARS[language.name].tests):
        parsed = parse(file, language)
        for match in parsed.matches(query):
            says = " ".join(parsed.text(match["text"][0])[1:-1].split())
            yield _Test(f"{file.path}::{says}", "", says, ()), parsed.span(match["body"][0])


def _words(name: str) -> list[str]:
    """The parts of an identifier, in lower case."""
    whole, *parts = identifiers(name) or [""]
    return parts or [whole.strip("_")]


def _masked(text: str, masked: Iterable[CodeDefinition]) -> str:
    """The text on one line, without the identifiers that are part of a masked definition's name."""
    folded = {name.casefold() for name in _name_parts(masked)}
    unmasked = re.sub(r"\w+", lambda match: "" if match[0].casefold() in folded else match[0], text)
    return " ".join(unmasked.split())


def _name_parts(definitions: Iterable[CodeDefinition]) -> set[str]:
    """The identifiers that qualified names are made of."""
    return {part for definition in definitions for part in definition.name.split(".")}


def _common(tests: Iterable[_Test]) -> frozenset[CodeDefinition]:
    """Return the definitions that so many tests call that no question is about them."""
    named = [test.named for test in tests if test.named]
    times = Counter(chain.from_iterable(named))
    most = max(COMMON_TESTS, COMMON_SHARE * len(named))
    return frozenset(definition for definition, number in times.items() if number > most)


@lru_cache(maxsize=128)
def _functions(files: tuple[SourceFile, ...]) -> Mapping[tuple[str, str], list[Definition]]:
    """Return (file, name) -> the functions of that name."""
    functions: dict[tuple[str, str], list[Definition]] = defaultdict(list)
    for file in files:
        language = _language(file)
        for definition in definitions(file, language) if language else ():
            if definition.kind in {"function", "method"}:
                functions[file.name, definition.name].append(definition)
    return functions


def _gold(functions: Mapping[tuple[str, str], list[Definition]], named: CodeDefinition) -> Gold:
    """Return all lines of a function; of a class those that `uses` takes: its head and its docstring."""
    own_name = named.name.rpartition(".")[2]
    for definition in functions.get((named.file, own_name), ()) if named.kind != "class" else ():
        if definition.lines.overlaps(named.lines):
            return (Place(named.file, definition.lines),)
    return (Place(named.file, named.lines),)


TESTS = protocol(
    __name__,
    name="tests",
    gold="places",
    users="code search: the query is a test's name and docstring, the target the definitions that the test calls",
    tasks="tests",
    ask=questions_of_tests,
    unit="test",
    limits="about half of these queries do not describe what their test calls",
)
