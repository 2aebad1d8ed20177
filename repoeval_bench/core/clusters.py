"""Clusters of queries whose gold is in the same files. They follow from the benchmark, never from a run.

Queries of one file resemble each other, so statistics flip signs by cluster. Gold may be in several files: queries
that share a file are in one cluster, directly or through other queries. The order of rows, places and files makes no
difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from repoeval_bench.core.words import count


class Alone(NamedTuple):
    """The cluster of a query whose files are not known: no other query is in it.

    It is a tuple because a tuple is hashed and compared in C: 100,000 queries need that millions of times.
    """

    query_id: str

    def __str__(self) -> str:
        return f"query {self.query_id}"


def clusters_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return query_id -> its cluster, from query_id -> the files of its gold, at least one.

    A cluster is named after its first file by name, with the number of its other files.
    """
    parents: dict[str, str] = {}

    def root(file: str) -> str:
        while (above := parents.setdefault(file, file)) != file:
            parents[file] = parents[above]  # halves the way for the next search
            file = parents[file]
        return file

    for paths in files.values():
        first, *others = map(root, paths)
        for other in others:
            parents[root(other)] = root(first)
    members: dict[str, list[str]] = {}
    for file in parents:
        members.setdefault(root(file), []).append(file)
    names = {top: _name(paths) for top, paths in members.items()}
    return {query_id: names[root(next(iter(paths)))] for query_id, paths in files.items()}


def _name(files: Collection[str]) -> str:
    others = len(files) - 1
    return min(files) + (f" (+{count(others, 'file')})" if others else "")
