"""The texts behind places: tokens and identifiers of files, made once for however many measures ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple, Self

import numpy as np

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.identifiers import identifiers_in
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse
from repoeval_bench.metrics.context import look_up
from repoeval_bench.metrics.ngrams import BREAK, ORDER, Grams, TokenArray, TokenLines, Tokens, tokens_of


class Stream(NamedTuple):
    """The tokens of several files, with a break before each; `firsts` is file -> its first token."""

    tokens: TokenArray
    firsts: Mapping[str, int]
    files: Mapping[str, TokenLines]

    def tokens_of(self, file: str, lines: LineSpan) -> tuple[int, int]:
        """The first token of these lines, and the one after their last."""
        first, starts = self.firsts[file], self.files[file].starts
        return first + starts[lines.start], first + starts[lines.end]


class ToWrite(NamedTuple):
    """The prompt's tokens, the n-grams of the ground truth, and how many tokens before it are its first histories."""

    prompt: TokenArray
    grams: Grams
    n_before: int


class Sources(Mapping[str, "SourceFile"]):
    """File -> its text, with its tokens looked up in arrays that are made once."""

    def __init__(self, files: Mapping[str, SourceFile]) -> None:
        self._files = files
        self._lines: dict[SourceFile, TokenLines] = {}
        self._streams: dict[tuple[str, ...], Stream] = {}
        self._lacking: dict[str, list[int]] = {}
        self._to_write: dict[str, ToWrite] = {}
        self.tokens = Tokens()

    @classmethod
    def of(cls, files: Mapping[str, SourceFile]) -> Self:
        """The sources as they are, or made of a table."""
        return files if isinstance(files, cls) else cls(files)

    def __getitem__(self, name: str) -> SourceFile:
        return look_up("sources", self._files, name, "file")

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def token_lines(self, name: str) -> TokenLines:
        """The tokens of a file; a query's own copy of one has the same."""
        file = self[name]
        if file not in self._lines:
            self._lines[file] = self.tokens.read(file.text)
        return self._lines[file]

    def stream(self, files: tuple[str, ...]) -> Stream:
        """The tokens of these files, one after the other."""
        if files not in self._streams:
            found = {name: self.token_lines(name) for name in files}
            # A break before each file: no n-gram reaches over it.
            pieces = [piece for lines in found.values() for piece in (np.full(1, BREAK, dtype=np.int32), lines.tokens)]
            ends = accumulate((len(lines.tokens) + 1 for lines in found.values()), initial=1)
            firsts = dict(zip(found, ends, strict=False))
            self._streams[files] = Stream(np.concatenate(pieces), firsts, found)
        return self._streams[files]

    def lacking(self, tasks: Iterable[Task]) -> Mapping[str, list[int]]:
        """task_id -> the identifiers, as tokens, that a task's lines have and its prompt lacks; earlier tasks' too.

        The prompt lacks what it does not have as a word, in a comment or a string either. A file in an unknown language
        is a MetricError.
        """
        by_file: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            if task.task_id not in self._lacking:
                by_file[task.file].append(task)
        for name, found in by_file.items():
            file = self[name]
            language = language_of(file.path, file.text)
            if language is None:
                raise MetricError(f"{name} is in no language whose identifiers are known; leave identifier_recall out")
            parsed = parse(file, language)
            for task in found:
                names = sorted(identifiers_in(parsed, task.body) - frozenset(tokens_of(task.prompt)))
                self._lacking[task.task_id] = self.tokens.numbers(names)
        return self._lacking

    def to_write(self, task: Task) -> ToWrite:
        """A task's prompt and ground truth as tokens."""
        if task.task_id not in self._to_write:
            prompt, truth = (self.tokens.read(text).tokens for text in (task.prompt, task.ground_truth))
            history = prompt[max(0, len(prompt) - ORDER + 1) :]
            self._to_write[task.task_id] = ToWrite(prompt, Grams(np.concatenate([history, truth])), len(history))
        return self._to_write[task.task_id]
