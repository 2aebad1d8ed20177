"""Specs, which name parts: `name`, `name:key=value,…`, `py:module:Class`, `exec:COMMAND`.

`core.registry` knows the names; here are only parsing and printing back.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from repoeval_bench.core.errors import SpecError

_NAME = re.compile(r"[A-Za-z][\w.-]*\Z")


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed spec: `name`, a positional `target` ("" if there is none) and `params` as written.

    >>> Spec.parse("ast:max_nws=800").params
    {'max_nws': '800'}
    >>> Spec.parse("st:all-mpnet-base-v2,max_length=384").target
    'all-mpnet-base-v2'
    >>> Spec.parse("py:my.pkg:Cutter:size=3").target
    'my.pkg:Cutter'
    """

    name: str
    target: str
    params: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a spec; a SpecError says which piece is wrong."""
        name, _, rest = text.strip().partition(":")
        if not _NAME.match(name):
            several = [piece.strip() for piece in name.split(",")]
            if all(map(_NAME.match, several)):
                raise SpecError(
                    f"spec {text!r} names several; give {several[0]} alone, and repeat an option that takes more, such "
                    "as -c, for each; in a file write a list"
                )
            raise SpecError(f"spec {text!r} has no name; write it as name or name:key=value,…")
        if name == "exec":
            if not rest.strip():
                raise SpecError(f"spec {text!r} has no command; write exec:COMMAND")
            return cls(name, rest.strip(), {})
        if name == "py":
            module, _, tail = rest.partition(":")
            attribute, _, options = tail.partition(":")
            if not module or not attribute:
                raise SpecError(f"spec {text!r} names nothing in a module; write py:module:name")
            return cls(name, f"{module}:{attribute}", _params(text, options.split(",") if options else []))
        pieces = rest.split(",") if rest else []
        target = pieces.pop(0) if pieces and "=" not in pieces[0] else ""
        return cls(name, target, _params(text, pieces))

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.params.items())
        rest = (":" if self.name == "py" else ",").join(filter(None, (self.target, options)))
        return f"{self.name}:{rest}" if rest else self.name


def _params(text: str, pieces: Iterable[str]) -> dict[str, str]:
    params: dict[str, str] = {}
    for piece in pieces:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not key or not equals or not value:
            raise SpecError(f"spec {text!r}: {piece!r} is not key=value")
        if key in params:
            raise SpecError(f"spec {text!r} gives {key} twice")
        params[key] = value
    return params


def format_spec(name: str, params: Mapping[str, object], target: str = "") -> str:
    """The spec text of a part with all its parameters, as a run prints it back."""
    return str(Spec(name, target, {key: str(value) for key, value in params.items()}))
