"""Options of retrievers: their defaults, what they mean, and how their text is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench.spec import one_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a retriever: its default, what it means, and how its text is read (ValueError if impossible).

    `only` is another option and the value that it must have for this one to say anything.
    """

    default: str
    meaning: str
    wanted: str
    read: Callable[[str], Any]
    only: tuple[str, str] | None = None


def number(low: float, high: float) -> Callable[[str], float]:
    """Reads a number from `low` to `high`."""

    def read(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return read


def whole(low: int) -> Callable[[str], int]:
    """Reads a whole number from `low` on."""

    def read(text: str) -> int:
        value = int(text)
        if value < low:
            raise ValueError(text)
        return value

    return read


def tokenizer(default: str = "code") -> Option:
    """How a text becomes terms, for every retriever that counts them."""

    def read(text: str) -> str:
        from repoeval_bench.tokens import TOKENIZERS

        return one_of(*TOKENIZERS)(text)

    meaning = (
        "code: identifiers whole and in parts; words: lower-cased \\w+; english: Lucene's English analyser; "
        "whitespace: cut at blanks, as written"
    )
    return Option(default, meaning, "code, words, english or whitespace", read)
