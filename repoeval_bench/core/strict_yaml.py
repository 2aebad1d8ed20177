"""YAML files that people write: checked as a whole, so that all problems are reported at once, with file and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.validation import expectation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import yaml

Place = tuple[str | int, ...]
"""Keys and positions from the top of a file down to a value."""


class Strict(BaseModel):
    """A part of a file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content as plain values, the line of every value (from 1), and keys that are given twice."""

    path: Path
    content: Any
    lines: Mapping[Place, int]
    repeated: tuple[Place, ...]

    def line(self, place: Place) -> int:
        """The line of a value, or of the nearest part around it that has one; 0 where the file does not have it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 0)

    def where(self, place: Place) -> str:
        """`file:line`, or the file alone where the file does not have that place."""
        line = self.line(place)
        return f"{self.path}:{line}" if line else str(self.path)

    def problems(self, model: type[BaseModel], parts: Mapping[str, type[BaseModel]]) -> list[tuple[Place, str]]:
        """(place, sentence) of everything in which the content is not what `model` wants; none where it is.

        `parts` is key -> the model of the entries under it, whose keys are offered where one is unknown.
        """
        found = [(place, f"{place[-1]!r} is given twice; keep one") for place in self.repeated]
        try:
            model.model_validate(self.content)
        except ValidationError as error:
            listed: set[type[BaseModel]] = set()
            found += [(tuple(each["loc"]), _sentence(dict(each), model, parts, listed)) for each in error.errors()]
        return found


def read_yaml(path: Path, way_out: str) -> Document:
    """Read a YAML file; a UsageError where it cannot be read (`way_out` says how to name another) or is no YAML."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}); {way_out}") from error
    try:
        content, root = yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f":{mark.line + 1}" if mark else ""
        reason = str(getattr(error, "problem", None) or error).partition("\n")[0]
        raise UsageError(f"{path}{at}: not valid YAML ({reason})") from error
    found = list(_places(root, (), set())) if root is not None else []
    seen: dict[Place, int] = {}
    repeated = []
    for place, line, is_key in found:
        if is_key and place in seen:
            repeated.append(place)
        seen[place] = line
    return Document(path, content, seen, tuple(repeated))


def _places(node: yaml.Node, place: Place, walked: set[int]) -> Iterator[tuple[Place, int, bool]]:
    """Every key's and every entry's place and line, and whether it is a key."""
    import yaml

    if id(node) in walked:  # an alias: its target may contain itself, or be repeated a million times
        return
    walked.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, str(key.value))
            yield inner, key.start_mark.line + 1, True
            yield from _places(value, inner, walked)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield (*place, i), value.start_mark.line + 1, False
            yield from _places(value, (*place, i), walked)


def _sentence(
    error: dict[str, Any],
    model: type[BaseModel],
    parts: Mapping[str, type[BaseModel]],
    listed: set[type[BaseModel]],
) -> str:
    """What is wrong; `listed` are the models whose keys were listed for an error before, which is enough."""
    location, kind = error["loc"], error["type"]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    if kind == "extra_forbidden":
        known = parts[location[0]] if len(location) > 1 else model
        within = place.rpartition(".")[0]
        otherwise = "choose from the keys named above" if known in listed else ""
        sentence = nearest("key", str(location[-1]), known.model_fields, otherwise)
        if "; choose from" in sentence:
            listed.add(known)
        return (f"{within}: " if within else "") + sentence
    message = expectation(error)
    given = error["input"]
    shown = f" (it is {given!r})" if isinstance(given, str | int | float) and kind != "value_error" else ""
    return f"{place}: {message}{shown}" if place else message + shown
