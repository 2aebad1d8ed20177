"""Options: annotated parameters of the class or function that makes a part, and fields of a request.

    max_nws: Annotated[Positive, Doc("non-whitespace characters of a chunk, at most")] = 1500

pydantic reads and checks a value by its annotation; help and lists print its `Doc`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge

from repoeval_bench.core.errors import SpecError, nearest

if sys.version_info >= (3, 14):
    import annotationlib

if TYPE_CHECKING:
    from pydantic import TypeAdapter


Natural = Annotated[int, Ge(0)]
"""A whole number from 0."""

Positive = Annotated[int, Ge(1)]
"""A whole number from 1."""


@dataclass(frozen=True, slots=True)
class Doc:
    """The meaning of an option, as help and lists print it."""

    text: str


@dataclass(frozen=True)
class Option:
    """An option of a part, as in `bm25:k1=0.9`; its default is None or empty if it does nothing unless given."""

    name: str
    type: Any
    default: Any = None
    required: bool = False

    def __str__(self) -> str:
        if self.required or self.default == "":
            return self.name
        return f"{self.name}={'none' if self.default is None else self.default}"

    @property
    def meaning(self) -> str:
        """Its text for help and lists."""
        return next((doc.text for doc in getattr(self.type, "__metadata__", ()) if isinstance(doc, Doc)), "")

    @property
    def words(self) -> tuple[str, ...]:
        """The possible values, where these are a few words."""
        return next((get_args(kind) for kind in self._kinds if get_origin(kind) is Literal), ())

    @cached_property
    def _kinds(self) -> tuple[Any, ...]:
        """The type without its annotations; of `X | None`, both."""
        plain = get_args(self.type)[0] if get_origin(self.type) is Annotated else self.type
        return get_args(plain) if type(None) in get_args(plain) else (plain,)

    @cached_property
    def _reader(self) -> TypeAdapter[Any]:
        from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter

        try:
            return TypeAdapter(self.type, config=ConfigDict(allow_inf_nan=False))
        except PydanticSchemaGenerationError:  # a class of a plug-in, which makes of the text what it likes
            return TypeAdapter(str)

    def read(self, owner: str, value: Any) -> Any:
        """Return the value of a text or of anything else, checked; a SpecError about `owner` if it is not possible."""
        from pydantic import ValidationError  # measures are scored without it

        if isinstance(value, str) and value.lower() == "none" and type(None) in self._kinds:
            return None
        try:
            return self._reader.validate_python(value)
        except ValidationError as error:
            details: dict[str, Any] = dict(error.errors(include_url=False)[0])
        from repoeval_bench.core.validation import expectation

        if details["type"] == "value_error":  # a sentence of the option's own
            raise SpecError(f"{owner}: {expectation(details)}")
        if self.words:
            raise SpecError(f"{owner}: {nearest(self.name, str(value), self.words)}")
        raise SpecError(f"{owner}: {self.name}={value} is not possible; {expectation(details)}")


def read_options(owner: str, given: Mapping[str, Any], options: Mapping[str, Option]) -> dict[str, Any]:
    """Every option with its value, given or default, in the order of `options`; those without a value are left out.

    A SpecError about `owner` says which option does not exist, is missing, or has an impossible value.
    """
    for key in given:
        if not options:
            raise SpecError(f"{owner} takes no options; leave {key} out")
        if key not in options:
            # Without its value, which could be a key.
            raise SpecError(f"{owner}: {nearest('option', key, options)}")
    values: dict[str, Any] = {}
    for key, option in options.items():
        if key in given:
            values[key] = option.read(owner, given[key])
        elif option.required:
            raise SpecError(f"{owner} needs {key}; add {key}=VALUE")
        elif option.default not in (None, ""):
            values[key] = option.default
    return values


@cache
def options_of(part: Any, gives: frozenset[str] = frozenset()) -> Mapping[str, Option]:
    """Return the options of a class or function: its parameters that can be given by name, except those in `gives`.

    A parameter without an annotation is read as its default is, or as a text.
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    options = {}
    for name, parameter in parameters_of(part).items():
        if parameter.kind not in named or name in gives:
            continue
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        kind = _evaluated(part, name, parameter.annotation)
        if kind is parameter.empty:
            kind = str if default is None else type(default)
        options[name] = Option(name, kind, default, required)
    return options


def parameters_of(part: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class or function, by name."""
    try:
        return inspect.signature(part).parameters
    except (NameError, AttributeError, TypeError):
        # Python evaluates annotations only when they are read. One that only a type checker can read stays a text.
        if sys.version_info >= (3, 14):
            return inspect.signature(part, annotation_format=annotationlib.Format.STRING).parameters
        raise


def _fields(cls: type) -> Collection[str]:
    """Return the names that a class annotates itself."""
    if sys.version_info >= (3, 14):
        return inspect.get_annotations(cls, format=annotationlib.Format.STRING)
    return inspect.get_annotations(cls)


def _evaluated(part: Any, name: str, annotation: Any) -> Any:
    """Return an annotation as an object; nothing for one that only a type checker can read."""
    if not isinstance(annotation, str):
        return annotation
    # A field is annotated in the module of the class that declares it.
    owner = next((cls for cls in getattr(part, "__mro__", ()) if name in _fields(cls)), part)
    module = sys.modules.get(owner.__module__)
    stated = SimpleNamespace(__annotations__={name: annotation})
    try:
        return get_type_hints(stated, vars(module) if module else {}, include_extras=True)[name]
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.Parameter.empty
