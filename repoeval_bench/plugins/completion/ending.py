"""The end of a completion: the stops that a server is sent, and the lines of its answer that count.

Targets of level `function` end where the indentation does: at the first non-blank line that is indented less than the
target's first line. For the levels `line` and `api` as many non-blank lines are kept as the ground truth has, as
RepoCoder does. Stops lie outside the kept lines, so they save tokens and change no score.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Task

ENDING = "hole 1"
"""Version of the rules, part of the identity of every completed run."""

_PYTHON_STOPS = ("\ndef ", "\nclass ", "\n@", "\nif ")
_OTHER_STOPS = ("\n}",)
_FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


def indentation(text: str) -> str:
    """Return the indentation of the first non-blank line; empty if there is none."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def stops(task: Task, language: str, *, chat: bool) -> tuple[str, ...]:
    """Return the server's stop texts, at most four: code in the first column, if the target has none.

    A chat gets none, because the first line of its answer may lack its indentation.
    """
    if chat or task.level != "function" or not indentation(task.ground_truth):
        return ()
    return _PYTHON_STOPS if language == "python" else _OTHER_STOPS


def cut(answer: str, task: Task, *, chat: bool) -> str:
    """Return the lines of an answer that belong to the target, each with a line end.

    Of a chat's answer that begins with a fence, only the text in the fence counts. Its first line is indented like the
    target's, because servers strip what they send.
    """
    if chat:
        answer = _from_chat(answer, indentation(task.ground_truth))
    lines = answer.splitlines()
    if task.level == "function":
        in_target = _indented(lines, len(indentation(task.ground_truth)))
    else:
        in_target = _first(lines, sum(bool(line.strip()) for line in task.ground_truth.splitlines()))
    while in_target and not in_target[-1].strip():
        in_target.pop()
    return "".join(f"{line}\n" for line in in_target)


def _from_chat(answer: str, indent: str) -> str:
    fenced = _FENCE.match(answer)
    text = (fenced[1] if fenced else answer).lstrip("\r\n")
    return indent + text.lstrip(" \t") if text.strip() else ""


def _indented(lines: list[str], width: int) -> list[str]:
    for number, line in enumerate(lines):
        if line.strip() and len(line) - len(line.lstrip()) < width:
            return lines[:number]
    return lines


def _first(lines: list[str], n: int) -> list[str]:
    """Return the lines up to the n-th that is not blank."""
    ends = [end for end, line in enumerate(lines, start=1) if line.strip()]
    return lines[: ends[min(n, len(ends)) - 1]] if n and ends else []
