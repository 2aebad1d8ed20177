"""Tasks, and the benchmark: tasks with the files of their repositories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Fact, Query
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold, LineSpan, Place, join
from repoeval_bench.core.uses import UsedDefinition
from repoeval_bench.core.words import count


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCommit:
    """A commit whose subject is a question. The task's `places` are the deciding gold, `lines`.

    `file` is the newest path of the changed file, which is one cluster in all windows. `author` numbers the authors of
    a repository from 1. `age_days` counts from the base, `lines_changed` what the commit removed and added.
    `is_insertion`: it removed nothing, and the gold is at the line before.
    `exact`: the gold lines alone. `definitions`: the whole innermost definitions that contain them, none in a file
    whose definitions are not known.
    """

    commit: str
    date: str
    subject: str
    # A number, so that no name is stored.
    author: int
    file: str
    age_days: int
    lines_changed: int
    is_insertion: bool
    exact: Gold
    definitions: Gold


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One completion task: write the lines `body` of a file, given `prompt`.

    `context_start` is the line at which upstream's prompt starts. `task_id` is unique in a benchmark. `uses` are the
    definitions of the repository that these lines use; None if that is not known. A task may be a question instead:
    then `prompt` is its text, `places` answer it, and `body` is the first of them. `change` is the commit that asks it,
    `facts` are names and values that its file gives it.
    """

    task_id: str
    repo: str
    path: str
    prompt: str
    ground_truth: str
    body: LineSpan
    context_start: int
    level: str
    function_name: str | None = None
    uses: tuple[UsedDefinition, ...] | None = None
    places: Gold = ()
    change: AskedCommit | None = None
    facts: tuple[tuple[str, Fact], ...] = ()

    @classmethod
    def asking(cls, query_id: str, text: str, places: Sequence[Place], level: str, **fields: Any) -> Self:
        """Return a question that these places, the first one's file and lines being the task's, answer."""
        repo, _, path = places[0].file.partition("/")
        return cls(
            task_id=query_id,
            repo=repo,
            path=path,
            prompt=text,
            ground_truth="",
            body=places[0].lines,
            context_start=places[0].lines.start,
            level=level,
            places=join(places),
            **fields,
        )

    @property
    def file(self) -> str:
        """`repo/path`: the file as places name it."""
        return f"{self.repo}/{self.path}"

    @property
    def prompt_span(self) -> LineSpan:
        """Gold `prompt`: [c, h+1)."""
        return LineSpan(self.context_start, self.body.start + 1)

    @property
    def context_span(self) -> LineSpan:
        """Gold `context`: [c, h+n)."""
        return LineSpan(self.context_start, self.body.end)


PERIOD = "period"
"""What a repository is in the queries of a history: the tree of a base commit, and the commits after it."""

TESTS = {
    "out": "neither searched nor used for queries",
    "index": "searched, but not used for queries",
    "all": "searched and used for queries, like other code",
}
"""What is done with the tests of a repository that has other code too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSample:
    """A sample of at most `most` of the `of` tasks that a protocol scores; repositories and files take turns.

    Of a file at most `per_file` are in it, spread over the file; None for any number.
    """

    most: int
    of: int
    seed: int
    per_file: int | None = None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Benchmark:
    """Tasks and the repository files they are answered from, as loaded and selected.

    `name` is `repoeval-LEVEL-CONTEXT-TOKENIZER`. `fingerprint` is 12 hex digits of a SHA-256 over tasks (id, hashes of
    prompt and ground truth, lines) and files (path, hash of the text). Another set has another fingerprint.
    `whole_tasks` and `whole_repos` count the published benchmark. `undecodable` names the files that were left out
    because they are not UTF-8. `is_published`: this is the published benchmark or a part of it, not a user's own set.
    `unscored` counts the tasks that have no gold under the protocol. `of_definitions`: the gold is the definitions that
    tasks use, and they are part of the fingerprint. `repos` are the repositories that were requested by name, none for
    all. `limit` is the largest number of tasks requested, and `sample` says how tasks were drawn from those that are
    scored. `tests` is what was requested of `TESTS`, and `test_files` counts the files that ask nothing for it.
    `extensions` are the endings that were asked for. `unanswerable` are questions that are known to have no answer:
    they are ranked, and not scored.
    """

    name: str
    fingerprint: str
    level: str
    tasks: tuple[Task, ...]
    files: Mapping[str, tuple[SourceFile, ...]]
    source: str
    # So that a part cannot pass for the whole.
    whole_tasks: int
    whole_repos: int
    undecodable: tuple[str, ...] = ()
    is_published: bool = False
    unscored: int = 0
    of_definitions: bool = False
    repos: tuple[str, ...] = field(default=(), compare=False)
    limit: int | None = None
    sample: TaskSample | None = None
    tests: str = "all"
    test_files: int = field(default=0, compare=False)
    extensions: tuple[str, ...] = field(default=(), compare=False)
    unanswerable: tuple[Query, ...] = ()

    def __repr__(self) -> str:
        return f"<Benchmark {self.label}>"

    @property
    def by_name(self) -> dict[str, SourceFile]:
        """`repo/path` -> file, of all repositories."""
        return {file.name: file for files in self.files.values() for file in files}

    @property
    def is_whole(self) -> bool:
        """Return whether every task and repository of the published benchmark is here."""
        return len(self.tasks) == self.whole_tasks and len(self.files) == self.whole_repos

    @property
    def label(self) -> str:
        """Name, size and fingerprint in one line, as every table carries it."""
        drawn = ""
        if self.sample:
            whole = "with" if self.sample.of == self.whole_tasks else f"from {self.sample.of:,},"
            drawn = f" (drawn {whole} seed {self.sample.seed})"
        asks = any(task.places for task in self.tasks[:1])
        first = "first " if self.limit and len(self.tasks) < self.whole_tasks else ""
        tasks = first + self._part(len(self.tasks), self.whole_tasks, "query" if asks else "task") + drawn
        # Queries are counted in these repositories alone, tasks in the whole set.
        return f"{self.name} · {tasks}{' in ' if asks else ', '}{self.searched} · data {self.fingerprint}"

    @property
    def searched(self) -> str:
        """The number of trees that are searched: repositories, or the periods of a history."""
        return self._part(len(self.files), self.whole_repos, PERIOD if self.is_history else "repository")

    @property
    def is_history(self) -> bool:
        """Return whether commits are the queries, and each period of a history is a repository."""
        return any(task.change for task in self.tasks[:1])

    @property
    def today(self) -> Mapping[str, tuple[SourceFile, ...]]:
        """The files of today: of a history those of the newest period, or else all."""
        return {max(self.files): self.files[max(self.files)]} if self.is_history else self.files

    def _part(self, number: int, whole: int, noun: str) -> str:
        is_whole = number == whole and not self.is_published
        return count(whole, noun) if is_whole else f"{number:,} of {count(whole, noun)}"


def check_loaded(benchmark: object) -> None:
    """Raise a UsageError for anything but loaded data, such as the name of a source."""
    if not isinstance(benchmark, Benchmark):
        raise UsageError(f"data is loaded first: give load_benchmark(SOURCE); got {type(benchmark).__name__}")
