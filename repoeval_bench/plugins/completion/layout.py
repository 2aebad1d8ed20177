"""RepoCoder's prompt: what was retrieved as comments, the best nearest to the code, and then the code itself.

Zhang et al. 2023 (arXiv 2303.12570), `_make_a_block` and `_build_prompt` of its code. Differences: the comment mark is
that of the task's language, tokens are counted by a rule and not by a model's tokenizer, and without a fragment the
heading is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from repoeval_bench.core.spec import short_hash
from repoeval_bench.dataset.build.prompts import tokens_of

MOST_FRAGMENTS = 10
"""Fragments that RepoCoder shows at most."""

_RULER = "-" * 50
_HEADING = ("Here are some relevant code fragments from other files of the repo:", _RULER)
_BLOCK = "the below code fragment can be found in:"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A retrieved piece of code: its chunk's id, its path in the repository, and its text."""

    chunk_id: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text that a model continues. `shown` are the ids of the fragments in it, the best first.

    `context_tokens` are those of the fragments with their heading, `tokens` those of all.
    """

    text: str
    shown: tuple[str, ...]
    context_tokens: int
    tokens: int


def lay_out(
    code: str, fragments: Sequence[Fragment], comment: str, *, budget: int, most: int = MOST_FRAGMENTS
) -> Prompt:
    """The prompt for `code`, the lines above the target, with the fragments (best first) that fit the budget of tokens.

    Up to `most` fragments are shown. One that does not fit is passed over, and a smaller one behind it may be shown.
    """
    heading = _commented(_HEADING, comment)
    spent = count_tokens(heading)
    blocks: list[str] = []
    shown: list[str] = []
    for fragment in fragments:
        if len(shown) == most:
            break
        block, tokens = _block(fragment.path, fragment.text, comment)
        if spent + tokens <= budget:
            spent += tokens
            blocks.append(block)
            shown.append(fragment.chunk_id)
    body = code if code.endswith("\n") else f"{code}\n"
    if not blocks:
        return Prompt(body, (), 0, count_tokens(body))
    # The best one is last, next to the code.
    return Prompt(f"{heading}{''.join(reversed(blocks))}\n{body}", tuple(shown), spent, spent + count_tokens(body))


def count_tokens(text: str) -> int:
    """Tokens by the rule of `dataset.build.prompts`; a ruler is one, as for models that were trained on code."""
    return len(tokens_of(text.replace(_RULER, "-")))


@lru_cache(maxsize=32_768)
def _block(path: str, text: str, comment: str) -> tuple[str, int]:
    """A fragment as comments, and its tokens. Queries of one repository look at the same chunks."""
    block = _commented((_BLOCK, path, _RULER, *text.splitlines(), _RULER), comment)
    return block, count_tokens(block)


def _commented(lines: Sequence[str], comment: str) -> str:
    return "".join(f"{comment} {line}\n" for line in lines)


def layout_hash() -> str:
    """A hash of the layout, from a prompt that has every part of it: another layout has another hash."""
    fragments = (
        Fragment("a", "a.py", "x = 1\n\n    y\n"),
        Fragment("b", "b.py", "z" * 9),
        Fragment("c", "c.py", ". " * 99),
    )
    return short_hash(repr(lay_out("def f():", fragments, "#", budget=70)))
