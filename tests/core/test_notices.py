"""Notices of threads that collect at the same time."""

import logging
from threading import Event, Thread

from repoeval_bench.core.notices import NOTICES, collected


def test_a_block_that_ends_leaves_the_notices_of_another_thread(monkeypatch):
    """The level is the logger's before only once no thread collects."""
    monkeypatch.setattr(NOTICES, "level", logging.ERROR)
    begun, ended = Event(), Event()
    lines: list[str] = []

    def other():
        with collected() as own:
            begun.set()
            ended.wait(10)
            NOTICES.info("theirs")
        lines.extend(own)

    thread = Thread(target=other)
    with collected() as own:
        thread.start()
        begun.wait(10)
        NOTICES.info("ours")
    ended.set()
    thread.join()
    assert (own, lines) == (["ours"], ["theirs"])
    assert NOTICES.level == logging.ERROR
