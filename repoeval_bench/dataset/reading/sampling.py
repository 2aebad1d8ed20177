"""Tasks that are made of code: their prompts, and samples of candidates and of tasks, drawn with a seed.

All candidates are in one order: the first of each file, then the second of each file, and so on. The seed decides the
order of files and of candidates.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, zip_longest
from math import ceil
from typing import NamedTuple, TypeAlias

from repoeval_bench.core.benchmark import Benchmark, Task, TaskSample
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.assembly import with_tasks
from repoeval_bench.dataset.repoeval import FUNCTION

SIMILAR = 0.8
"""Jaccard over pairs of tokens from which on two texts are near-duplicates."""

_TokenPair: TypeAlias = tuple[str, str]

# Characters that are enough to compute a mean; a monorepo holds hundreds of times as many.
_CHARACTERS = 1_000_000


class TaskCandidate(NamedTuple):
    """Lines of a file that could be written by completion; `name` is the function's."""

    path: str
    target_span: LineSpan
    name: str


class Order:
    """The front of the order of one repository's candidates."""

    # The front alone is kept, so that memory does not grow with a tree.

    def __init__(self, seed: int, repo: str, room: int) -> None:
        self._salt = f"{seed}\0{repo}\0"
        self._room = room
        self._front: list[tuple[int, bytes, TaskCandidate]] = []
        """Candidates by their rank within their file, then by chance."""

    def add(self, candidates: Iterable[TaskCandidate]) -> None:
        """Add all candidates of one file."""
        chances = sorted((self._chance(candidate), candidate) for candidate in candidates)
        self._front += [(rank, *candidate) for rank, candidate in enumerate(chances[: self._room])]
        if len(self._front) > 4 * self._room:
            self._cut()

    def __iter__(self) -> Iterator[TaskCandidate]:
        self._cut()
        return iter([candidate for _, _, candidate in self._front])

    def _cut(self) -> None:
        self._front.sort()
        del self._front[self._room :]

    def _chance(self, candidate: TaskCandidate) -> bytes:
        key = f"{self._salt}{candidate.path}\0{candidate.target_span.start}"
        # Python's own hash of a text differs from process to process.
        return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def take_turns(orders: Sequence[Iterable[TaskCandidate]]) -> Iterator[tuple[int, TaskCandidate]]:
    """Yield (position of the order, candidate): one of each repository, then the next of each, until none is left."""
    for turn in zip_longest(*orders):
        yield from ((position, candidate) for position, candidate in enumerate(turn) if candidate is not None)


def part_of(benchmark: Benchmark, most: int, seed: int = 0, per_file: int | None = None) -> Benchmark:
    """A sample of a benchmark's tasks, in their order, drawn as a pack draws its own; `per_file` of each file at most.

    Their repositories keep every file. It is the benchmark itself where it has no more tasks.
    """
    eligible = benchmark.tasks if per_file is None else _few_of_each_file(benchmark.tasks, per_file)
    if len(benchmark.tasks) <= most and len(eligible) == len(benchmark.tasks):
        return benchmark
    in_file: dict[str, dict[str, list[TaskCandidate]]] = {repo: defaultdict(list) for repo in benchmark.files}
    for task in eligible:
        in_file[task.repo][task.path].append(TaskCandidate(task.path, task.body, task.task_id))
    orders = []
    for repo, files in in_file.items():
        orders.append(Order(seed, repo, most))
        for candidates in files.values():
            orders[-1].add(candidates)
    drawn = {candidate.name for _, candidate in islice(take_turns(orders), most)}
    sample = TaskSample(most=most, of=len(benchmark.tasks), seed=seed, per_file=per_file)
    return with_tasks(benchmark, (task for task in benchmark.tasks if task.task_id in drawn), sample=sample)


