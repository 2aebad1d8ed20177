"""What pydantic found wrong, in this project's words: what was expected, never how the check is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

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
    "greater_than": "a number greater than {gt} was expected",
    "greater_than_equal": "a number of {ge} or more was expected",
    "less_than": "a number less than {lt} was expected",
    "less_than_equal": "a number of {le} or less was expected",
    "string_too_short": "a text of {min_length} or more characters was expected",
    "string_pattern_mismatch": "a text of the form {pattern} was expected",
    "too_short": "{min_length} or more entries were expected",
    "too_long": "{max_length} or fewer entries were expected",
    "json_invalid": "not valid JSON ({error})",
}
"""pydantic's type of an error -> what is said of it."""


def expectation(error: Mapping[str, Any]) -> str:
    """What was expected where pydantic reports an error (an entry of `ValidationError.errors()`)."""
    words = _EXPECTED.get(error["type"])
    if words is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return words.format(**error.get("ctx", {}))


def mistakes(error: ValidationError, whole: str = "") -> list[str]:
    """`field: expectation` of each mistake; `whole` names what is wrong as a whole, if that has a name."""
    found = []
    for each in error.errors():
        field = ".".join(map(str, each["loc"])) or whole
        found.append((f"{field}: " if field else "") + expectation(dict(each)))
    return found
