"""Answers through the cache: each distinct request is sent once, ever; several at a time, within a rate and a cost."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import CacheError, CompletionError
from repoeval_bench.core.json_reader import JsonFaultError, parse
from repoeval_bench.core.progress import progress
from repoeval_bench.embedding.storage import key_prefix, text_key
from repoeval_bench.runs.completion.layout import count_tokens
from repoeval_bench.runs.completion.model import Answer, CachedAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from repoeval_bench.embedding.storage import VectorCache
    from repoeval_bench.runs.completion.model import Asked, CompletionServer, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How fast and for how much: requests at a time, requests a minute (None: no limit), and money.

    `price` is what a million tokens of prompts and of answers cost, `cost` what all new requests may cost together.
    """

    concurrency: int = 8
    rate: float | None = None
    price: tuple[float, float] | None = None
    cost: float | None = None

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost; 0 without a price."""
        read, written = self.price or (0.0, 0.0)
        return (prompt_tokens * read + completion_tokens * written) / 1e6


class Pace:
    """Lets requests begin at even distances: call it before each, from any thread."""

    def __init__(
        self,
        rate: float | None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._distance = 60.0 / rate if rate else 0.0
        self._sleep, self._clock = sleep, clock
        self._next = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """Wait until it is this request's turn."""
        if not self._distance:
            return
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._distance
        if turn > now:
            self._sleep(turn - now)


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to each request, how many were sent, and the tokens that the server counted for these.

    A count that one of the answers lacked is left out; `cost` is None without a price, and then too.
    """

    answers: Mapping[Asked, Answer]
    sent: int
    usage: Mapping[str, int]
    cost: float | None


def answer_all(model: Model, asked: Sequence[Asked], cache: VectorCache, limits: Limits) -> Answered:
    """The answer to every request, from the cache where it is there; what is new is kept one by one.

    So an interrupted command goes on where it stopped. A CompletionError where a request fails for good, or where the
    next one could pass the cost.
    """
    distinct = list(dict.fromkeys(asked))
    identity = json.dumps(model.identity, sort_keys=True)
    keys = {each: _key(identity, each) for each in distinct}
    found = {
        each: _unpacked(value, cache)
        for each, value in zip(distinct, cache.read(keys.values()), strict=True)
        if value is not None
    }
    missing = [each for each in distinct if each not in found]
    new: dict[Asked, Answer] = {}
    if missing:
        cache.note(f"{len(missing):,} completions of {model.name} are asked for by this command alone")
        pace = Pace(limits.rate)
        with progress(desc=f"complete {len(missing)} prompts", unit="prompts", total=len(missing)) as bar:
            for request, answer in _Crowd(missing, limits, lambda: model.server(pace=pace)).answers():
                cache.write({keys[request]: answer.as_bytes()}, "completion", identity)
                new[request] = answer
                bar.update()
    usage = _sums([answer.usage for answer in new.values()])
    known = len(usage) == 2
    cost = limits.cost_of(usage["prompt_tokens"], usage["completion_tokens"]) if limits.price and known else None
    return Answered({each: (found | new)[each] for each in distinct}, len(new), usage, cost)


def _key(identity: str, asked: Asked) -> bytes:
    settings = json.dumps({"stop": list(asked.stop), "max_tokens": asked.max_tokens})
    return text_key(key_prefix("completion", identity, settings), asked.prompt)


def _unpacked(value: bytes, cache: VectorCache) -> Answer:
    try:
        held = parse(value, CachedAnswer)
    except JsonFaultError as fault:
        raise CacheError(
            f"the vector cache {cache.folder} holds a completion that is broken ({fault}); {cache.mend}"
        ) from fault
    return Answer(held.text, held.finish, held.usage)


def _sums(usages: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Name -> sum, of the counts that every answer has."""
    shared = set.intersection(*map(set, usages)) if usages else set()
    return {name: sum(usage[name] for usage in usages) for name in sorted(shared, reverse=True)}


class _Crowd:
    """Threads that ask, each with a client of its own, fed by this one, which alone counts what is spent."""

    def __init__(self, asked: Sequence[Asked], limits: Limits, make: Callable[[], CompletionServer]) -> None:
        self._asked, self._limits = asked, limits
        self._jobs: SimpleQueue[Asked | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[Asked, Answer | BaseException]] = SimpleQueue()
        self._n_threads = min(limits.concurrency, len(asked))
        for _ in range(self._n_threads):
            # Daemons: Ctrl-C does not wait for what they wait for.
            threading.Thread(target=self._work, args=(make(),), name="complete", daemon=True).start()

    def _work(self, server: CompletionServer) -> None:
        while (asked := self._jobs.get()) is not None:
            try:
                self._done.put((asked, server.ask(asked)))
            except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
                self._done.put((asked, error))

    def answers(self) -> Iterable[tuple[Asked, Answer]]:
        """(request, answer) as they come. The first failure is raised once all that was sent has come back."""
        waiting: list[Asked] = list(reversed(self._asked))
        under_way: dict[Asked, float] = {}
        spent = 0.0
        failure: BaseException | None = None
        try:
            while under_way or (waiting and failure is None):
                while waiting and failure is None and len(under_way) < self._n_threads:
                    most = self._most(waiting[-1])
                    if self._limits.cost is not None and spent + sum(under_way.values()) + most > self._limits.cost:
                        failure = None if under_way else self._too_dear(spent, len(waiting))
                        break
                    under_way[waiting[-1]] = most
                    self._jobs.put(waiting.pop())
                if not under_way:
                    continue
                asked, answer = self._done.get()
                most = under_way.pop(asked)
                if isinstance(answer, BaseException):
                    failure = failure or answer
                    continue
                spent += self._spent(answer, most)
                yield asked, answer
        finally:
            for _ in range(self._n_threads):
                self._jobs.put(None)
        if failure is not None:
            raise failure

    def _most(self, asked: Asked) -> float:
        """What a request can cost, its prompt's tokens counted by our rule."""
        return self._limits.cost_of(count_tokens(asked.prompt), asked.max_tokens)

    def _spent(self, answer: Answer, most: float) -> float:
        """What it has cost by the server's counts; the most where it gives none."""
        if len(answer.usage) < 2:
            return most
        return self._limits.cost_of(answer.usage["prompt_tokens"], answer.usage["completion_tokens"])

    def _too_dear(self, spent: float, left: int) -> CompletionError:
        done = len(self._asked) - left
        return CompletionError(
            f"{done} of {len(self._asked)} prompts were answered for {spent:.2f}, and the next could pass the limit of "
            f"{self._limits.cost:.2f}; these answers are kept, raise --cost-limit and run the same command again"
        )
