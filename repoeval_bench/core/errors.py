"""Every error a user can cause, so that the command line can end in one sentence and an exit code.

Raise one with the thing, the value and the way out. They are caught in `cli` only.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

Given = TypeVar("Given")
Built = TypeVar("Built")


LONGEST = 300
"""Characters of a sentence that a user reads."""

_LONGEST_WORD = 60


def shortened(text: str) -> str:
    """Cut each line to at most `LONGEST` characters: the middles of its longest words, then its own.

    A sentence begins with the thing and ends with the way out; what it quotes between them may be of any length.
    """
    return "\n".join(map(_shortened, text.split("\n")))


def _shortened(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    words = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: _without_middle(word[0], _LONGEST_WORD), line)
    return _without_middle(words, LONGEST)


def _without_middle(text: str, most: int) -> str:
    end = most // 2
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


class BenchError(Exception):
    """Base of all errors of this project; `exit_code` is what the command line ends with.

    Its sentences are shortened here, so that a message may quote a value of any length.
    """

    exit_code = 1

    def __init__(self, sentence: str = "") -> None:
        super().__init__(shortened(sentence))


class UsageError(BenchError):
    """A request names what does not exist or does not fit together (exit code 2)."""

    exit_code = 2


class SpecError(UsageError):
    """A spec such as `ast:max_nws=1500` names an unknown part or option, or an impossible value."""


class DatasetError(BenchError):
    """Task files, archives or repository trees are missing, broken or not what their hashes say."""


class NoDataError(DatasetError, UsageError):
    """A source is not there, or holds nothing that could be data (exit code 2)."""

    exit_code = 2


class ChunkError(BenchError):
    """A chunker failed on a file or broke the contract of `Chunk`."""


class LanguageError(ChunkError, UsageError):
    """A file is of a language that a chunker, or what else reads it, does not know (exit code 2)."""

    exit_code = 2


OR_SKIP = ", or leave such files out (--skip-errors; of a run --set skip_errors)"
"""The end of such a sentence. It is cut off where no file can be left out, or where it was asked for already."""


class GrammarError(LanguageError):
    """The grammar of a language is not installed (exit code 2, as for every missing package)."""


class OutOfTurnError(ChunkError):
    """A program wrote answers that it was not asked for, so none of its chunks is known to be of the right file."""


class EmbeddingError(BenchError):
    """A model is absent, is not the one that was pinned, or gave vectors that cannot be used."""


class CompletionError(BenchError):
    """A model's server gave no completion that can be used, or tests could not be run."""


class CacheError(BenchError):
    """The vector cache cannot be read or written, or holds what it must not hold."""


class MetricError(BenchError):
    """A ranking or qrels cannot be scored: duplicate ids, NaN scores, negative gains."""


class ResultError(BenchError):
    """A run folder cannot be written, or holds what cannot be read back."""


_LONGEST = 200
"""Characters of others' messages that are shown."""


def os_reason(error: Exception) -> str:
    """Return why a file cannot be read or written; of what the system says, without a number and paths.

    The sentence around it names the file that was asked for, which may have been written under another name first.
    """
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def os_errors_as(kind: type[BenchError], what: str, way_out: str) -> Iterator[None]:
    """Within the block an error of the system, or of decoding, is one of a kind: `what (reason); way_out`."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{what} ({os_reason(error)}); {way_out}") from error


def in_one_line(error: BaseException) -> str:
    """The kind of an error of others' code, and of its message the first line: `ValueError: no such column`."""
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 - the message is code of others too
        words = ""
    first, *_ = words.strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {first.strip()[:_LONGEST]}"


@contextmanager
def others_errors_as(as_error: Callable[[str], BenchError]) -> Iterator[None]:
    """Within the block whatever another package's code raises is an error of ours, made of its kind and message.

    That includes exits, and what is no Exception, as panics of Rust are. Ctrl-C stays Ctrl-C.
    """
    try:
        yield
    except (BenchError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise as_error(in_one_line(error)) from error


def plug_in_errors_as(kind: type[BenchError], what: str, way_out: str) -> AbstractContextManager[None]:
    """Within the block whatever a plug-in raises is one of a kind, in one sentence: `what failed with …; way_out`."""
    return others_errors_as(lambda reason: kind(f"{what} failed with {reason}; {way_out}"))


@contextmanager
def ending_with(last: Callable[[], None]) -> Iterator[None]:
    """Do `last` at the end of the block, after an error too, and hide neither's error: one sentence names both."""
    try:
        yield
    except BaseException as error:
        try:
            last()
        except BenchError as second:
            if isinstance(error, BenchError):
                raise type(error)(f"{error}; after that {second}") from error
            error.add_note(str(second))  # an interrupt stays one
        raise
    last()


def without_traceback(error: ChunkError) -> ChunkError:
    """The same error without its traceback, whose frames hold what the caller holds: data, and caches that are open.

    Raised again, an error that a local names would keep that frame in a cycle.
    """
    return type(error)(str(error))


def of_each(make: Callable[[Given], Built], values: Iterable[Given]) -> list[Built]:
    """Make something of each value; one UsageError lists every mistake in them."""
    results: list[Built] = []
    wrong: list[UsageError] = []
    for value in values:
        try:
            results.append(make(value))
        except UsageError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise UsageError(all_mistakes(map(str, wrong)))
    return results


def all_mistakes(sentences: Iterable[str], where: object = "") -> str:
    """One mistake as its sentence; several one a line, each once, under a line that counts them.

    One that has lines of its own is indented as a whole.

    >>> print(all_mistakes(["K=0", "no gold", "K=0"], "bench.yaml"))
    2 mistakes in bench.yaml:
      K=0
      no gold
    """
    distinct = list(dict.fromkeys(sentences))
    if len(distinct) == 1:
        return distinct[0]
    lines = (sentence.replace("\n", "\n  ") for sentence in distinct)
    return "\n  ".join([f"{len(distinct)} mistakes{f' in {where}' if where else ''}:", *lines])