def _few_of_each_file(tasks: Sequence[Task], most: int) -> list[Task]:
    """Return at most so many tasks of each file, spread evenly over its lines."""
    by_file: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        # All windows of a history have the same files.
        by_file[task.change.file if task.change else task.file].append(task)
    few: list[Task] = []
    for of_file in by_file.values():
        ordered = sorted(of_file, key=lambda task: task.body.start)
        number = min(most, len(ordered))
        few += (ordered[i * len(ordered) // number] for i in range(number))
    return few


class Distinct:
    """Texts that are not near-duplicates of each other."""

    def __init__(self) -> None:
        self._by_pair: dict[_TokenPair, list[frozenset[_TokenPair]]] = defaultdict(list)

    def admits(self, tokens: Sequence[str]) -> bool:
        """Return False for a near-duplicate of a text that was admitted before; admit it otherwise."""
        # Prefix filtering (Chaudhuri et al. 2006): two similar texts in the same sort order share a pair among the
        # first `1 - SIMILAR` of both, so others are looked up there alone. Long pairs come first: few texts have them.
        pairs = frozenset(pairwise(tokens))
        ordered = sorted(pairs, key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
        prefix = ordered[: len(pairs) - ceil(SIMILAR * len(pairs)) + 1] or [("", "")]
        # A text that shares several pairs is compared once.
        others = {id(other): other for pair in prefix for other in self._by_pair[pair]}
        if any(_are_similar(pairs, other) for other in others.values()):
            return False
        for pair in prefix:
            self._by_pair[pair].append(pairs)
        return True


def _are_similar(one: frozenset[_TokenPair], other: frozenset[_TokenPair]) -> bool:
    n_one, n_other = len(one), len(other)
    if n_one < SIMILAR * n_other or n_other < SIMILAR * n_one:  # a share of the union that they cannot reach
        return False
    shared = len(one & other)
    return shared >= SIMILAR * (n_one + n_other - shared)


def some_of(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Every n-th file, about a million characters together; all where they are fewer."""
    return list(files[:: max(1, sum(len(file.text) for file in files) // _CHARACTERS)])


TOKENIZER = "code"
CONTEXT = "2k"
PROMPT_TOKENS = 2000

# A rule needs no vocabulary. RepoEval's prompts, cut at 2,000 tokens of Codex, have 1,840 of these in the median.
_TOKEN = re.compile(r"\n[ \t]*|[ \t]{2,}|[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|_+|[^\w\s]|\w")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text: parts of identifiers, up to three digits, signs, line ends with the indentation behind."""
    return _TOKEN.findall(text)


def tokens_per_nws(files: Iterable[SourceFile]) -> float:
    """Tokens for each non-whitespace character of these files; 0.0 of none."""
    texts = [file.text for file in files]
    return sum(len(tokens_of(text)) for text in texts) / max(1, sum(map(count_nws, texts)))


def prompt_lines(file: SourceFile, target_span: int) -> LineSpan:
    """Return the lines before line `target_span` that a prompt shows: at least one, and at most 2,000 tokens."""
    start, left = target_span, PROMPT_TOKENS
    while start > 0:
        # A line's indentation is one token with the line end before it.
        line = "\n" + file.line_text(LineSpan(start - 1, start)).rstrip()
        # One token too many ends the search, so that what is read does not grow with the file.
        left -= sum(1 for _ in islice(_TOKEN.finditer(line), left + 1))
        if left < 0:
            break
        start -= 1
    return LineSpan(max(0, min(start, target_span - 1)), target_span)


def make_task(file: SourceFile, target_span: LineSpan, shown: LineSpan, *, task_id: str, name: str) -> Task:
    """A function task as upstream writes its own: no prompt ends in a line end."""
    return Task(
        task_id=task_id,
        repo=file.repo,
        path=file.path,
        prompt=file.line_text(shown).removesuffix("\n"),
        ground_truth=file.line_text(target_span),
        body=target_span,
        context_start=shown.start,
        level=FUNCTION.name,
        function_name=name or None,
    )
