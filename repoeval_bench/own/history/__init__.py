"""Protocol `commits`: questions from a repository's own history, read from its git objects alone."""

from repoeval_bench.own.history.benchmark import benchmark_of, build_history_pack, pack_of
from repoeval_bench.own.history.changes import FileEdit, edits_of
from repoeval_bench.own.history.questions import CommitOptions, CommitQuestions, Window, commit_questions
from repoeval_bench.own.history.repository import History, history_of

__all__ = [
    "CommitOptions",
    "CommitQuestions",
    "FileEdit",
    "History",
    "Window",
    "benchmark_of",
    "build_history_pack",
    "commit_questions",
    "edits_of",
    "history_of",
    "pack_of",
]
