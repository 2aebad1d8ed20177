"""Requests to a server, several at a time, within what they may cost together."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Crowd(Generic[Asked, Answer]):
    """Threads that ask, each with a client of its own, fed by the caller's, which alone counts what is spent.

    `most` is what a request can cost at most, `spent` what it has cost by its answer, `limit` what all may cost
    together with `before`, None for any amount. `too_dear` makes the error of stopping there, given what was spent and
    how many requests are left. Costs are in any unit.
    """

    def __init__(
        self,
        *,
        most: Callable[[Asked], float],
        spent: Callable[[Asked, Answer], float],
        too_dear: Callable[[float, int], Exception],
        limit: float | None = None,
        before: float = 0.0,
    ) -> None:
        self._most, self._spent, self._too_dear, self._limit = most, spent, too_dear, limit
        self.spent = before
        self._jobs: SimpleQueue[tuple[Asked, float] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[Asked, float, Answer | BaseException]] = SimpleQueue()

    def answers(self, asked: Sequence[Asked], clients: Iterable[Callable[[Asked], Answer]]) -> Iterator[Answer]:
        """The answers as they come, in any order. The first failure is raised once all that was sent has come back."""
        clients = list(clients)
        for number, client in enumerate(clients):
            # Daemons: Ctrl-C does not wait for what they wait for.
            threading.Thread(target=self._work, args=(client,), name=f"ask-{number}", daemon=True).start()
        waiting = list(reversed(asked))
        under_way: list[float] = []
        failure: BaseException | None = None
        try:
            while under_way or (waiting and failure is None):
                while waiting and failure is None and len(under_way) < len(clients):
                    most = self._most(waiting[-1])
                    if self._limit is not None and self.spent + sum(under_way) + most > self._limit:
                        failure = None if under_way else self._too_dear(self.spent, len(waiting))
                        break
                    under_way.append(most)
                    self._jobs.put((waiting.pop(), most))
                if not under_way:
                    continue
                request, most, answer = self._done.get()
                under_way.remove(most)
                if isinstance(answer, BaseException):
                    failure = failure or answer
                    continue
                self.spent += self._spent(request, answer)
                yield answer
        finally:
            for _ in clients:
                self._jobs.put(None)
        if failure is not None:
            raise failure

    def _work(self, client: Callable[[Asked], Answer]) -> None:
        while (job := self._jobs.get()) is not None:
            asked, most = job
            try:
                self._done.put((asked, most, client(asked)))
            except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
                self._done.put((asked, most, error))
