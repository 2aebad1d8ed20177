"""The mutations of a valid input: bytes changed, values of JSON replaced by odd ones, or random bytes."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

RAW = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "-0.0",
    "1e-320",
    "1.7e308",
    "9007199254740993",
    "-1",
    "2147483648",
    "9" * 30,
    "9" * 5000,
    "0." + "1" * 5000,
    "[" * 300 + "]" * 300,
    "[" * 5000,
    '{"a":' * 300 + "1" + "}" * 300,
    r'"\ud800"',
    r'"\udfff\ud800x"',
    r'"a\u0000b"',
    "tru",
    "'a'",
    "0x10",
    "01",
]
"""Pieces that no JSON writer writes, or that readers interpret in different ways."""

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    10**6,
    2**31,
    2**53,
    -(2**53),
    2**64,
    10**100,
    0.5,
    -0.0,
    1e-300,
    1e308,
    -1e308,
    "",
    " ",
    "a b",
    "a%20b",
    "\ufeffq",
    "../x.py",
    "C:\\x.py",
    "a/./b.py",
    "nul\x00.py",
    "\x1b]0;x\x07",
    "a\u202eb",
    "2024-99-99",
    "2024-05-01",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "{[]: 1}",
    "('r', 'a.py')",
    "('r', '\\ud800')",
    "(" * 200,
    "none",
    "x" * 5000,
    "x" * 40_000,
    "many words " * 4_000,
    "a//b.py",
    "a/ /b.py",
    "\t",
    "\u00a0",
    "1_0",
    "\u0661",
    "é\u0301",
    [],
    {},
    [[]],
    [None],
    {"": 1},
    {"a": {"b": [1]}},
    ["a", 1],
]
"""Valid JSON values, for places where they are not expected."""

TOKENS = [
    *(raw.encode() for raw in RAW if len(raw) < 400),
    b"\xef\xbb\xbf",
    b"\xff",
    b"\x00",
    b"\r",
    b"\n",
    b"\n\n",
    b"\t",
    b" ",
    b",",
    b":",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"- ",
    b"&a ",
    b"*a",
    b"!!float ",
    b"!!timestamp ",
    b"<<: ",
    b"? ",
    b"| ",
    b"%",
    b"=",
    b"@",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
    b"nan",
    b"inf",
    b"1e999",
    b"-1",
    b"9" * 50,
    b"1_0",
    "\u0661".encode(),
    "\uff11".encode(),
    b"\x0b1",
    b"\x1b[31m",
    b"x" * 40_000,
    b"many words " * 4_000,
    b',"1\n2',
]
"""Bytes that are inserted, or replace others."""


def damaged(rng: random.Random, content: bytes, most: int = 4) -> bytes:
    """Return the content with up to `most` small changes: bytes changed, or a piece removed, repeated or replaced."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, most))):
        index = rng.randrange(len(result) + 1)
        end = min(len(result), index + rng.choice((0, 1, 1, 2, 8, 40)))
        match rng.randrange(5):
            case 0:
                result[index:end] = rng.choice(TOKENS)
            case 1:
                result[index:end] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 3)))
            case 2:
                del result[index:end]
            case 3:
                result[index:index] = result[index:end] * rng.choice((1, 1, 2, 30))
            case _:
                if rng.random() < 0.3:
                    del result[index:]
    return bytes(result)


def nonsense(rng: random.Random) -> bytes:
    """Return random tokens or random bytes."""
    if rng.random() < 0.5:
        return b"".join(rng.choice(TOKENS) for _ in range(rng.randint(0, 30)))
    return rng.randbytes(rng.randint(0, 200))


def mutated(rng: random.Random, content: bytes, most: int = 4) -> bytes:
    """Return the content damaged, or rarely random bytes."""
    return nonsense(rng) if rng.random() < 0.05 else damaged(rng, content, most)


def changed_json(rng: random.Random, content: Any, most: int = 2) -> bytes:
    """Return the content as JSON, with up to `most` of its values replaced, removed, renamed or repeated."""
    whole = json.loads(json.dumps(content))
    raw: dict[str, str] = {}
    for number in range(rng.choice((1, 1, most))):
        holder, key = rng.choice(list(_locations(whole)) or [([None], 0)])
        match rng.randrange(10):
            case 0 if isinstance(holder, dict):
                holder[
                    rng.choice(("", "extra ", "query_id", "\u202e", "a b", "x" * 300, "\x1b[1m", "a\nb", "x" * 40_000))
                ] = holder.pop(key)
            case 1:
                del holder[key]
            case 2:
                mark = f"<<{number}>>"
                holder[key] = mark
                raw[json.dumps(mark)] = rng.choice(RAW)
            case 3 if isinstance(holder, list):
                holder.extend(deepcopy(holder[key]) for _ in range(rng.choice((1, 3, 200))))
            case _:
                # Half of the time a value of the same type, which more readers accept.
                same = [value for value in VALUES if type(value) is type(holder[key])] if rng.random() < 0.5 else []
                holder[key] = deepcopy(rng.choice(same or VALUES))  # a later change may be within it
    text = json.dumps(whole, ensure_ascii=rng.random() < 0.5)
    for mark, piece in raw.items():
        text = text.replace(mark, piece)
    return text.encode("utf-8", "surrogatepass")


def _locations(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key or index) of every value below this one."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _locations(value[key])


def rows_of(rng: random.Random, rows: Sequence[Any]) -> bytes:
    """Return rows as JSON lines, some of them changed or damaged, or rarely random bytes."""
    if rng.random() < 0.05:
        return nonsense(rng)
    lines = [json.dumps(row).encode() for row in rows]
    for _ in range(rng.choice((1, 1, 2))):
        index = rng.randrange(len(lines))
        lines[index] = damaged(rng, lines[index]) if rng.random() < 0.3 else changed_json(rng, rows[index % len(rows)])
    if rng.random() < 0.1:
        lines.append(rng.choice(lines))
    return rng.choice((b"\n", b"\n", b"\r\n", b"\n\n")).join(lines) + rng.choice((b"\n", b""))
