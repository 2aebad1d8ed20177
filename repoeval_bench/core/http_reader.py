"""The one reader of HTTP: an answer within limits of time and size, whatever the server does.

An HTTP library limits the wait for each byte. A server that sends single bytes, of its headers too, can hold it up
forever. Here a thread reads, and the caller waits no longer than its limit.
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
"""The most seconds to fetch a file or a package."""

_WAITING = 16
"""The most blocks that the thread reads ahead."""


class TooMuchError(Exception):
    """The answer has more bytes than are allowed."""


class Reply(NamedTuple):
    """An answer whose head has arrived; `blocks` yields its body as it arrives."""

    status: int
    headers: Mapping[str, str]
    blocks: Iterator[bytes]


class Response(NamedTuple):
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(client: httpx.Client, method: str, url: str, *, seconds: float, most: int, **request: Any) -> Response:
    """Send a request and return its complete answer; raises what `exchange` raises."""
    with exchange(client, method, url, seconds=seconds, most=most, **request) as reply:
        return Response(reply.status, reply.headers, b"".join(reply.blocks))


@contextmanager
def exchange(
    client: httpx.Client, method: str, url: str, *, seconds: float, most: int, raw: bool = False, **request: Any
) -> Iterator[Reply]:
    """Send a request and yield its answer as it arrives; `raw` leaves the server's compression as it is.

    TimeoutError `seconds` after the call, however much has arrived by then; TooMuchError above `most` bytes of body.
    Other errors are those of httpx. After a TimeoutError take another client: the thread uses this one until the
    server next sends something.
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
    """Return what `work` returns, or raise what it raises; TimeoutError after `seconds`.

    It is for libraries that limit only the wait for each byte. After a TimeoutError their thread goes on, and its
    result is dropped.
    """
    done: Queue[tuple[T | None, BaseException | None]] = Queue(1)

    def report() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
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
    """The items that a reading thread passes on; `deadline` is by the monotonic clock."""

    def __init__(self, deadline: float, most: int) -> None:
        self._deadline, self._most = deadline, most
        self._arrived: Queue[Any] = Queue(_WAITING)
        self.given_up = threading.Event()

    def read(self, stream: AbstractContextManager[httpx.Response], raw: bool) -> None:
        """Pass on the head, each block, and then None or the error; runs in the thread."""
        try:
            with stream as response:
                going = self._pass_on((response.status_code, response.headers))
                blocks = response.iter_raw() if raw else response.iter_bytes()
                while going and (block := next(blocks, None)) is not None:
                    going = self._pass_on(block)
            self._pass_on(None)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._pass_on(error)

    def _pass_on(self, item: object) -> bool:
        """Pass on an item; False if the caller no longer waits for the answer."""
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
        """The blocks, within the limits of time and size."""
        size = 0
        while (block := self.next_item()) is not None:
            size += len(block)
            if size > self._most:
                raise TooMuchError
            yield block
            if time.monotonic() > self._deadline:  # `next_item` does not wait if a block is there already
                raise TimeoutError("no whole answer in time")
