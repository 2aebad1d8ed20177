"""Read mutated and generated inputs with every public reader; count accepted and refused inputs, and faults.

python scripts/fuzz.py [--rows 1000000] [--seed 0] [--only KIND --first N]

A row is one input. "Refused" is an error of this project, with its sentence. A traceback is any other exception, a hang
a row that takes longer than its deadline. "Out of range" is an accepted value outside the range that its reader states,
or a refusal that names a wrong line. "Too long" is a sentence above the limit of all errors.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from _fuzz_kinds import KINDS, Inputs, Kind

from repoeval_bench.core.errors import LONGEST, BenchError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

DEADLINE = 5.0
"""Seconds of processor time that a row may take; ten times as many by the clock, as other programs may run."""

OUTCOMES = ("accepted", "refused", "traceback", "hang", "out of range", "too long")


class Hang(BaseException):
    """A row took longer than its deadline; it passes every `except Exception`."""


@contextmanager
def deadline() -> Iterator[None]:
    """Raise `Hang` in a row that takes too long."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    clocks = ((signal.ITIMER_PROF, signal.SIGPROF, DEADLINE), (signal.ITIMER_REAL, signal.SIGALRM, 10 * DEADLINE))
    before = [signal.signal(number, stop) for _, number, _ in clocks]
    for clock, _, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for (clock, number, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, handler)


def outcome(kind: Kind, rng: random.Random, inputs: Inputs) -> tuple[str, str]:
    """Return the outcome of one row, and the reason if it is a fault."""
    try:
        with deadline():
            wrong = kind.read(rng, inputs)
    except BenchError as error:
        sentence = str(error)
        if max(map(len, sentence.split("\n"))) > LONGEST:
            return "too long", sentence
        return ("refused", "") if sentence.strip() else ("traceback", "an error without a sentence")
    except Hang:
        return "hang", ""
    except Exception:  # noqa: BLE001 - the fault that the fuzz looks for
        return "traceback", traceback.format_exc(limit=-4)
    return ("out of range", wrong) if wrong else ("accepted", "")


def fuzz(rows: int, seed: int, only: str = "", first: int = 0) -> dict[str, Counter[str]]:
    """Count outcomes by kind; every row is made from the seed, its kind and its number alone."""
    counts: dict[str, Counter[str]] = {}
    shown: Counter[str] = Counter()
    memory = Path("/dev/shm")  # noqa: S108 - in a folder of its own; every row writes files
    parent = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=parent) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of very large and very small numbers
        inputs = Inputs.make(Path(folder))
        for name, kind in KINDS.items():
            if only not in ("", name):
                continue
            started = time.perf_counter()
            counter = counts[name] = Counter()
            for number in range(first, first + round(rows * (1 if only else kind.share))):
                what, why = outcome(kind, random.Random(f"{seed} {name} {number}"), inputs)
                counter[what] += 1
                if what not in ("accepted", "refused") and shown[name] < 3:
                    shown[name] += 1
                    print(f"--only {name} --first {number} --rows 1 --seed {seed}: {what}\n{why}", file=sys.stderr)
            print(_line(name, counter, time.perf_counter() - started), flush=True)
    return counts


def _line(name: str, counter: Counter[str], seconds: float) -> str:
    return f"{name:12}" + "".join(f"{counter[result]:14,}" for result in OUTCOMES) + f"{seconds:9.0f} s"


def main() -> None:
    """Print the counts; exit with 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, default="")
    parser.add_argument("--first", type=int, default=0, metavar="N")
    options = parser.parse_args()
    started = time.perf_counter()
    print(f"{'rows of':12}" + "".join(f"{result:>14}" for result in OUTCOMES) + f"{'time':>11}")
    counts = fuzz(options.rows, options.seed, options.only, options.first)
    total = sum(counts.values(), Counter())
    print(_line("all", total, time.perf_counter() - started))
    print(f"{total.total():,} rows")
    sys.exit(any(total[fault] for fault in OUTCOMES[2:]))


if __name__ == "__main__":
    main()
