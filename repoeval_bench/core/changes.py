"""The commit behind a question of protocol `commits`: facts of it, and the golds beside the deciding one."""

from __future__ import annotations

from dataclasses import dataclass

from repoeval_bench.core.places import Gold


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCommit:
    """A commit whose subject is a question. The task's `places` are the deciding gold, `lines`.

    `file` is the newest path of the changed file, which is one cluster in all windows. `author` numbers the authors of
    a repository from 1, so that no name is stored. `age_days` counts from the base, `lines_changed` what the commit
    removed and added. `is_insertion`: it removed nothing, and the gold is at the line before.
    `exact`: the gold lines alone. `definitions`: the whole innermost definitions that contain them, none in a file
    whose definitions are not known.
    """

    commit: str
    date: str
    subject: str
    author: int
    file: str
    age_days: int
    lines_changed: int
    is_insertion: bool
    exact: Gold
    definitions: Gold
