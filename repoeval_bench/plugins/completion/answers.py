"""Answers through the cache: each distinct request is sent once, ever; several at a time, within a rate and a cost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.crowd import Crowd
from repoeval_bench.core.errors import CacheError, CompletionError
from repoeval_bench.core.json_reader import JsonFaultError, parse
from repoeval_bench.core.progress import progress
from repoeval_bench.core.words import count
from repoeval_bench.embedding.storage import VectorCache, key_prefix, text_key
from repoeval_bench.plugins.completion.layout import count_tokens
from repoeval_bench.plugins.completion.model import Answer, Asked, Model

if TYPE_CHECKING:
    from repoeval_bench.core.crowd import Again


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
        with progress(desc=f"complete {count(len(missing), 'prompt')}", unit="prompts", total=len(missing)) as bar:
            server = model.server(pace=pace)

            def ask(asked: Asked, again: Again) -> tuple[Asked, Answer]:
                return asked, server.ask(asked, again)

            for request, answer in _crowd(len(missing), limits).answers(missing, ask, limits.concurrency):
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
        return parse(value, Answer)
    except JsonFaultError as fault:
        raise CacheError(
            f"the vector cache {cache.folder} holds a completion that is broken ({fault}); {cache.mend}"
        ) from fault


def _sums(usages: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Name -> sum, of the counts that every answer has."""
    shared = set.intersection(*map(set, usages)) if usages else set()
    return {name: sum(usage[name] for usage in usages) for name in sorted(shared, reverse=True)}


def _crowd(n_asked: int, limits: Limits) -> Crowd[Asked, tuple[Asked, Answer]]:
    """What sends the requests; costs are money, and 0 without a price."""

    def most(asked: Asked) -> float:
        # The prompt's tokens are counted by our rule.
        return limits.cost_of(count_tokens(asked.prompt), asked.max_tokens)

    def spent(asked: Asked, answered: tuple[Asked, Answer]) -> float:
        """By the server's counts; the most where it gives none."""
        usage = answered[1].usage
        # Every prompt has a token, so a server that says 0 did not count.
        return (
            most(asked)
            if len(usage) < 2 or not usage["prompt_tokens"]
            else limits.cost_of(usage["prompt_tokens"], usage["completion_tokens"])
        )

    def too_dear(cost: float, most: float) -> CompletionError:
        return CompletionError(
            f"{cost:.6g} was spent, and the next of {n_asked} prompts may cost {most:.6g}, which could pass the limit "
            f"of {limits.cost:.6g}; the answers so far are kept, raise --cost-limit and run the same command again"
        )

    return Crowd(most=most, spent=spent, too_dear=too_dear, limit=limits.cost)
