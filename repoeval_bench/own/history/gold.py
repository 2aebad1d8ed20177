"""The lines that a later commit changed, found in the tree at a base: the gold of protocol `commits`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.history.changes import ChangedFile, definitions_on, places_of, read_source

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

    A changed line counts where the definition of its name has the same line exactly once. Where several definitions
    have the name, as overloads do, it is the one of the same signature.
    """
    source = read_source(raw, path)
    if source is None:
        return {}
    file, language = source
    places = places_of(file, language, (line for change in changes.values() for line in change.lines))
    names: Counter[str] | None = None
    golds = {}
    for key, change in changes.items():
        lines = {}
        for line in change.lines:
            if len(places[line]) != 1:
                continue
            ((number, holder),) = places[line]
            if holder.signature != line.signature:
                # Most signatures are still the same, and to read all definitions takes longer than all else here.
                names = names or Counter(
                    definition.qualified for definition in definitions_on(file, language) if not definition.declaration
                )
                if names[line.definition] > 1:
                    continue
            lines[number] = holder.lines
        if lines:
            gold = _gold(lines)
            golds[key] = gold if language else gold._replace(definitions=())
    return golds


def _gold(lines: Mapping[int, LineSpan]) -> FoundGold:
    around = [
        LineSpan(max(line - AROUND, whole.start), min(line + AROUND + 1, whole.end)) for line, whole in lines.items()
    ]
    return FoundGold(
        tuple(around), tuple(LineSpan(line, line + 1) for line in lines), tuple(dict.fromkeys(lines.values()))
    )
