"""Options of parts: their meaning, their default, and the reader that parses and checks their text.

Readers are plain records, so that every object with an option can be pickled.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass
from typing import Any, Protocol, get_args

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.spec import nearest

Value = str | float | None
"""Types of a measure's option."""


class Reader(Protocol):
    """Converts an option's text to its value; ValueError if the text is not possible."""

    @property
    def expected(self) -> str:
        """The possible values, as the end of the sentence `k1 is …`."""

    def __call__(self, text: str) -> Any:
        """The value."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Reads a whole number from `low` to `high`, by default the ones that a run can store."""

    low: int = -EXACT
    high: int = EXACT

    @property
    def expected(self) -> str:
        """The possible values."""
        low = "-2^53" if self.low == -EXACT else self.low
        return f"a whole number from {low} to " + ("2^53" if self.high == EXACT else f"{self.high:,}")

    def __call__(self, text: str) -> int:
        """The number."""
        if not re.fullmatch(r"-?[0-9]{1,4000}", text) or not self.low <= int(text) <= self.high:
            raise ValueError(text)
        return int(text)


@dataclass(frozen=True, slots=True)
class Number:
    """Reads a finite number from `low` to `high`; without `ends` both are excluded."""

    low: float = -math.inf
    high: float = math.inf
    ends: bool = True

    @property
    def expected(self) -> str:
        """The possible values."""
        if math.isfinite(self.high):
            words = ("from", "to") if self.ends else ("between", "and")
            return f"a number {words[0]} {self.low:g} {words[1]} {self.high:g}"
        return "a number" + (f" {'>=' if self.ends else '>'} {self.low:g}" if math.isfinite(self.low) else "")

    def __call__(self, text: str) -> float:
        """The number."""
        value = float(text)
        inside = self.low <= value <= self.high if self.ends else self.low < value < self.high
        if not inside or not math.isfinite(value):
            raise ValueError(text)
        return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """Reads one of a few words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """The possible values."""
        *others, last = self.words
        return f"{', '.join(others)} or {last}" if others else last

    def __call__(self, text: str) -> str:
        """The word."""
        if text not in self.words:
            raise ValueError(text)
        return text


@dataclass(frozen=True, slots=True)
class Text:
    """Reads any text; `expected` says which texts make sense."""

    expected: str = "a text"

    def __call__(self, text: str) -> str:
        """The text as it is written."""
        return text


@dataclass(frozen=True, slots=True)
class Switch:
    """Reads true or false."""

    expected: str = "true or false"

    def __call__(self, text: str) -> bool:
        """The truth value."""
        return OneOf(("true", "false"))(text.lower()) == "true"


@dataclass(frozen=True, slots=True)
class OrNone:
    """Reads `none`, or what another reader reads."""

    inner: Reader

    @property
    def expected(self) -> str:
        """The possible values."""
        return f"{self.inner.expected}, or none"

    def __call__(self, text: str) -> Any:
        """The value, None for `none`."""
        return None if text.lower() == "none" else self.inner(text)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a part, as in `bm25:k1=0.9` or `rbp(p=0.9)`.

    `default` is a value; None if the option does nothing unless it is given. `only` is another option and the value
    that it must have for this one to have an effect. A `required` option has no default.
    """

    default: Any
    meaning: str
    read: Reader
    _: KW_ONLY
    only: tuple[str, str] | None = None
    required: bool = False


def named_option(name: str, option: Option) -> str:
    """An option with its default; its name alone if it has none."""
    return name if option.default is None else f"{name}={option.default}"


def read_options(owner: str, given: Mapping[str, str], options: Mapping[str, Option]) -> dict[str, Any]:
    """Every option with its value, given or default, in the order of `options`; those without a value are left out.

    A SpecError about `owner` says which option does not exist, is missing, has no effect beside the others, or has an
    impossible value. It does not repeat the value of an unknown option, which could be a key.
    """
    for key in given:
        if not options:
            raise SpecError(f"{owner} takes no options; leave {key} out")
        if key not in options:
            raise SpecError(f"{owner}: {nearest('option', key, options)}")
    values: dict[str, Any] = {}
    for key, option in options.items():
        applies = option.only is None or values.get(option.only[0]) == option.only[1]
        if key in given:
            if not applies:
                raise SpecError(f"{owner}: {key} belongs to {'='.join(option.only or ())}; leave it out")
            values[key] = _read(owner, key, given[key], option)
        elif option.required:
            raise SpecError(f"{owner} needs {key}; add {key}=VALUE")
        elif applies and option.default is not None:
            values[key] = option.default
    return values


def _read(owner: str, key: str, text: str, option: Option) -> Any:
    try:
        return option.read(text)
    except ValueError:
        sentence = f"{key} is {option.read.expected}"
        if isinstance(option.read, OneOf):
            raise SpecError(f"{owner}: {nearest(key, text, option.read.words, sentence)}") from None
        raise SpecError(f"{owner}: {key}={text} is not possible; {sentence}") from None


def options_of(factory: Callable[..., object], gives: tuple[str, ...] = ()) -> dict[str, Option]:
    """The options of a class or function: its parameters that can be given by name, except those in `gives`.

    A field of a dataclass may state its meaning and possible values with `option`. The annotation of any other
    parameter, or the type of its default, decides how it is read.
    """
    keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    stated = (
        {attribute.name: attribute.metadata.get("option") for attribute in fields(factory)}
        if is_dataclass(factory)
        else {}
    )
    return {
        name: stated.get(name) or _annotated(parameter)
        for name, parameter in _parameters(factory).items()
        if parameter.kind in keyword and name not in gives
    }


def _parameters(factory: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(factory, eval_str=True).parameters
    except (NameError, AttributeError, TypeError, SyntaxError):  # an annotation that only a type checker imports
        plain = inspect.signature(factory).parameters
        return {
            name: parameter.replace(annotation=_evaluated(parameter.annotation)) for name, parameter in plain.items()
        }


def _evaluated(annotation: object) -> object:
    known = {kind.__name__: kind for kind in _READERS if isinstance(kind, type)}
    return known.get(annotation, inspect.Parameter.empty) if isinstance(annotation, str) else annotation


_READERS: Mapping[object, Reader] = {int: Whole(), float: Number(), bool: Switch(), str: Text()}


def _annotated(parameter: inspect.Parameter) -> Option:
    required = parameter.default is parameter.empty
    kind = parameter.annotation
    if kind is parameter.empty:
        kind = str if required else type(parameter.default)
    members = [member for member in get_args(kind) if member is not type(None)]
    optional = type(None) in get_args(kind)
    reader = _READERS.get(members[0] if optional and len(members) == 1 else kind, Text())
    return Option(
        None if required else parameter.default, "", OrNone(reader) if optional else reader, required=required
    )


def option(default: Any, meaning: str, read: Reader) -> Any:
    """Declare a field of a dataclass as an option of the part."""
    return field(default=default, metadata={"option": Option(default, meaning, read)})
