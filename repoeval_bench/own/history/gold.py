"""The lines that a later commit changed, found in the tree at a base: the gold of protocol `commits`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.history.changes import ChangedFile, definitions_on, read_source

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition

AROUND = 5
"""Lines around each changed line that the deciding gold contains, within the definition."""


class FoundGold(NamedTuple):
    """The gold of a change in a file of a base, by kind: lines with those around, lines alone, whole definitions.

    `definitions` is empty for a file without a grammar, whose definitions are not known.
    """

    lines: tuple[LineSpan, ...]
    exact: tuple[LineSpan, ...]
    definitions: tuple[LineSpan, ...]


def find_gold(raw: bytes, path: str, changes: Mapping[str, ChangedFile]) -> dict[str, FoundGold]:
    """Key -> the gold of each change of a file, in the file's text at a base; changes whose gold is gone are left out.

    A changed line counts where the definition of its name has the same line exactly once.
    """
    source = read_source(raw, path)
    if source is None:
        return {}
    file, language = source
    places: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(file.text.splitlines()):
        places[row.rstrip()].append(number)
    texts = {line.text for change in changes.values() for line in change.lines}
    candidates = sorted(number for text in texts for number in places.get(text, ()))
    by_name: dict[str, list[Definition]] = defaultdict(list)
    for definition in definitions_on(file, language, tuple(candidates)):
        by_name[definition.qualified].append(definition)
    golds = {}
    for key, change in changes.items():
        lines = {}
        for name, text in change.lines:
            matches = [
                (number, holder)
                for number in places.get(text, ())
                if (holder := _holder(number, by_name.get(name, ())))
            ]
            if len(matches) == 1:
                lines[matches[0][0]] = matches[0][1]
        if lines:
            gold = _gold(lines)
            golds[key] = gold if language else gold._replace(definitions=())
    return golds


def _holder(line: int, defined: Iterable[Definition]) -> LineSpan | None:
    """The lines of the innermost of these definitions that contains a line."""
    spans = [definition.lines for definition in defined if line in definition.lines]
    return min(spans, key=len, default=None)


def _gold(lines: Mapping[int, LineSpan]) -> FoundGold:
    around = [
        LineSpan(max(line - AROUND, whole.start), min(line + AROUND + 1, whole.end)) for line, whole in lines.items()
    ]
    return FoundGold(
        tuple(around), tuple(LineSpan(line, line + 1) for line in lines), tuple(dict.fromkeys(lines.values()))
    )
