"""RepoCoder's prompt (retrieved fragments as comments, the best nearest to the code), and the end of its completion.

Zhang et al. 2023 (arXiv 2303.12570), `_make_a_block` and `_build_prompt` of its code. Differences: the comment mark is
that of the task's language. Tokens are counted by a rule and not by a model's tokenizer. Without a fragment there is no
heading.

Targets of level `function` end where the indentation does: at the first non-blank line that is indented less than the
target's first line. For the levels `line` and `api` as many non-blank lines are kept as the ground truth has, as
RepoCoder does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.dataset.reading.sampling import tokens_of
from repoeval_bench.runs.view import RunView

# Version of the layout, part of the identity of every completed run.
LAYOUT = "repocoder 1"

MOST_FRAGMENTS = 10
"""The most fragments that RepoCoder shows."""

_RULER = "-" * 50
_HEADING = ("Here are some relevant code fragments from other files of the repo:", _RULER)
_BLOCK = "the below code fragment can be found in:"


class Fragment(NamedTuple):
    """A retrieved piece of code: its chunk's id, its file, its text, and where its lines end."""

    chunk_id: str
    file: str
    text: str
    end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The text that a model continues. `shown` are the ids of the fragments in it, the best first.

    `context_tokens` counts the fragments with their heading, `tokens` the whole text. `hidden` counts the fragments of
    the task's own file that were not shown.
    """

    text: str
    shown: tuple[str, ...]
    context_tokens: int
    tokens: int
    hidden: int


def lay_out(task: Task, ranked: Sequence[Fragment], comment: str, *, budget: int) -> Prompt:
    """Return the prompt of a task: the lines above its target, under the fragments that fit the budget of tokens.

    `ranked` are the fragments for it, best first. Up to 10 are shown. A fragment that does not fit is skipped, and a
    smaller one of a lower rank may be shown.
    """
    # As in RepoCoder, a chunk of the task's own file has to end before the prompt begins. So it contains neither the
    # target, nor the code after it, nor lines of the prompt.
    visible = [fragment for fragment in ranked if fragment.file != task.file or fragment.end <= task.context_start]
    hidden = len(ranked) - len(visible)
    heading = _commented(_HEADING, comment)
    spent = count_tokens(heading)
    blocks: list[str] = []
    shown: list[str] = []
    for fragment in visible:
        if len(shown) == MOST_FRAGMENTS:
            break
        path = fragment.file.partition("/")[2]
        block = _commented((_BLOCK, path, _RULER, *fragment.text.splitlines(), _RULER), comment)
        tokens = count_tokens(block)
        if spent + tokens <= budget:
            spent += tokens
            blocks.append(block)
            shown.append(fragment.chunk_id)
    body = task.prompt if task.prompt.endswith("\n") else f"{task.prompt}\n"
    if not blocks:
        return Prompt(text=body, shown=(), context_tokens=0, tokens=count_tokens(body), hidden=hidden)
    # The best one is last, next to the code.
    text = f"{heading}{''.join(reversed(blocks))}\n{body}"
    return Prompt(text=text, shown=tuple(shown), context_tokens=spent, tokens=spent + count_tokens(body), hidden=hidden)


def count_tokens(text: str) -> int:
    """Count tokens by the rule of `dataset.reading.sampling`."""
    # A ruler is one token, as for models trained on code.
    return len(tokens_of(text.replace(_RULER, "-")))


def _commented(lines: Sequence[str], comment: str) -> str:
    return "".join(f"{comment} {line}\n" for line in lines)


def fragments_of(run: RunView) -> dict[str, list[Fragment]]:
    """Return query_id -> the fragments that were retrieved for it, best first.

    A ResultError if the run stored no sources, a UsageError if its hits are expanded.
    """
    if run.metrics.around:
        raise UsageError(
            f"the hits of {run.run_id} bring more than their chunks (around={run.metrics.around}), and completions "
            "show chunks alone; complete a run of grep without around"
        )
    inspection = run.inspection
    if inspection is None:
        raise ResultError(f"{run.folder} stored no sources, so its chunks have no text; run the evaluation again")
    spans = {chunk.chunk_id: chunk.chars for chunks in inspection.chunks.values() for chunk in chunks}
    ranked: dict[str, list[Fragment]] = {}
    for row in run.log_rows():
        fragments = ranked.setdefault(row.query_id, [])
        for entry in row.ranked:
            if entry.file is None or entry.lines is None or entry.file not in inspection.sources:
                raise ResultError(f"{run.folder}: chunk {entry.chunk_id!r} has no source in the run; run it again")
            source, chars = inspection.sources[entry.file], spans.get(entry.chunk_id)
            # Documents that the protocol fixes are whole lines, and not among the chunks of the run.
            text = source.line_text(entry.lines) if chars is None else source.slice(chars)
            fragments.append(Fragment(entry.chunk_id, entry.file, text, entry.lines.end))
    return ranked


# Version of the rules, part of the identity of every completed run.
ENDING = "hole 1"

# OpenAI's API takes four stops at most. They lie outside the kept lines, so they save tokens and change no score.
_PYTHON_STOPS = ("\ndef ", "\nclass ", "\n@", "\nif ")
_OTHER_STOPS = ("\n}",)
_FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


def indentation(text: str) -> str:
    """Return the indentation of the first non-blank line; empty if there is none."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def stops(task: Task, language: str, *, chat: bool) -> tuple[str, ...]:
    """Return the server's stop texts, at most four: code in the first column, if the target has none."""
    # The first line of a chat's answer may lack its indentation.
    if chat or task.level != "function" or not indentation(task.ground_truth):
        return ()
    return _PYTHON_STOPS if language == "python" else _OTHER_STOPS


def cut(answer: str, task: Task, *, chat: bool) -> str:
    """Return the lines of an answer that belong to the target, each with a line end."""
    if chat:
        answer = _from_chat(answer, indentation(task.ground_truth))
    lines = answer.splitlines()
    if task.level == "function":
        width = len(indentation(task.ground_truth))
        in_target = [*takewhile(lambda line: not line.strip() or len(line) - len(line.lstrip()) >= width, lines)]
    else:
        # As many lines that are not blank.
        number = sum(bool(line.strip()) for line in task.ground_truth.splitlines())
        ends = [end for end, line in enumerate(lines, start=1) if line.strip()][:number]
        in_target = lines[: ends[-1]] if ends else []
    while in_target and not in_target[-1].strip():
        in_target.pop()
    return "".join(f"{line}\n" for line in in_target)


def _from_chat(answer: str, indent: str) -> str:
    """Return the text in the fence that a chat's answer begins with, or all of it, its first line indented."""
    # Servers strip what they send.
    fenced = _FENCE.match(answer)
    text = (fenced[1] if fenced else answer).lstrip("\r\n")
    return indent + text.lstrip(" \t") if text.strip() else ""
