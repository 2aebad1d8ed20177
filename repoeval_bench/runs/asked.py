"""What was asked of an experiment or of jobs, and which of it was not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.runs.request import by_setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.runs.request import RunRequest


class Asked:
    """Requests by setting, and which of them made no run: these are told, and the others go on.

    `left_out` is chunker -> the reason, where it does not know a language of the data. `failed` is setting -> chunker
    -> the reason, where something went wrong.
    """

    def __init__(self, requests: Sequence[RunRequest]) -> None:
        self._members = by_setting(requests)
        self.left_out: dict[str, str] = {}
        self.failed: dict[RunRequest, dict[str, str]] = {}

    @property
    def settings(self) -> list[RunRequest]:
        """The requests without their chunkers, each once."""
        return list(self._members)

    def left_out_of(self, setting: RunRequest) -> dict[str, str]:
        """Those of the setting's chunkers that are left out, with the reason."""
        named = [str(each.chunker) for each in self._members[setting]]
        return {name: self.left_out[name] for name in named if name in self.left_out}

    def failed_of(self, setting: RunRequest) -> dict[str, str]:
        """Those of the setting's chunkers that failed, with the reason."""
        return dict(self.failed.get(setting, {}))

    def _fail(self, request: RunRequest, reason: str) -> None:
        self.failed.setdefault(request.setting, {})[str(request.chunker)] = reason
