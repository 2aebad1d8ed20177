"""YAML files that people write, checked as a whole: all problems are reported at once, with file and line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from repoeval_bench.core.errors import BenchError, UsageError, all_mistakes, nearest, os_errors_as
from repoeval_bench.core.validation import STRICT, expectation

_Model = TypeVar("_Model", bound=BaseModel)

_KEYS = "docs/data.md"
"""Where the keys of a file with many are listed."""

_KEY_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"}
"""The tags of keys: texts, and `<<`."""

KeyPath = tuple[str | int, ...]
"""Keys and indexes from the top of a file down to a value."""


class Strict(BaseModel):
    """A model in which unknown keys, values of another type, and numbers that are not finite are errors."""

    model_config = STRICT


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content as plain values, and the line of every value (from 1)."""

    path: Path
    content: Any
    lines: Mapping[KeyPath, int]

    def line(self, location: KeyPath) -> int:
        """The line of a value, or of the nearest value around it that has one; 0 if none has."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 0)

    def where(self, location: KeyPath) -> str:
        """`file:line`, or the file alone if no line is known."""
        line = self.line(location)
        return f"{self.path}:{line}" if line else str(self.path)

    def read(self, model: type[_Model]) -> _Model:
        """The content as a `model`; a UsageError lists everything that does not fit."""
        if problems := self.problems(model):
            raise UsageError(
                all_mistakes((f"{self.where(location)}: {sentence}" for location, sentence in problems), self.path)
            )
        return model.model_validate(self.content)

    def problems(self, model: type[BaseModel]) -> list[tuple[KeyPath, str]]:
        """Return (path of keys, sentence) of everything in the content that does not fit `model`."""
        try:
            model.model_validate(self.content)
        except ValidationError as error:
            return [(details["loc"], _sentence(dict(details), model)) for details in error.errors()]
        return []


def read_yaml(path: Path, way_out: str) -> Document:
    """Read a YAML file; a UsageError if it cannot be read (`way_out` says what to do then) or is not YAML."""
    return parse_yaml(path, read_bytes(path, way_out), way_out)


def read_bytes(path: Path, way_out: str, kind: type[BenchError] = UsageError) -> bytes:
    """Read the bytes of a file; an error of class `kind`, which ends with `way_out`, if it cannot be read."""
    with os_errors_as(kind, f"{path} cannot be read", way_out):
        return path.read_bytes()


def parse_yaml(path: Path, raw: bytes, way_out: str, kind: type[BenchError] = UsageError) -> Document:
    """Parse the bytes of a YAML file; an error of class `kind` if they are not YAML.

    Values are those of PyYAML's safe loader, but a date is a text. A repeated key is an error, and so is one that is no
    text, as `on`, which is true.
    """
    try:
        loader = _Loader(raw)
        root = loader.get_single_node()
        lines = {} if root is None else dict(_lines(root, ()))
        content = None if root is None else loader.construct_document(root)
    except RecursionError:
        raise kind(f"{path}: not valid YAML (values are nested too deeply); {way_out}") from None
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        AttributeError,
    ) as error:  # `!!float x`, `!!bool x`, `!!timestamp x`
        position = getattr(error, "problem_mark", None)
        suffix = f":{position.line + 1}" if position else ""
        reason = str(getattr(error, "problem", None) or error).partition("\n")[0]
        # A person wrote the file of a UsageError, so the line is the way out.
        if isinstance(error, LookupError | AttributeError):
            reason = "a value does not fit its tag"
        otherwise = "" if kind is UsageError else f"; {way_out}"
        raise kind(f"{path}{suffix}: not valid YAML ({reason}){otherwise}") from error
    return Document(path, content, lines)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    yaml_implicit_resolvers: ClassVar = {  # a date is a text
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse keys that are no texts, and repeated ones, where PyYAML would take the last one."""
        seen = set()
        for key, _ in node.value:
            if key.tag not in _KEY_TAGS:
                shown = f" {key.value!r}" if isinstance(key, yaml.ScalarNode) else ""
                raise yaml.MarkedYAMLError(
                    problem=f"the key{shown} is not a text; put it in quotes", problem_mark=key.start_mark
                )
            if key.value in seen:
                problem = f"{key.value!r} is given twice; keep one"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _lines(node: yaml.Node, location: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Yield (path of keys, line) of every key and every entry of a list."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*location, str(key.value))
            yield inner, key.start_mark.line + 1
            yield from _lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield (*location, i), value.start_mark.line + 1
            yield from _lines(value, (*location, i))


def _sentence(error: dict[str, Any], model: type[BaseModel]) -> str:
    location, kind = error["loc"], error["type"]
    shown_location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    if kind == "extra_forbidden":
        known = model
        if len(location) > 1:  # the model of a key's value, or of the entries of its list
            around = model.model_fields[location[0]].annotation
            kinds = (around, *get_args(around))
            known = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
        within = shown_location.rpartition(".")[0]
        return (f"{within}: " if within else "") + nearest(
            "key", str(location[-1]), known.model_fields, listed_by=_KEYS
        )
    message = expectation(error) + ("" if location or kind == "value_error" else ", such as a line of KEY: VALUE")
    actual = error["input"]
    value = repr(actual) if isinstance(actual, str | int | float) and kind != "value_error" else ""
    shown = f" (it is {value})" if value else ""
    return f"{shown_location}: {message}{shown}" if shown_location else message + shown
