"""The one reader of HTTP: an answer within a time and a size, whatever the server does.

An HTTP library bounds the wait for each byte. A server that sends one byte at a time, of its headers too, can keep it
forever. Here a thread reads, and the caller waits no longer than it said.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

LONGEST = 1800.0
"""Seconds that fetching a file or a package may take, however slowly its bytes come."""

_WAITING = 16
"""Blocks that the thread reads ahead."""


class TooMuchError(Exception):
    """The answer has more bytes than were allowed."""


class Reply(NamedTuple):
    """An answer whose head has arrived; `blocks` gives its body as it comes."""

    status: int
    headers: Mapping[str, str]
    blocks: Iterator[bytes]


class Response(NamedTuple):
    """An answer that has arrived whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(client: httpx.Client, method: str, url: str, *, seconds: float, most: int, **request: Any) -> Response:
    """A request and its whole answer; raises what `exchange` raises."""
    with exchange(client, method, url, seconds=seconds, most=most, **request) as reply:
        return Response(reply.status, reply.headers, b"".join(reply.blocks))


@contextmanager
def exchange(
    client: httpx.Client, method: str, url: str, *, seconds: float, most: int, raw: bool = False, **request: Any
) -> Iterator[Reply]:
    """Send a request and give its answer as it comes; `raw` is without undoing the server's compression.

    A TimeoutError after `seconds` from now, however much has arrived by then; a TooMuchError at more than `most` bytes
    of body. Other faults are raised as httpx raises them. A thread that was given up uses the client until the server
    next sends something, so after a TimeoutError take another client.
    """
    transfer = _Transfer(time.monotonic() + seconds, most)
    threading.Thread(
        target=transfer.read, args=(client.stream(method, url, **request), raw), name="request", daemon=True
    ).start()
    try:
        status, headers = transfer.next_item()
        yield Reply(status, headers, transfer.body())
    finally:
        transfer.given_up.set()


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; a TimeoutError after `seconds`.

    For libraries that bound the wait for each byte alone. The thread in which it works goes on then, unheard.
    """
    done: Queue[tuple[T | None, BaseException | None]] = Queue(1)

    def report() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.put((None, error))

    threading.Thread(target=report, name="work", daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"nothing within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return cast("T", result)


class _Transfer:
    """The items that a reading thread has passed on; `deadline` is by the monotonic clock."""

    def __init__(self, deadline: float, most: int) -> None:
        self._deadline, self._most = deadline, most
        self._arrived: Queue[Any] = Queue(_WAITING)
        self.given_up = threading.Event()

    def read(self, stream: AbstractContextManager[httpx.Response], raw: bool) -> None:
        """In the thread: pass on the head, each block, and None or what went wrong."""
        try:
            with stream as response:
                going = self._pass_on((response.status_code, response.headers))
                blocks = response.iter_raw() if raw else response.iter_bytes()
                while going and (block := next(blocks, None)) is not None:
                    going = self._pass_on(block)
            self._pass_on(None)
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            self._pass_on(error)

    def _pass_on(self, item: object) -> bool:
        """Return whether the item was taken, and the answer is still waited for."""
        while not self.given_up.is_set():
            with suppress(Full):
                self._arrived.put(item, timeout=0.2)
                return True
        return False

    def next_item(self) -> Any:
        """Return the next item; an exception of the thread is raised here."""
        left = self._deadline - time.monotonic()
        try:
            item = self._arrived.get(timeout=max(0.0, left))
        except Empty:
            raise TimeoutError("no whole answer in time") from None
        if isinstance(item, BaseException):
            raise item
        return item

    def body(self) -> Iterator[bytes]:
        """The blocks, as long as they are within the time and the size."""
        size = 0
        while (block := self.next_item()) is not None:
            size += len(block)
            if size > self._most:
                raise TooMuchError
            yield block
            if time.monotonic() > self._deadline:  # blocks may be there as fast as they are taken
                raise TimeoutError("no whole answer in time")
