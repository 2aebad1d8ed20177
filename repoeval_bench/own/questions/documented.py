"""Questions from documentation: the query is the first paragraph of a docstring, the gold its function."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, zip_longest
from typing import NamedTuple

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile, blanked
from repoeval_bench.core.spans import Gold, LineSpan, Place, without
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.protocols.protocol import protocol

LEVEL = "docstring"
"""The level of tasks that are such questions."""

LEAST = 5
"""Words that a first paragraph has at least."""


class _Documented(NamedTuple):
    """A documented function: its docstring's question, "" without one, its gold, and the lines to be blanked.

    `has_code`: it has a body with more in it than the docstring.
    """

    question: str
    gold: Gold
    doc: LineSpan
    has_code: bool


def documented(benchmark: Benchmark) -> Benchmark:
    """The benchmark with a question for each documented function of its files, and the docstrings blanked.

    Functions of a repository that ask the same are one question with several places. Files take turns, so that a limit
    leaves questions of many. `unscored` counts the documented functions whose docstring has fewer than 5 words, or
    shares a line with code. A DatasetError where no function asks anything.
    """
    if benchmark.tasks and benchmark.tasks[0].level == LEVEL:
        return benchmark
    tasks: list[Task] = []
    files: dict[str, tuple[SourceFile, ...]] = {}
    unscored = 0
    for repo, repo_files in benchmark.files.items():
        by_file = {file: _documented(file) for file in repo_files}
        # Every docstring, not only the query's own: else the gold function alone would lack its docstring, and each
        # query would search another corpus.
        files[repo] = tuple(blanked(file, *(definition.doc for definition in by_file[file])) for file in repo_files)
        askable = [[function for function in functions if function.question] for functions in by_file.values()]
        unscored += sum(
            function.has_code and not function.question for functions in by_file.values() for function in functions
        )
        questions = [[(function.question, function.gold, None) for function in functions] for functions in askable]
        tasks += question_tasks(repo, LEVEL, questions)
    return with_question_tasks(
        benchmark,
        tasks,
        files,
        unscored,
        nothing=f"no function in {', '.join(files) or benchmark.name} has a docstring of {LEAST} words or more, so "
        "protocol docstring has no query; choose another protocol",
    )


def with_question_tasks(
    benchmark: Benchmark,
    tasks: Sequence[Task],
    files: Mapping[str, tuple[SourceFile, ...]],
    unscored: int,
    *,
    nothing: str,
) -> Benchmark:
    """The benchmark with these tasks, up to its limit, and with the files of their repositories.

    A DatasetError says that there is `nothing` to ask where there is no task.
    """
    if not tasks:
        raise DatasetError(nothing)
    first = tuple(tasks[: benchmark.limit])
    repos = {task.repo for task in first}
    sources = {repo: of_repo for repo, of_repo in files.items() if repo in repos}
    return replace(
        benchmark,
        tasks=first,
        files=sources,
        fingerprint=fingerprint(first, sources),
        whole_tasks=len(tasks),
        unscored=unscored,
    )


def question_tasks(repo: str, level: str, by_file: Iterable[Sequence[tuple[str, Gold, str | None]]]) -> Iterator[Task]:
    """Yield a task for each distinct question of a repository's files, which take turns.

    A question is its text, the definitions that answer it, and the functions that ask it; the first of these is the
    task's.
    """
    golds: dict[str, list[Place]] = defaultdict(list)
    askers: dict[str, str | None] = {}
    for question, gold, asker in filter(None, chain.from_iterable(zip_longest(*by_file))):
        golds[question] += gold
        askers.setdefault(question, asker)
    for number, (question, places) in enumerate(golds.items()):
        yield Task.asking(f"{repo}/{level}-{number}", question, places, level, function_name=askers[question])


@lru_cache(maxsize=4096)  # a comparison asks once for every chunker, and once for every retriever
def _documented(file: SourceFile) -> tuple[_Documented, ...]:
    """The documented functions of a file."""
    language = language_of(file.path, file.text)
    documented = []
    for definition in definitions(file, language) if language else ():
        if definition.kind not in {"function", "method"} or definition.doc is None:
            continue
        gold = without((Place(file.name, definition.lines),), Place(file.name, definition.doc.lines))
        # No line of it holds code too.
        alone = not definition.doc.lines.overlaps(definition.header) and not definition.doc.followed
        is_all = alone and definition.doc.lines == definition.body
        has_code = definition.body is not None and not definition.declaration and not is_all
        question = first_paragraph(definition.doc.text) if alone and has_code else ""
        documented.append(
            _Documented(
                question=question if count_words(question) >= LEAST else "",
                gold=gold,
                doc=definition.doc.lines if alone else LineSpan(0, 0),
                has_code=has_code,
            )
        )
    return tuple(documented)


def count_words(question: str) -> int:
    """Count the words of a question."""
    return len(re.findall(r"[^\W_]+", question))


def first_paragraph(text: str) -> str:
    """Return the first paragraph on one line, without the tags behind it (`@param`, `:param x:`).

    A tag that says that a description follows is left out alone. A role of Sphinx at the start of a line (:attr:`x`) is
    part of the sentence and no tag.
    """
    plain = re.sub(r"\A[@\\](?:brief|short|description|summary)\b:?", "", text.strip()).strip()
    paragraph = re.split(r"\n\s*(?:\n|[@\\]\w|:\w[^:\n]*:(?!`))", "\n" + plain, maxsplit=1)[0]
    return " ".join(paragraph.split())


DOCSTRING = protocol(
    __name__,
    name="docstring",
    gold="places",
    users="code search: the query is the first paragraph of a docstring, the target its function; docstrings are "
    "blanked out",
    tasks="docstring",
    ask=documented,
    unit="documented function",
    limits="docstrings share more words with their code than people's own queries do",
)
