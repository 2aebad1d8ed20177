"""Questions of tests and documents: a test calls definitions, a paragraph links them.

The words of a test or paragraph are the query; the definitions that it names are the gold. Their names are masked, and
tests and documents are not searched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Protocol

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.places import Gold, Place, join
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.dataset.build.code import is_test
from repoeval_bench.dataset.documented import count_words, question_tasks, with_question_tasks

COMMON_SHARE, COMMON_ASKERS = 0.1, 10
"""A share and a number of askers. A definition that more than both of these name is a helper, and not gold."""


class Asker(Protocol):
    """A test, or a paragraph: its location as `path::name`, the definitions that it names, and its question."""

    @property
    def location(self) -> str:
        """Its location as `path::name`."""

    @property
    def named(self) -> tuple[CodeDefinition, ...]:
        """The functions, methods and classes of the code that it names."""

    def question(self, masked: Sequence[CodeDefinition]) -> str:
        """The question, without the names of the `masked` definitions."""


def with_questions(
    benchmark: Benchmark,
    level: str,
    askers: Callable[[str], Iterable[Sequence[Asker]]],
    *,
    least: int,
    named: bool,
    nothing: str,
) -> Benchmark:
    """Make a question of each asker that names a definition of the code, and leave out the tests' files.

    `askers` gives a repository's askers by file. The names of the gold definitions are masked, unless questions are to
    be `named`. Then the same texts are questions, but fewer of them are equal, and equal ones are one question.
    `unscored` counts askers without a question: they name no gold definition, or fewer than `least` words are left.
    Without any question, a DatasetError has the text `nothing`.
    """
    tasks: list[Task] = []
    files: dict[str, tuple[SourceFile, ...]] = {}
    unscored = 0
    for repo, repo_files in benchmark.files.items():
        files[repo] = tuple(file for file in repo_files if not is_test(file.path))
        golds = _golds(files[repo])
        groups = tuple(askers(repo))
        common = _common(chain.from_iterable(groups))
        by_file: list[list[tuple[str, Gold, str | None]]] = []
        for of_file in groups:
            by_file.append([])
            for asker in of_file:
                specific = [definition for definition in asker.named if definition not in common]
                masked = asker.question(specific)
                if specific and count_words(masked) >= least:
                    question = asker.question(()) if named else masked
                    by_file[-1].append(
                        (question, join(chain.from_iterable(map(golds.lines, specific))), asker.location)
                    )
                else:
                    unscored += 1
        tasks += question_tasks(repo, level, by_file)
    return with_question_tasks(
        benchmark, tasks, files, unscored, nothing=nothing.format(", ".join(files) or benchmark.name)
    )


def masked_identifiers(text: str, masked: Iterable[CodeDefinition]) -> str:
    """The text on one line, without the identifiers that are part of a masked definition's name."""
    folded = {name.casefold() for name in name_parts(masked)}
    unmasked = re.sub(r"\w+", lambda match: "" if match[0].casefold() in folded else match[0], text)
    return " ".join(unmasked.split())


def name_parts(definitions: Iterable[CodeDefinition]) -> set[str]:
    """The identifiers that qualified names are made of."""
    return {part for definition in definitions for part in definition.name.split(".")}


def _common(askers: Iterable[Asker]) -> frozenset[CodeDefinition]:
    """Return the definitions that so many askers name that no question is about them."""
    n_askers = 0
    times: Counter[CodeDefinition] = Counter()
    for asker in askers:
        n_askers += bool(asker.named)
        times.update(asker.named)
    most = max(COMMON_ASKERS, COMMON_SHARE * n_askers)
    return frozenset(definition for definition, number in times.items() if number > most)


class _Golds:
    """The lines of a repository's functions and classes, by the place where a resolver finds their definition."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._functions: dict[tuple[str, str], list[Definition]] = {}
        for file in files:
            language = language_of(file.path, file.text)
            for definition in definitions(file, language) if language else ():
                if definition.kind in {"function", "method"}:
                    self._functions.setdefault((file.name, definition.name), []).append(definition)

    def lines(self, named: CodeDefinition) -> Gold:
        """Return all lines of a function; of a class those that `uses` takes: its head and its docstring."""
        own_name = named.name.rpartition(".")[2]
        for definition in self._functions.get((named.file, own_name), ()) if named.kind != "class" else ():
            if definition.lines.overlaps(named.lines):
                return (Place(named.file, definition.lines),)
        return (Place(named.file, named.lines),)


@lru_cache(maxsize=128)
def _golds(files: tuple[SourceFile, ...]) -> _Golds:
    return _Golds(files)
