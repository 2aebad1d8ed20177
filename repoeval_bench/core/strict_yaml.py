"""YAML files that people write: checked as a whole, so that all problems are reported at once, with file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from repoeval_bench.core.errors import BenchError, UsageError, all_mistakes, os_errors_as
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.source import readable
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.validation import STRICT, expectation

if TYPE_CHECKING:
    import yaml

_Model = TypeVar("_Model", bound=BaseModel)

_SHOWN = 80  # the most characters of a value that a message quotes: it may be a whole file

KeyPath = tuple[str | int, ...]
"""Keys and indexes from the top of a file down to a value."""


class Strict(BaseModel):
    """A model in which unknown keys, values of another type, and numbers that are not finite are errors."""

    model_config = STRICT


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content as plain values, the line of every value (from 1), and the keys that appear twice."""

    path: Path
    content: Any
    lines: Mapping[KeyPath, int]
    repeated: tuple[KeyPath, ...]

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
        problems = [(location, f"{location[-1]!r} is given twice; keep one") for location in self.repeated]
        try:
            model.model_validate(self.content)
        except ValidationError as error:
            problems += [(tuple(details["loc"]), _sentence(dict(details), model)) for details in error.errors()]
        return problems


MOST = 256 * 1024
"""The most bytes of a file; those that people write have a hundredth of it."""

DEEPEST = 32
"""The most levels of nesting; our files have four."""

VALUES = 100_000
"""The most values of a file."""

_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))
"""Types that a value may have. A date is a text, as everywhere else here."""


def read_yaml(path: Path, way_out: str, kind: type[BenchError] = UsageError) -> Document:
    """Read a YAML file; an error of class `kind` if it cannot be read (`way_out` says what to do then) or is not YAML.

    A UsageError about a file that is not YAML names the line instead of the way out, as a person wrote the file.

    Values are texts, numbers, true, false, null, lists, and keys with values, within the limits above.
    """
    return parse_yaml(path, read_limited(path, way_out, kind), way_out, kind)


def read_limited(path: Path, way_out: str, kind: type[BenchError] = UsageError) -> bytes:
    """Read the bytes of a YAML file; see `read_yaml`."""
    with os_errors_as(kind, f"{path} cannot be read", way_out), path.open("rb") as stream:
        raw = stream.read(MOST + 1)
    if len(raw) > MOST:
        raise kind(f"{path} cannot be read (it has more than {MOST:,} bytes); {way_out}")
    return raw


def parse_yaml(path: Path, raw: bytes, way_out: str, kind: type[BenchError] = UsageError) -> Document:
    """Parse the bytes of a YAML file; see `read_yaml`."""
    import yaml

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        remedy = "save it as UTF-8" if kind is UsageError else way_out
        raise kind(f"{path}:{line} is not UTF-8; {remedy}") from error
    try:
        _check_size(yaml.parse(text, Loader=yaml.SafeLoader))
        loader = _loader(text)
        root = loader.get_single_node()
        locations = list(_keys_and_entries(root, ())) if root is not None else []
        content = loader.construct_document(root) if root is not None else None
    except yaml.YAMLError as error:
        position = getattr(error, "problem_mark", None)
        suffix = f":{position.line + 1}" if position else ""
        reason = str(getattr(error, "problem", None) or error).partition("\n")[0]
        otherwise = "" if kind is UsageError else f"; {way_out}"
        raise kind(f"{path}{suffix}: not valid YAML ({reason}){otherwise}") from error
    seen: dict[KeyPath, int] = {}
    repeated = []
    for location, line, is_key in locations:
        if is_key and location in seen:
            repeated.append(location)
        seen[location] = line
    return Document(path, content, seen, tuple(repeated))


def _check_size(events: Iterable[yaml.Event]) -> None:
    """Raise a MarkedYAMLError if values are nested too deeply, are too many, or have a tag or an anchor.

    This comes before any value is built: the library builds nested values by recursion, and repeated ones without end.
    """
    import yaml

    depth = count = 0
    for event in events:
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if not isinstance(event, yaml.NodeEvent):
            continue
        if event.anchor is not None:
            _refuse(f"a value has the name {event.anchor!r}, to be repeated by it; write the value each time", event)
        if event.tag is not None and event.tag not in _TAGS:
            _refuse(f"a value cannot be of the kind {event.tag}", event)
        count += 1
        depth += isinstance(event, yaml.CollectionStartEvent)
        if depth > DEEPEST:
            _refuse(f"values are nested more than {DEEPEST} levels deep", event)
        if count > VALUES:
            _refuse(f"it has more than {VALUES:,} values", event)


def _refuse(reason: str, source: yaml.Event | yaml.Node) -> NoReturn:
    import yaml

    raise yaml.MarkedYAMLError(problem=reason, problem_mark=source.start_mark)


def _loader(text: str) -> yaml.SafeLoader:
    """A loader that leaves dates as texts, and refuses a value that is not of its tag's type, with its line."""
    import yaml

    loader = yaml.SafeLoader(text)
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag in _TAGS]
        for first, known in loader.yaml_implicit_resolvers.items()
    }
    construct = loader.construct_object

    def checked(node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = construct(node, deep)
        except (ValueError, TypeError, ArithmeticError, LookupError):  # `!!float x`, `!!float`, a number without end
            _refuse(f"{str(node.value)[:40]!r} is not of the kind {node.tag.rpartition(':')[2]}", node)
        if isinstance(value, int) and abs(value) > EXACT:
            _refuse(f"{str(node.value)[:40]!r} is larger than 2^53", node)
        if isinstance(value, str) and value != readable(value):
            _refuse("a text holds half of a character", node)
        return value

    loader.construct_object = checked
    return loader


def _keys_and_entries(node: yaml.Node, location: KeyPath) -> Iterator[tuple[KeyPath, int, bool]]:
    """Yield (path of keys, line, whether it is a key) of every key and every entry of a list."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag.rpartition(":")[2] != "str":  # `on`, a number, nothing, a list
                name = f"the key {key.value[:40]!r}" if isinstance(key, yaml.ScalarNode) else "a key"
                _refuse(f"{name} is not a text; put it in quotes", key)
            if key.value == "<<" and not key.style:
                _refuse("merge keys (<<) are not read; write the keys themselves", key)
            inner = (*location, str(key.value))
            yield inner, key.start_mark.line + 1, True
            yield from _keys_and_entries(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield (*location, i), value.start_mark.line + 1, False
            yield from _keys_and_entries(value, (*location, i))


def _sentence(error: dict[str, Any], model: type[BaseModel]) -> str:
    """Say what is wrong with a value."""
    location, kind = error["loc"], error["type"]
    shown_location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    if kind == "extra_forbidden":
        known = model
        if len(location) > 1:  # the model of a key's value, or of the entries of its list
            around = model.model_fields[location[0]].annotation
            kinds = (around, *get_args(around))
            known = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
        within = shown_location.rpartition(".")[0]
        return (f"{within}: " if within else "") + nearest("key", str(location[-1]), known.model_fields)
    message = expectation(error)
    actual = error["input"]
    value = repr(actual) if isinstance(actual, str | int | float) and kind != "value_error" else ""
    shown = f" (it is {value[:_SHOWN]}{'…' if len(value) > _SHOWN else ''})" if value else ""
    return f"{shown_location}: {message}{shown}" if shown_location else message + shown
