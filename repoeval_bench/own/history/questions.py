"""Questions of protocol `commits`: windows of a history, each a base tree with the commits after it as questions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import time
from typing import Any, NamedTuple

from repoeval_bench.core.benchmark import AskedCommit, Task
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spans import Place, join
from repoeval_bench.core.words import count
from repoeval_bench.dataset.commits import LEVEL
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.reading.code import name_reason
from repoeval_bench.own.history import changes, subjects
from repoeval_bench.own.history.changes import (
    ChangedFile,
    FoundGold,
    Rename,
    find_gold,
    one_file,
    read_change,
    records_of,
    renames_of,
)
from repoeval_bench.own.history.repository import Commit, FileChange, History, MissingObjectError
from repoeval_bench.own.history.subjects import question_of, refusal, subject_of

YEARS = 5
"""Years before the newest commit from which questions come by default."""

_YEAR, _DAY = 365 * 86_400 + 21_600, 86_400
LONGEST = 2 * 365 * 86_400
"""Seconds after which a window ends, if it has enough questions: the longer, the more of the gold is gone."""

_TOGETHER = 256
"""Commits that are read together, in one process."""

_MOST_BASES = 60
"""Bases that are compared at most where none has enough questions."""

MOST_QUESTIONS = 1500
"""Numbers after which no older window is opened."""

RunJobs = Callable[[Sequence[Callable[[], Any]]], Iterable[Any]]
"""Runs jobs and yields their results in order, as the `map` of a `ProcessPool` does."""


NOT_HERE, FIRST = "not here", "only new or removed files"

MERGE, SAME, GONE, OF_FILE, OF_WINDOW, OLDER = (
    "merges",
    "same subject",
    "changed lines not found",
    "most of a file",
    "most of a period",
    "older than the periods",
)

REASONS = {
    MERGE: "a merge: the commits that it brings give queries of their own",
    **subjects.REASONS,
    **changes.REASONS,
    SAME: "a newer query has the same words",
    GONE: "no changed line occurs exactly once in its definition in the older code that is searched",
    OF_FILE: "the file has the most queries that one may have",
    OF_WINDOW: "the period has the most queries that one may have",
    OLDER: "too few are left before the oldest base for a period of their own",
}
"""Reason -> the commits that give no query, in the order of the checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """Limits of the questions of a history; the defaults are those of the protocol."""

    since: str = ""
    """A date, or a commit by its tag, branch or id: only later commits ask. Default: five years before the newest."""
    windows: int = 10
    """Most bases."""
    newest: int = 60
    """Questions that the newest base leaves behind it."""
    per_window: int = 300
    """Most questions of an older base."""
    per_file: int = 30
    """Most questions of a file in all windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A base commit whose tree is searched, as the repository `name`, and the tasks that later commits ask of it."""

    name: str
    base: Commit
    tasks: tuple[Task, ...]


def _effective(numbers: Counter[Any]) -> float:
    return numbers.total() ** 2 / sum(number**2 for number in numbers.values()) if numbers else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitQuestions:
    """The windows of a history, newest first, and the commits that ask nothing, by reason.

    `seen` counts the commits after the oldest base: each is a question, or counted in `left_out`. `notes` say how far
    the history reaches.
    """

    windows: tuple[Window, ...]
    seen: int
    left_out: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Their number, and those of files and authors; the number of equal ones is 1 / the sum of squared shares."""
        commits = [task.change for task in self.tasks if task.change]
        files, authors = Counter(one.file for one in commits), Counter(one.author for one in commits)
        insertions = sum(one.is_insertion for one in commits)
        return (
            f"{count(len(commits), 'query')} from {count(self.seen, 'commit')} ({insertions} of the queries are from "
            f"commits that only insert lines), in {count(len(files), 'file')}, by {count(len(authors), 'author')}; "
            f"some files and authors have more queries than others, so they count like {_effective(files):.1f} files "
            f"and {_effective(authors):.1f} authors with equal numbers"
        )

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The questions of all windows, newest first."""
        return tuple(task for window in self.windows for task in window.tasks)


