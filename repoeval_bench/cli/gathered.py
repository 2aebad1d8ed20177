"""All of a user's mistakes in one sentence, in place of one a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class Gathered:
    """`with gathered:` around each check keeps its usage error; `check` raises what was kept, as one."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, UsageError):
            return False
        self.errors.append(str(error))
        return True

    def check(self) -> None:
        """A UsageError that holds every error kept, if there is any."""
        if self.errors:
            raise UsageError("; and ".join(dict.fromkeys(self.errors)))
