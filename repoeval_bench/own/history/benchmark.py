"""The questions of a history as a benchmark, in memory or as a pack: each window is a repository of its own."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import NoDataError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.words import count
from repoeval_bench.dataset.archives import ArchiveEntry
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.commits import LEVEL, TABLE, dump_commits
from repoeval_bench.dataset.pack import FEWEST_TASKS, Pack, PackLevel, new_folder, new_target, write_plain
from repoeval_bench.dataset.reading.code import CodeFile, Gathered, Origin, check_extensions, gather
from repoeval_bench.dataset.reading.sampling import CONTEXT, TOKENIZER
from repoeval_bench.own.history.questions import CommitOptions, CommitQuestions, RunJobs, Window, commit_questions
from repoeval_bench.own.history.repository import History, MissingObjectError, history_of
from repoeval_bench.own.packs.pack import keep_pack, packed_source, write_code, write_pack


def benchmark_of(history: History, questions: CommitQuestions, name: str = "") -> Benchmark:
    """The windows as a benchmark that protocol `commits` scores, with the files that are searched.

    NoDataError: the history asks nothing.
    """
    _check(history, questions)
    tasks = questions.tasks
    files = {
        window.name: tuple(taken.file for taken in _taken(history, window, Gathered()) if taken.file)
        for window in questions.windows
    }
    return Benchmark(
        name=f"history-{name or history.name}-{LEVEL}-{CONTEXT}-{TOKENIZER}",
        fingerprint=fingerprint(tasks, files),
        level=LEVEL,
        tasks=tasks,
        files=files,
        source="history",
        whole_tasks=len(tasks),
        whole_repos=len(files),
    )


def build_history_pack(
    folder: str,
    out: Path | str,
    options: CommitOptions,
    name: str = "",
    extensions: tuple[str, ...] = (),
    run_jobs: RunJobs | None = None,
) -> Pack:
    """Build a pack of the questions of a checkout's history, in the folder `out`, which must not exist or be empty.

    `extensions` are endings that are read beside those of the ten languages; `run_jobs` reads the commits. Notices name
    every window and say how far the history reaches. NoDataError: it asks nothing; nothing is written.
    """
    check_extensions(extensions)
    target = new_target(out, "pack")
    with history_of(folder, extensions) as history:
        questions = commit_questions(history, options, run_jobs)
        _check(history, questions)
        for note in questions.notes:
            NOTICES.info(f"note: {note}")
        pack = _written(history, questions, target, name)
    NOTICES.info(questions.summary)
    if len(questions.tasks) < FEWEST_TASKS:
        NOTICES.info(
            f"note: {count(len(questions.tasks), 'query')}: fewer than {FEWEST_TASKS} are too few to choose a "
            "chunker by"
        )
    return pack


def pack_of(history: History, questions: CommitQuestions, folder: Path) -> Path:
    """Write the questions as a pack in `folder`, and return its folder; the same questions have the same one."""
    _check(history, questions)
    return keep_pack(folder, lambda target: _written(history, questions, target, ""))


def _written(history: History, questions: CommitQuestions, target: Path, name: str) -> Pack:
    hashes: list[str] = []
    sources = []
    beside: set[str] = set()
    with new_folder(target) as root:
        for window in questions.windows:
            gathered = Gathered()
            hashes += [write_code(root, window.name, taken) for taken in _taken(history, window, gathered)]
            beside |= gathered.beside
            facts = {"kind": "git", "commit": window.base.id, "date": window.base.day}
            sources.append(packed_source(window.name, gathered, facts))
            queries = count(len(window.tasks), "query")
            NOTICES.info(f"{window.name.replace('@', ' as of ')}, searched by {queries}: {gathered.summary}")
            if window is questions.windows[0] and gathered.unread_note:
                NOTICES.info(gathered.unread_note)
        write_plain(root / "tasks" / TABLE, dump_commits(questions.tasks))
        level = PackLevel(tasks=len(questions.tasks), candidates=questions.seen, left_out=questions.left_out)
        name = name or f"{history.name}-commits"
        return Pack(target, write_pack(root, name, sources, {LEVEL: level}, hashes=hashes, beside=beside))


def _check(history: History, questions: CommitQuestions) -> None:
    if questions.windows:
        return
    largest = Counter(questions.left_out).most_common(3)
    others = sum(questions.left_out.values()) - sum(number for _, number in largest)
    parts = [*largest, ("for other reasons", others)]
    reasons = ", ".join(f"{number} {reason}" for reason, number in parts if number)
    ways = questions.notes or [note for note in [_unread(history)] if note and reasons]
    raise NoDataError(
        f"no commit of {history.name} gives a query ({count(questions.seen, 'commit')}{reasons and ': '}{reasons}); "
        + ("; ".join(ways) or "name a repository with more history, or an earlier --since")
    )


def _unread(history: History) -> str:
    """Name the files of code that are not read, if there are any, and the option that reads them."""
    try:
        paths = history.files(history.commit(history.head).tree)
    except MissingObjectError:
        return ""
    endings = Counter(PurePosixPath(path).suffix.lower() for path in paths)
    return Gathered(endings=endings - Counter(dict.fromkeys(history.beside, len(paths)))).unread_note


def _taken(history: History, window: Window, gathered: Gathered) -> Iterator[CodeFile]:
    """The files of a base by the rules of packs, sorted by path."""
    blobs = history.files(window.base.tree)

    def entries() -> Iterator[ArchiveEntry]:
        for path, blob in sorted(blobs.items()):
            try:
                raw = history.blob(blob)
            except MissingObjectError:  # no code: `History.lacks_code`
                gathered.skipped["not here"] += 1
                continue
            yield ArchiveEntry(path, len(raw), partial(bytes, raw))

    origin = Origin(name=window.name, facts={}, paths=blobs.keys(), entries=entries)
    return gather(origin, (), gathered, sorted(history.beside))