class _Group(NamedTuple):
    """A commit of the first-parent chain with what it brings, newest first; `base` is the chain's next commit."""

    commits: tuple[Commit, ...]
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A commit that asks about one file, and its change, which can be looked for in a base.

    `order` is the commit's place in the history, newest first; `path` is the file before the commit, `file` its newest
    path. `is_again`: a newer question has the same words, so that this one is asked only if that one has no gold.
    """

    commit: Commit
    order: int
    subject: str
    path: str
    file: str
    change: ChangedFile
    is_again: bool


class _Base(NamedTuple):
    """A commit that may be a base: the number of questions that wait for one there, and that of commits after it."""

    commit: Commit
    n_pending: int
    order: int


class _Match(NamedTuple):
    """A question whose gold is in a base, there at `path`."""

    question: _Question
    path: str
    gold: FoundGold


class _Draft(NamedTuple):
    """A base, what later commits ask of it, newest first, and the part of that whose gold is in it.

    `n_same` counts questions with gold that are left out, as a newer one with gold has the same words.
    """

    base: Commit
    pending: list[_Question]
    matches: list[_Match]
    n_same: int = 0


def commit_questions(
    history: History, options: CommitOptions | None = None, run_jobs: RunJobs | None = None
) -> CommitQuestions:
    """Make the questions that the commits of a history ask of the trees before them; `run_jobs` reads the commits.

    A history without a question gives no window. UsageError: `since` is wrong.
    """
    options = options or CommitOptions()
    since = history.time_of(options.since) + 1 if options.since else history.now - YEARS * _YEAR
    log = list(history.log(since))
    reading = _Reading(history, options, run_jobs)
    latest = max(time(), history.now)  # the clock of this machine may be wrong too
    reading.wrong_clocks = {commit.id for commit in log if not since <= commit.time <= latest}
    drafts = reading.drafts(_groups(history, log))
    windows = _windows(
        history.name, _whole(history, _within_limits(drafts, options, reading.left_out), reading.left_out)
    )
    notes = []
    if ends := sum(map(history.is_end, log)):
        notes.append(f"a shallow clone: its history ends at {count(ends, 'commit')}; for all: git fetch --unshallow")
    if (missing := reading.left_out[NOT_HERE]) > ends:
        notes.append(
            f"{count(missing, 'commit')} cannot be read, as this clone lacks objects, and nothing is fetched; for all, "
            "clone again without --filter and --depth"
        )
    left_out = {reason: reading.left_out[reason] for reason in REASONS if reading.left_out[reason]}
    return CommitQuestions(windows=windows, seen=reading.seen, left_out=left_out, notes=tuple(notes))


def _groups(history: History, log: Sequence[Commit]) -> list[_Group]:
    """The first-parent chain, newest first, each commit with those that are in it and in no older one of the chain."""
    by_id = {commit.id: commit for commit in log}
    chain: list[Commit] = []
    commit = by_id.get(history.head)
    while commit:
        chain.append(commit)
        commit = by_id.get(commit.parents[0]) if commit.parents else None
    owner: dict[str, int] = {}
    for number in range(len(chain) - 1, -1, -1):
        stack = [chain[number].id]
        while stack:
            commit_id = stack.pop()
            if commit_id in by_id and commit_id not in owner:
                owner[commit_id] = number
                stack += by_id[commit_id].parents
    members: dict[int, list[Commit]] = defaultdict(list)
    for commit in log:
        members[owner[commit.id]].append(commit)
    return [
        _Group(tuple(members[number]), commit.parents[0] if commit.parents else None)
        for number, commit in enumerate(chain)
    ]


class _Read(NamedTuple):
    """The files that a commit moved, and the one that it asks about with its change; reasons where it asks nothing."""

    moved: list[Rename]
    touched: Rename | str
    change: ChangedFile | str = ""


def _read_commits(history: History, commits: Sequence[Commit]) -> list[_Read]:
    """Read some commits, those of a file one after another, so that few trees are parsed."""
    changes = [_changes_of(history, commit) for commit in commits]
    records = records_of([changed for changed in changes if not isinstance(changed, str)], history.beside)
    reads = [
        _Read([], changed) if isinstance(changed, str) else _read_commit(history, commit, changed, records)
        for commit, changed in zip(commits, changes, strict=True)
    ]
    asking = [(read.touched, number) for number, read in enumerate(reads) if isinstance(read.touched, Rename)]
    for touched, number in sorted(asking, key=lambda pair: (pair[0].old, pair[1])):
        try:
            before, after = history.blob(touched.before), history.blob(touched.after)
        except MissingObjectError:
            reads[number] = reads[number]._replace(touched=NOT_HERE)
        else:
            reads[number] = reads[number]._replace(change=read_change(before, after, touched.old, touched.new))
    return reads


def _changes_of(history: History, commit: Commit) -> list[FileChange] | str:
    """The files that a commit changed, or why they are not known."""
    if len(commit.parents) != 1:
        return MERGE if commit.parents else NOT_HERE if history.is_end(commit) else FIRST
    try:
        return history.changes_of(commit)
    except MissingObjectError:
        return NOT_HERE


def _read_commit(history: History, commit: Commit, changed: list[FileChange], records: Collection[str]) -> _Read:
    """Read which file a commit changed, `records` apart, if its subject asks something."""
    try:
        moved = renames_of(history, changed)
    except MissingObjectError:
        return _Read([], NOT_HERE)
    reason = refusal(subject_of(commit.message), commit.author)
    changed = [change for change in changed if change.path not in records]
    return _Read(moved, reason or one_file(changed, moved, history.beside))


class _Reading:
    """One pass over a history, newest first: `seen` commits, those `left_out` by reason, and the files that moved."""

    def __init__(self, history: History, options: CommitOptions, run_jobs: RunJobs | None) -> None:
        self.history, self.options = history, options
        self._run_jobs = run_jobs or (lambda jobs: (job() for job in jobs))
        self.seen = 0
        self.wrong_clocks: set[str] = set()
        self.left_out: Counter[str] = Counter()
        self._moves: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._newest_path: dict[str, str] = {}
        self._questions: set[str] = set()
        self._asked: set[str] = set()
        self._order = 0
        self._known: defaultdict[tuple[str, str], dict[str, FoundGold | None]] = defaultdict(dict)

    def drafts(self, groups: Sequence[_Group]) -> list[_Draft]:
        """Find the bases: the newest one that leaves enough questions behind it, then older ones."""
        drafts: list[_Draft] = []
        pending: list[_Question] = []
        tried: list[_Base] = []
        base: _Base | None = None
        need, fewest = self.options.newest, FEWEST_TASKS
        begun = self.history.now
        for group, questions in self._answerable(groups):
            self.seen += len(group.commits)
            if (older := self._base(group)) is None:  # the first commit, or the end of a shallow clone
                self.left_out[OLDER] += len(questions)
                break
            pending += questions
            if older.id in self.wrong_clocks:
                continue
            base = _Base(older, len(pending), self._order)
            if questions:
                tried.append(base)
            is_long = begun - older.time > LONGEST
            if (distinct := _n_distinct(pending)) < (fewest if is_long else need):
                continue
            draft = self._draft(base, pending)
            usable = _usable([*drafts, draft], self.options.per_file)
            if not drafts and not is_long and usable < self.options.newest:
                need = distinct + self.options.newest - usable
                continue
            if not draft.matches and not (draft := self._best(tried, pending)).matches:
                need, fewest = distinct + self.options.newest, distinct + FEWEST_TASKS
                continue
            self._take(draft, drafts)
            begun, taken = draft.base.time, len(draft.pending)
            pending = pending[taken:]
            tried = [one._replace(n_pending=one.n_pending - taken) for one in tried if one.n_pending > taken]
            need, fewest = self.options.per_window, FEWEST_TASKS
            if _usable(drafts, self.options.per_file) >= MOST_QUESTIONS or len(drafts) == self.options.windows:
                break
        if pending and base is not None:
            self._last(drafts, pending, [*tried, base._replace(n_pending=len(pending))])
        else:
            self.left_out[OLDER] += len(pending)
        self.left_out[SAME] += sum(draft.n_same for draft in drafts)
        self.left_out[GONE] += sum(len(draft.pending) - len(draft.matches) - draft.n_same for draft in drafts)
        return drafts

    def _last(self, drafts: list[_Draft], pending: list[_Question], tried: list[_Base]) -> None:
        """Find a base for what is left at the end of a history: one of its own, or that of the last window."""
        base = tried[-1]
        if not drafts:
            self._take(best := self._best(tried, pending), drafts)
            pending = pending[len(best.pending) :]
        elif _n_distinct(pending) >= FEWEST_TASKS:
            draft = self._draft(base, pending)
            self._take(draft if draft.matches else self._best(tried, pending), drafts)
            pending = pending[len(drafts[-1].pending) :]
        else:
            last = drafts.pop()
            self._asked -= {_words(match.question.subject) for match in last.matches}
            longer = self._draft(base, [*last.pending, *pending])
            if len(longer.matches) > len(last.matches):  # the last window takes what is too little for another
                last, pending = longer, []
            self._take(last, drafts)
        self.left_out[OLDER] += len(pending)

    def _take(self, draft: _Draft, drafts: list[_Draft]) -> None:
        drafts.append(draft)
        self._asked |= {_words(match.question.subject) for match in draft.matches}

    def _best(self, tried: Sequence[_Base], pending: list[_Question]) -> _Draft:
        """The base that has the gold of most of the questions after it, the oldest one of equals.

        A folder that is young, or was written anew, is not in the older ones.
        """
        step = -(-len(tried) // _MOST_BASES)
        drafts = (self._draft(base, pending[: base.n_pending]) for base in tried[::-1][::step])
        return max(drafts, key=lambda draft: _usable([draft], self.options.per_file))

    def _base(self, group: _Group) -> Commit | None:
        try:
            base = self.history.commit(group.base) if group.base else None
            if base:
                self.history.read_root(base.tree)
        except MissingObjectError:
            return None
        return base

    def _answerable(self, groups: Sequence[_Group]) -> Iterator[tuple[_Group, list[_Question]]]:
        """Yield each group with its questions."""
        reads = self._reads([commit for group in groups for commit in group.commits])
        for group in groups:
            questions = []
            for commit in group.commits:
                question = self._question(commit, next(reads))
                if isinstance(question, str):
                    self.left_out[question] += 1
                else:
                    questions.append(question)
            yield group, questions

    def _reads(self, commits: Sequence[Commit]) -> Iterator[_Read]:
        """Yield what each commit changed, in their order."""
        parts = [commits[at : at + _TOGETHER] for at in range(0, len(commits), _TOGETHER)]
        jobs = [partial(_read_commits, self.history, part) for part in parts]
        with progress(desc=f"read the history of {self.history.name}", unit="commits", total=len(commits)) as bar:
            for reads in self._run_jobs(jobs):
                # A part at a time: its first commit alone would seem to have taken as long as all of it.
                bar.update(len(reads))
                yield from reads

    def _question(self, commit: Commit, read: _Read) -> _Question | str:
        """The question of a commit, or the reason why it has none. Files that it moved are noted in any case."""
        order, self._order = self._order, self._order + 1
        for rename in read.moved:
            self._moves[rename.new].append((order, rename.old))
            self._newest_path[rename.old] = self._newest_path.get(rename.new, rename.new)
        if isinstance(read.touched, str):
            return read.touched
        if isinstance(read.change, str):
            return read.change
        subject = subject_of(commit.message)
        is_again = (words := _words(subject)) in self._questions
        self._questions.add(words)
        file = self._newest_path.get(read.touched.new, read.touched.new)
        return _Question(
            commit=commit,
            order=order,
            subject=subject,
            path=read.touched.old,
            file=file,
            change=read.change,
            is_again=is_again,
        )

    def _draft(self, base: _Base, pending: list[_Question]) -> _Draft:
        """Look for the gold of the pending questions in the tree of a base."""
        try:
            blobs = self.history.files(base.commit.tree)
        except MissingObjectError:
            return _Draft(base.commit, pending, [])
        by_path: dict[str, dict[str, ChangedFile]] = defaultdict(dict)
        for question in pending:
            if (path := self._path_at(base, question)) in blobs:
                by_path[path][question.commit.id] = question.change
        golds: dict[str, tuple[str, FoundGold]] = {}
        for path, of_path in by_path.items():
            if name_reason(path, blobs, self.history.beside) is None:
                of_version = self._golds(blobs[path], path, of_path)
                golds |= {commit_id: (path, gold) for commit_id, gold in of_version.items()}
        with_gold = [
            _Match(question, *golds[question.commit.id]) for question in pending if question.commit.id in golds
        ]
        of_words: dict[str, _Match] = {}
        for match in with_gold:
            if (words := _words(match.question.subject)) not in self._asked:
                of_words.setdefault(words, match)
        return _Draft(base.commit, pending, [*of_words.values()], len(with_gold) - len(of_words))

    def _golds(self, blob: str, path: str, of_path: dict[str, ChangedFile]) -> dict[str, FoundGold]:
        """The gold of changes in one version of a file; most bases that are tried have the same version."""
        known = self._known[blob, path]
        if new := {commit_id: change for commit_id, change in of_path.items() if commit_id not in known}:
            try:
                golds = find_gold(self.history.blob(blob), path, new)
            except MissingObjectError:
                golds = {}
            known |= {commit_id: golds.get(commit_id) for commit_id in new}
        return {commit_id: gold for commit_id in of_path if (gold := known[commit_id])}

    def _path_at(self, base: _Base, question: _Question) -> str:
        """The path that the file that was changed later has in a base: moves between both are undone, newest first."""
        order, path = question.order, question.path
        while older := next((move for move in self._moves.get(path, ()) if order < move[0] < base.order), None):
            order, path = older
        return path


def _words(subject: str) -> str:
    return question_of(subject).casefold()


def _n_distinct(questions: Iterable[_Question]) -> int:
    return sum(not question.is_again for question in questions)


def _usable(drafts: Iterable[_Draft], per_file: int) -> int:
    """Count the questions that are left with so many of each file at most."""
    of_file = Counter(match.question.file for draft in drafts for match in draft.matches)
    return sum(min(number, per_file) for number in of_file.values())


def _within_limits(drafts: Sequence[_Draft], options: CommitOptions, left_out: Counter[str]) -> list[_Draft]:
    """Leave out what is over the limits of windows and files, and count it.

    Of a file the newest window keeps all that it may; the rest is spread evenly over the older windows.
    """
    kept: list[list[_Match]] = []
    by_file: dict[str, list[_Match]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        most = options.per_window if number else max(options.per_window, options.newest)
        left_out[OF_WINDOW] += max(0, len(draft.matches) - most)
        kept.append(draft.matches[:most])
        for match in kept[-1]:
            by_file[match.question.file].append(match)
    newest = {match.question.commit.id for match in kept[0]} if kept else set()
    chosen: set[str] = set()
    for of_file in by_file.values():
        ids = [match.question.commit.id for match in of_file]
        first = [commit_id for commit_id in ids if commit_id in newest][: options.per_file]
        older = [commit_id for commit_id in ids if commit_id not in newest]
        room = min(options.per_file - len(first), len(older))
        chosen.update(first, (older[i * len(older) // room] for i in range(room)))
    left_out[OF_FILE] += sum(map(len, kept)) - len(chosen)
    return [
        draft._replace(matches=[match for match in of_draft if match.question.commit.id in chosen])
        for draft, of_draft in zip(drafts, kept, strict=True)
    ]


def _whole(history: History, drafts: Iterable[_Draft], left_out: Counter[str]) -> Iterator[_Draft]:
    """Leave out the bases of which a partial clone lacks code: where less is searched, more is found."""
    for draft in drafts:
        if draft.matches and history.lacks_code(draft.base.tree):
            left_out[NOT_HERE] += len(draft.matches)
        else:
            yield draft


def _windows(name: str, drafts: Iterable[_Draft]) -> tuple[Window, ...]:
    windows: list[Window] = []
    authors: dict[str, int] = {}
    for draft in drafts:
        if not draft.matches:
            continue
        own = month = f"{name}@{draft.base.day[:7]}"
        number = 2
        while own in {window.name for window in windows}:
            own, number = f"{month}_{number}", number + 1
        tasks = [
            _task(own, draft.base, match, authors.setdefault(match.question.commit.author, len(authors) + 1))
            for match in draft.matches
        ]
        windows.append(Window(name=own, base=draft.base, tasks=tuple(tasks)))
    return tuple(windows)


def _task(repo: str, base: Commit, match: _Match, author: int) -> Task:
    question, commit, change = match.question, match.question.commit, match.question.change
    golds = [join(Place(f"{repo}/{match.path}", span) for span in spans) for spans in match.gold]
    return Task.asking(
        f"{repo}/{commit.id[:12]}",
        question_of(question.subject),
        golds[0],
        LEVEL,
        change=AskedCommit(
            commit=commit.id,
            date=commit.day,
            subject=question.subject,
            author=author,
            file=question.file,
            age_days=max(0, commit.time - base.time) // _DAY,
            lines_changed=change.n_changed,
            is_insertion=change.is_insertion,
            exact=golds[1],
            definitions=golds[2],
        ),
    )
