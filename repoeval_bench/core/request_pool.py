"""Send requests to a server, several at a time, within a limit of their total cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

Again = Callable[[], None]
"""Called before a request is sent again; its error ends the request."""

PoolRequest = TypeVar("PoolRequest")
Answer = TypeVar("Answer")


class RequestPool(Generic[PoolRequest, Answer]):
    """Threads that send requests, which the caller's thread feeds and reads.

    `most` is the largest possible cost of a request, `spent` its cost by its answer. `limit` is the most that all may
    cost together with `before`, None for any amount. A request that fails, or is sent again, counts at its largest
    cost. `too_dear` makes the error at the limit from the amount spent and the largest cost of the next request. Costs
    are in any unit.
    """

    def __init__(
        self,
        *,
        most: Callable[[PoolRequest], float],
        spent: Callable[[PoolRequest, Answer], float],
        too_dear: Callable[[float, float], Exception],
        limit: float | None = None,
        before: float = 0.0,
    ) -> None:
        self._most, self._spent, self._too_dear, self._limit = most, spent, too_dear, limit
        self.spent = before
        self._reserved = 0.0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[PoolRequest, float] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[PoolRequest, float, Answer | BaseException]] = SimpleQueue()

    def answers(
        self, requests: Sequence[PoolRequest], ask: Callable[[PoolRequest, Again], Answer], at_once: int
    ) -> Iterator[Answer]:
        """The answers as they come, in any order. The first failure is raised once all sent requests have ended.

        `ask` is called in `at_once` threads; it calls its second argument before it sends its request again.
        """
        at_once = min(at_once, len(requests))
        for number in range(at_once):
            # Daemons: Ctrl-C does not wait for their requests.
            threading.Thread(target=self._work, args=(ask,), name=f"ask-{number}", daemon=True).start()
        waiting = list(reversed(requests))
        under_way = 0
        failure: BaseException | None = None
        try:
            while under_way or (waiting and failure is None):
                while waiting and failure is None and under_way < at_once:
                    most = self._most(waiting[-1])
                    if not self._reserve(most):
                        failure = None if under_way else self._too_dear(self.spent, most)
                        break
                    under_way += 1
                    self._jobs.put((waiting.pop(), most))
                if not under_way:
                    continue
                request, most, answer = self._done.get()
                under_way -= 1
                if isinstance(answer, BaseException):
                    self._settle(most, most)
                    failure = failure or answer
                else:
                    self._settle(most, self._spent(request, answer))
                    yield answer
        finally:
            for _ in range(at_once):
                self._jobs.put(None)
        if failure is not None:
            raise failure

    def _reserve(self, most: float) -> bool:
        """Reserve the largest cost of a request; False if that would exceed the limit."""
        with self._lock:
            if self._limit is not None and self.spent + self._reserved + most > self._limit:
                return False
            self._reserved += most
            return True

    def _settle(self, reserved: float, cost: float) -> None:
        with self._lock:
            self._reserved -= reserved
            self.spent += cost

    def _again(self, most: float) -> None:
        """Count the last attempt at its largest cost, and reserve as much for the next one."""
        if not self._reserve(most):
            raise self._too_dear(self.spent + self._reserved, most)
        self._settle(most, most)

    def _work(self, ask: Callable[[PoolRequest, Again], Answer]) -> None:
        while (job := self._jobs.get()) is not None:
            request, most = job
            try:
                self._done.put((request, most, ask(request, partial(self._again, most))))
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                self._done.put((request, most, error))
