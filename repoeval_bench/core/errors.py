"""Every error that a user can cause, so that the command line can end in one sentence and an exit code.

An error names the thing, the value and the way out. Only `cli` catches them.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

Given = TypeVar("Given")
Built = TypeVar("Built")


LONGEST = 300
"""The most characters of a sentence that a user reads."""

_LONGEST_WORD = 60


def shortened(text: str) -> str:
    """Cut each line to at most `LONGEST` characters: the middles of long words first, then the middle of the line."""
    # A sentence begins with the thing and ends with the way out; the value that it quotes between them may be long.
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
    """Base of all errors of this project; `exit_code` is the command line's exit code."""

    exit_code = 1

    def __init__(self, sentence: str = "") -> None:
        # Shortened here, so that a message may quote a value of any length.
        super().__init__(shortened(sentence))


class UsageError(BenchError):
    """A request names something that does not exist, or things that do not fit together (exit code 2)."""

    exit_code = 2


class SpecError(UsageError):
    """A spec such as `ast:max_nws=1500` names an unknown part or option, or an impossible value."""


class DatasetError(BenchError):
    """Task files, archives or repository trees are missing or broken, or their hashes do not match."""


class NoDataError(DatasetError, UsageError):
    """A source does not exist, or contains nothing that could be data (exit code 2)."""


class ChunkError(BenchError):
    """A chunker failed on a file or broke the contract of `Chunk`."""


class LanguageError(ChunkError, UsageError):
    """A chunker, or other code that reads a file, does not know its language (exit code 2)."""


OR_SKIP = ", or leave such files out (--set skip_errors=true, in a YAML file skip_errors: true)"
"""The end of such a message. It is cut off if no file can be left out, or if that was requested already."""


class GrammarError(LanguageError):
    """The grammar of a language is not installed (exit code 2, as for any missing package)."""


class OutOfTurnError(ChunkError):
    """A program wrote answers to no request, so its chunks may be those of other files."""


class EmbeddingError(BenchError):
    """A model is missing, is not the pinned one, or returned vectors that cannot be used."""


class CompletionError(BenchError):
    """A model's server returned no usable completion, or tests could not be run."""


class CacheError(BenchError):
    """The vector cache cannot be read or written, or contains an invalid entry."""


class MetricError(BenchError):
    """A ranking or qrels cannot be scored: duplicate ids, NaN scores, negative gains."""


class ResultError(BenchError):
    """A run folder cannot be written, or contains something that cannot be read back."""


def os_reason(error: Exception) -> str:
    """Return why a file cannot be read or written: the system's reason without its number and paths."""
    # The message around it names the file, which may have been written under a temporary name first.
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def os_errors_as(kind: type[BenchError], what: str, way_out: str) -> Iterator[None]:
    """Raise errors of the system and of decoding in the block as a `kind`: `what (reason); way_out`."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{what} ({os_reason(error)}); {way_out}") from error


def in_one_line(error: BaseException) -> str:
    """The class of another package's error and the first line of its message: `ValueError: no such column`."""
    first, *_ = str(error).strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {first.strip().removesuffix('.')}"


@contextmanager
def others_errors_as(as_error: Callable[[str], BenchError]) -> Iterator[None]:
    """Raise whatever another package's code raises in the block as an error of ours; Ctrl-C stays what it is."""
    try:
        yield
    except (BenchError, GeneratorExit):
        raise
    except BaseException as error:  # exits too, and what is no Exception, such as panics of Rust
        first: BaseException | None = error
        # The `finally` of that code may raise another error in place of Ctrl-C.
        while first is not None and not isinstance(first, KeyboardInterrupt):
            first = first.__context__
        if first is not None:
            raise first from None
        raise as_error(in_one_line(error)) from error


def plug_in_errors_as(kind: type[BenchError], what: str, way_out: str) -> AbstractContextManager[None]:
    """Raise whatever a plug-in raises in the block as a `kind`: `what failed with …; way_out`."""
    return others_errors_as(lambda reason: kind(f"{what} failed with {reason}; {way_out}"))


def without_traceback(error: ChunkError) -> ChunkError:
    """The same error without its traceback."""
    # The frames keep the caller's data and open caches in memory. If an error that a local variable names is raised
    # again, its frame is in a reference cycle.
    return type(error)(str(error))


def of_each(make: Callable[[Given], Built], values: Iterable[Given]) -> list[Built]:
    """Call `make` with each value; one UsageError lists every mistake."""
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
    """One mistake as its sentence; several, each once and on a line, under a line that counts them.

    A sentence of several lines is indented as a whole.

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


MANY = 12
"""The most names that a message lists if a command lists them too."""


def nearest(
    kind: str, given: str, known: Iterable[str], otherwise: str = "", *, listed_by: str = "", ending: str = ""
) -> str:
    """One sentence for an unknown name: `unknown chunker 'asst'; did you mean 'ast'?`.

    Upper and lower case count the same. If no name is near, it ends with the command that lists them (`listed_by`) if
    there are more than `MANY`, else with `otherwise`, or with all names. `ending`, such as `@10`, follows what was
    given and each name that is offered for it.
    """
    names = sorted(set(known))
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(given.lower(), folded, n=3)
    if close:
        otherwise = f"did you mean {' or '.join(repr(folded[name] + ending) for name in close)}?"
    elif listed_by and len(names) > MANY:
        otherwise = f"see {listed_by} for all {len(names)}"
    return f"unknown {kind} {given + ending!r}; {otherwise or 'choose from ' + ', '.join(names)}"
