"""The history of a checkout for a recommendation: what its commits ask, as a pack, and its last edits."""

from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import DatasetError, NoDataError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.words import count
from repoeval_bench.dataset.loader import is_benchmark, load_benchmark
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.own.history.benchmark import pack_of
from repoeval_bench.own.history.changes import FileEdit, edits_of
from repoeval_bench.own.history.questions import commit_questions
from repoeval_bench.own.history.repository import history_of
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.request import DataRequest

ENOUGH = 60
"""Questions of a history from which they are asked instead of docstrings; fewer are where docstrings are too few."""

COMMITS = "commits"

_MOST_CHARS = 40_000_000
"""Characters of edited files that are cut at most. 250 edits of a file of 1 MB have 500 million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHistory:
    """The questions of a history as a benchmark, None if too few to choose by, and the last edits of files.

    `n_questions` counts all, `since` is the month of the oldest base, and `data` names the pack of the questions.
    """

    benchmark: Benchmark | None
    data: DataRequest | None
    edits: tuple[FileEdit, ...]
    n_questions: int
    since: str = ""

    @property
    def is_enough(self) -> bool:
        """Return whether its commits are asked instead of docstrings."""
        return self.benchmark is not None and self.n_questions >= ENOUGH

    def too_few(self, needed: int = FEWEST_TASKS, instead: str = "") -> str:
        """Say why its commits are not asked, and what is asked `instead`."""
        number = f"only {count(self.n_questions, 'query')}" if self.n_questions else "no query"
        return f"{COMMITS}: the history gives {number}, and {needed} are needed{instead}"


def own_history(
    source: str,
    packs: Path,
    *,
    home: Path | None = None,
    asks: bool = True,
    tests: str = "all",
    extensions: tuple[str, ...] = (),
    executor: Executor = IN_PROCESS,
) -> OwnHistory | None:
    """Read the history of a checkout, and write its questions as a pack in `packs`; None for any other source.

    Without `asks` only its edits are read. `tests` is the use of tests, in the trees of the windows too. `extensions`
    are endings that are read beside those of the ten languages. `executor` examines the commits. Nothing is fetched,
    and nothing configured runs. A history that cannot be read is a notice.
    """
    if not Path(source).expanduser().is_dir() or is_benchmark(source):
        return None
    try:
        with history_of(source, extensions) as history:
            edits = tuple(edits_of(history, most_chars=_MOST_CHARS))
            if not asks:
                return OwnHistory(benchmark=None, data=None, edits=edits, n_questions=0)
            # The parser holds Python's lock: a second core helps another process alone.
            questions = commit_questions(history, None, executor.map)
            n_questions = len(questions.tasks)
            for note in questions.notes:
                NOTICES.info(f"note: {note}")
            if n_questions < FEWEST_TASKS:
                return OwnHistory(benchmark=None, data=None, edits=edits, n_questions=n_questions)
            pack = pack_of(history, questions, packs)
            NOTICES.info(questions.summary)
    except NoDataError:
        return None
    except DatasetError as error:
        NOTICES.info(f"note: {error}")
        return None
    data = DataRequest(source=str(pack.resolve()), tests=tests)
    return OwnHistory(
        benchmark=load_benchmark(**data.model_dump(), home=home),
        data=data,
        edits=edits,
        n_questions=n_questions,
        since=min(window.base.day for window in questions.windows)[:7],
    )
