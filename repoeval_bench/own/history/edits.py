"""Edits of a history: the texts of one file before and after a commit, to measure what they cost an index."""

from __future__ import annotations

from typing import NamedTuple

from repoeval_bench.own.history.changes import one_file, read_source, renames_of
from repoeval_bench.own.history.repository import History, MissingObjectError

MOST = 250
"""Edits that are enough for the cost of one."""


class FileEdit(NamedTuple):
    """One commit's edit of one file of code: its newest path in the commit, and its text before and after."""

    path: str
    before: str
    after: str


def edits_of(history: History, limit: int = MOST) -> list[FileEdit]:
    """The last edits of one file of code, newest first, whatever their subjects say; at most `limit`."""
    edits: list[FileEdit] = []
    for commit in history.log():
        if len(edits) == limit:
            break
        if len(commit.parents) != 1:
            continue
        try:
            changed = history.changes(history.commit(commit.parents[0]).tree, commit.tree)
            touched = one_file(changed, renames_of(history, changed), history.beside)
            if isinstance(touched, str):
                continue
            before = read_source(history.blob(touched.before), touched.old)
            after = read_source(history.blob(touched.after), touched.new)
        except MissingObjectError:
            continue
        if before and after and before[0].text != after[0].text:
            edits.append(FileEdit(touched.new, before[0].text, after[0].text))
    return edits
