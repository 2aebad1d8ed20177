"""A plain function as a chunker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.core.parts import Chunker
    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class FunctionChunker:
    """`function` takes a `SourceFile` and gives its chunks; the spec is `py:module:name`."""

    function: Callable[[SourceFile], Sequence[Chunk]]

    @property
    def spec(self) -> str:
        """Where the function is defined."""
        return f"py:{self.function.__module__}:{self.function.__qualname__}"

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """What the function makes of the file."""
        return self.function(file)


def as_chunker(given: object) -> Chunker:
    """The object itself where it has `spec` and `chunk`, a function as a chunker; anything else is a UsageError."""
    named = isinstance(getattr(given, "spec", None), str)
    if named and callable(getattr(given, "chunk", None)):
        return cast("Chunker", given)
    if isinstance(given, type):
        raise UsageError(f"chunker {given.__name__} is a class; give an object of it, {given.__name__}()")
    if hasattr(given, "chunk"):
        raise UsageError(
            f"chunker {type(given).__name__} has no spec; give it an attribute spec, a text such as "
            f"'py:{type(given).__module__}:{type(given).__name__}'"
        )
    name = getattr(given, "__qualname__", "")
    if not callable(given) or not name:
        raise UsageError(
            f"{given!r} is not a chunker; give a spec such as 'ast', an object with spec and chunk, or a function"
        )
    if not name.isidentifier():
        raise UsageError(f"function {name} cannot be named in a run; define it at the top of a module or script")
    return FunctionChunker(cast("Callable[[SourceFile], Sequence[Chunk]]", given))
