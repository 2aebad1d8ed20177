"""A message is a sentence that a person can read, whatever it quotes."""

import gc
import pickle
import sys

import pytest

from repoeval_bench.core.errors import (
    LONGEST,
    BenchError,
    ChunkError,
    UsageError,
    all_mistakes,
    plug_in_errors_as,
    shortened,
)
from support.command import bench


@pytest.mark.parametrize("value", ["x" * 40_000, "many words " * 4_000, "\u2003" * 9_000, "é" * 400, "a/" * 5_000])
def test_a_message_is_short_and_keeps_its_ends(value):
    message = str(UsageError(f"tasks.jsonl:3: the value {value!r} is not possible; give a number from 1 to 9"))
    assert len(message) <= LONGEST
    assert message.startswith("tasks.jsonl:3: the value ")
    assert message.endswith("is not possible; give a number from 1 to 9")
    assert "…" in message


def test_a_message_of_the_longest_length_is_whole():
    for sentence in ("word " * (LONGEST // 5), "x" * LONGEST):
        assert str(BenchError(sentence)) == sentence
        assert len(shortened(sentence + "y")) <= LONGEST


def test_each_of_several_mistakes_is_short():
    error = UsageError(all_mistakes([f"line {i}: {'x' * 1_000} is wrong" for i in range(3)], "file"))
    head, *lines = str(error).split("\n")
    assert head == "3 mistakes in file:"
    assert [line.split(":")[0] for line in lines] == ["  line 0", "  line 1", "  line 2"]
    assert all(len(line) <= LONGEST and line.endswith(" is wrong") for line in lines)


def test_an_error_that_travels_is_the_same():
    error = UsageError("x " * 400)
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == str(UsageError(str(error)))


def test_an_interrupt_just_before_the_block_is_no_error_of_others(monkeypatch):
    """The block is entered and never begun: what Python then does to end it is nobody's error."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    plug_in_errors_as(ChunkError, "x", "repair it").__enter__()
    gc.collect()
    assert said == []


@pytest.mark.parametrize("arguments", [("list", "x" * 40_000), ("compare", "--k", "9" * 40_000), ("x" * 40_000,)])
def test_the_command_line_prints_no_more(arguments):
    done = bench(*arguments)
    assert done.code == 2
    assert max(map(len, done.err.splitlines())) <= LONGEST + len("error: ")


def test_an_interrupt_stays_one_if_other_code_fails_while_it_ends():
    """A file would count as one that the chunker fails on, and with `skip_errors` be left out of a stored run."""

    def cut():
        tree = None
        try:
            tree = 1
            raise KeyboardInterrupt
        finally:
            del tree
            print(tree)  # noqa: F821 - as a package's own `finally` does

    with pytest.raises(KeyboardInterrupt), plug_in_errors_as(ChunkError, "a.py", "repair it"):
        cut()
