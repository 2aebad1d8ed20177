"""All of a user's mistakes in one error, in place of one a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError, all_mistakes

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class Mistake:
    """A usage error, the option it is about, and which of the option's values where it has several."""

    option: str
    value: str | None
    sentence: str


class Gathered:
    """`with gathered.about(option):` around each check keeps its usage error; `check` raises what was kept, as one."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def about(self, option: str, value: str | None = None) -> _About:
        """A context whose usage error is kept as one about this option."""
        return _About(self, option, value)

    def check(self) -> None:
        """A UsageError that holds every error kept, if there is any."""
        if self.mistakes:
            raise UsageError(all_mistakes(mistake.sentence for mistake in self.mistakes))


class _About:
    def __init__(self, found: Gathered, option: str, value: str | None) -> None:
        self._found, self._option, self._value = found, option, value

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, UsageError):
            return False
        self._found.mistakes.append(Mistake(self._option, self._value, str(error)))
        return True
