"""Mistakes that pydantic finds, in this project's words: what was expected, without pydantic's terms."""

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from repoeval_bench.core.numbers import EXACT

# `defer_build`: a command uses few of the models, so each is built on first use.
STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
"""Frozen; unknown fields, values of another type, and numbers that are not finite are errors."""

LINES = 2**31 - 1
"""The largest line number."""

Count = Annotated[int, Field(ge=0, le=EXACT)]
Line = Annotated[int, Field(ge=0, le=LINES)]


def _plain(value: Any) -> Any:
    """The value if its numbers are finite and at most `EXACT`, as in values of a model; else a ValueError."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _plain(inner)
    elif (isinstance(value, int) and abs(value) > EXACT) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("numbers that are finite, and whole ones of at most 2^53, were expected")
    return value


Plain = Annotated[dict[str, Any], AfterValidator(_plain)]
"""Names and plain values of any shape."""

_MAPPING = "keys with values were expected"
_LIST = "a list was expected"
_TEXT = "a text was expected"
_WHOLE = "a whole number was expected"
_NUMBER = "a number was expected"
_TRUTH = "true or false was expected"

_EXPECTED = {
    "missing": "it is missing",
    "extra_forbidden": "this field does not exist; leave it out",
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "string_type": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "finite_number": "a finite number was expected",
    "literal_error": "{expected} was expected",
    "greater_than": "a number greater than {gt:g} was expected",
    "greater_than_equal": "a number of {ge} or more was expected",
    "less_than": "a number less than {lt:g} was expected",
    "less_than_equal": "a number of {le} or less was expected",
    "string_too_short": "a text of {min_length} or more characters was expected",
    "string_pattern_mismatch": "a text of the form {pattern} was expected",
    "too_short": "{min_length} or more entries were expected",
    "too_long": "{max_length} or fewer entries were expected",
    "json_invalid": "not valid JSON ({error})",
}
"""pydantic's type of an error -> what was expected."""


def expectation(error: Mapping[str, Any]) -> str:
    """Say what was expected, from an error of pydantic (an entry of `ValidationError.errors()`)."""
    words = _EXPECTED.get(error["type"])
    if words is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return without_line(words.format(**error.get("ctx", {})))


def without_line(text: str) -> str:
    """A message about JSON without "line 1"."""
    # The text that was parsed is often one line of a file itself.
    return text.replace(" at line 1 column ", " at character ")


# The most characters of a field's name or value in a message, and the most mistakes: both may be very many.
_SHOWN = 60


def mistakes(error: ValidationError, whole: str = "") -> list[str]:
    """`field: expectation, got value` of each mistake; `whole` is the name of a value that is wrong as a whole."""
    sentences = []
    for details in error.errors(include_url=False)[:_SHOWN]:
        field = _cut(".".join(map(str, details["loc"]))) or whole
        sentences.append((f"{field}: " if field else "") + expectation(dict(details)) + _got(details))
    return sentences


def _got(error: ErrorDetails) -> str:
    """Quote the value, if that says more than the expectation."""
    if isinstance(error["input"], dict) or error["type"] in ("json_invalid", "extra_forbidden", "value_error"):
        return ""
    return f", got {_cut(json.dumps(error['input'], default=str, ensure_ascii=False))}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
