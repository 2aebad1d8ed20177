"""The base model of requests: its fields are options, and one error lists all mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, Field, ValidationError

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.validation import STRICT, expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOption:
    """Names and help of a field.

    The option is `--` and the field's name unless `spelled` otherwise; `also` is another spelling. `key` is the field's
    key in a benchmark file, its name if empty. `combined`: a file may give several values, and every combination is
    run. `words`: one word of the command line gives all values, separated by blanks or commas. `variable` is an
    environment variable with the value. `rare`: few users need it, so it is set by `--set FIELD=VALUE`, and
    `--help-all` lists it.
    """

    meaning: str
    metavar: str | None = None
    also: str = ""
    spelled: str = ""
    key: str = ""
    combined: bool = False
    words: bool = False
    variable: str | None = None
    rare: bool = False

    def spelling(self, name: str) -> str:
        """Return the spelling of a field's option on the command line."""
        return f"--set {name}" if self.rare else self.spelled or f"--{name.replace('_', '-')}"

    def words_of(self, name: str, value: Any, *, short: bool = True) -> list[str]:
        """Return the words that set a field on the command line; `short`: by an option of one letter, if it has one."""
        if self.rare:
            return ["--set", name if value is True else f"{name}={value}"]
        spelled = self.also if short and self.also.startswith("-") and len(self.also) == 2 else self.spelled
        spelled = spelled or self.spelling(name)
        if value is True:
            return [spelled]
        if isinstance(value, tuple):
            return [spelled, " ".join(map(str, value))] if self.words else [w for v in value for w in (spelled, str(v))]
        return [spelled, str(value)]


class Request(BaseModel):
    """Fields with their options; unknown fields and values of another type are errors."""

    model_config = STRICT
    of_data: ClassVar[frozenset[str]] = frozenset()
    """The fields that decide which data is read."""

    @classmethod
    def options(cls) -> dict[str, FieldOption]:
        """Field -> its option, in the order of the help; a field without an option can be set in Python only."""
        extras = {name: cast("dict[str, Any]", field.json_schema_extra) for name, field in cls.model_fields.items()}
        return {name: extra["option"] for name, extra in extras.items() if extra}

    def words(self, *shown: str, short: bool = True) -> list[str]:
        """Return the command line's options for this request: those that differ from their defaults, and `shown` ones.

        If `short`, options of one letter are used, and the data comes last; else spelling and order are those of help.
        """
        usual, names = type(self)(), list(self.options())
        if short:
            names.sort(key=lambda name: (name != "chunker", name in self.of_data))
        return [
            word
            for name in names
            if getattr(self, name) != getattr(usual, name) or name in shown
            for word in self.options()[name].words_of(name, getattr(self, name), short=short)
        ]

    @classmethod
    def of(cls, fields: Mapping[str, Any], *, typed: bool = False) -> Self:
        """Return the request with these fields; a UsageError names all that are unknown or not possible.

        It names fields, or their options if they were `typed` on a command line.
        """
        values = {
            name: _distinct(value) if isinstance(value, list | tuple) else value for name, value in fields.items()
        }
        for name, value in values.items():
            # A single value may stand for a tuple of one.
            if (
                isinstance(value, str)
                and name in cls.model_fields
                and "tuple" in str(cls.model_fields[name].annotation)
            ):
                values[name] = (value,)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise UsageError(
                all_mistakes(_sentence(dict(error_fields), cls, typed=typed) for error_fields in error.errors())
            ) from error


def _distinct(values: list[Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    """Return each value once; all of them if one cannot be compared, as no field takes that one."""
    try:
        return tuple(dict.fromkeys(values))
    except TypeError:
        return tuple(values)


def _sentence(error: dict[str, Any], model: type[Request], *, typed: bool) -> str:
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return nearest("option", name, model.model_fields)
    if typed:
        name = model.options()[name].spelling(name)
    return f"{name}: {expectation(error)} (it is {error['input']!r})"


def option(
    default: Any,
    meaning: str,
    metavar: str | None = None,
    *,
    ge: float | None = None,
    gt: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    **names: Any,
) -> Any:
    """Return a field with its default, its option (`names` are other fields of `FieldOption`) and its bounds."""
    extra: Any = {"option": FieldOption(meaning=meaning, metavar=metavar, **names)}
    return Field(default, json_schema_extra=extra, ge=ge, gt=gt, lt=lt, le=le)
