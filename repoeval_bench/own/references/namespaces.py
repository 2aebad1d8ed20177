"""The namespaces of C++ in the texts of a repository: their names, their aliases, and those that macros open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NAMESPACE = re.compile(r"\b(inline\s+)?namespace\s+((?:\w+\s*::\s*)*\w+)\s*(?:=\s*([\w:\s]+);)?")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


class Namespaces:
    """All names of namespaces as `known`; names from outside the repository are none."""

    def __init__(self, texts: Iterable[str]) -> None:
        known: set[str] = set()
        self._aliases: dict[str, list[str]] = {}
        self._unsaid: set[str] = set()
        for text in texts:
            for inline, name, target in _NAMESPACE.findall(text):
                parts = re.findall(r"\w+", name)
                known.update(parts)
                if target:
                    self._aliases[parts[-1]] = re.findall(r"\w+", target)
                if inline:
                    self._unsaid.add(parts[-1])
            for macro in _MACRO.findall(text) if "namespace" in text else ():
                self._unsaid.update(
                    part for _, name, _ in _NAMESPACE.findall(macro) for part in re.findall(r"\w+", name)
                )
        self.known = frozenset(known)

    def plain(self, parts: Sequence[str]) -> list[str]:
        """Return the parts of a namespace's name without aliases, and without what code leaves out or a macro says."""
        written = [part for name in parts for part in self._aliases.get(name, [name])]
        return [part for part in written if part not in self._unsaid]
