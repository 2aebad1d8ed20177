"""One commit's change to one file of code: the lines that it touched, by definition, or why it asks nothing.

The same lines in the tree at an earlier base are the gold of protocol `commits`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import inf
from operator import eq
from pathlib import PurePosixPath
from typing import NamedTuple

from repoeval_bench.core.definitions import Definition, definitions_in, parse_legible
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import ENDINGS, Language, ending_of, language_name, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.dataset.reading.code import MAX_BYTES, is_test, name_reason, text_reason
from repoeval_bench.dataset.trees import decode
from repoeval_bench.own.history.placing import Hunk, placed
from repoeval_bench.own.history.repository import FileChange, History, MissingObjectError

MOST_LINES, MOST_DEFINITIONS = 60, 3
"""Lines that a commit removes and adds, and definitions that it touches, at most."""

WHOLE_FILE = "the whole file"
"""The name of the definition that a file without a grammar stands for."""

MOST_PAIRS = 400
"""Pairs of a removed and an added file of one commit whose texts are compared, to find renames."""

REASONS = {
    "not here": "a shallow or partial clone lacks the parent, a tree or a file",
    "no code": "the commit changes no code file in a language that this tool reads",
    "only tests": "only test code has changed",
    "only new or removed files": "tests aside, the commit only adds or deletes code files",
    "several files": "more than one file of code has changed, besides tests and files that nearly every commit changes",
    "not read": "the file is generated, minified, above 1 MiB or not UTF-8",
    "too many lines": f"more than {MOST_LINES} lines are removed and added",
    "only comments": "nothing but comments, docstrings or blanks has changed",
    "too many definitions": f"more than {MOST_DEFINITIONS} definitions have changed",
    "outside of definitions": "no changed line is in a definition that existed before",
}
"""Reason -> the changes that it leaves out, in the order of the checks."""


class FileEdit(NamedTuple):
    """One commit's edit of one file of code: its newest path in the commit, and its text before and after."""

    path: str
    before: str
    after: str


MOST_EDITS = 250
"""Edits that are enough for the cost of one."""


class Rename(NamedTuple):
    """A file that a commit changed, and perhaps moved: its path before and after, and the ids of its content."""

    old: str
    new: str
    before: str
    after: str


class ChangedLine(NamedTuple):
    """A line of the file before the change, without blanks at its end, in the definition of a name and signature."""

    definition: str
    text: str
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A change of one file: its path before, and its lines that were removed or replaced, or precede an insertion.

    A line that its definition has more than once is not among them: in a base nobody knows which one is meant.
    """

    path: str
    lines: tuple[ChangedLine, ...]
    n_changed: int
    is_insertion: bool


def renames_of(history: History, changed: Sequence[FileChange]) -> list[Rename]:
    """The files of code that a commit moved: the same content, or at least half of the lines, at another path."""
    gone = {change.path: change.before for change in changed if change.after is None and change.before}
    new = {change.path: change.after for change in changed if change.before is None and change.after}
    renames: list[Rename] = []

    def pair(old: str, path: str) -> None:
        renames.append(Rename(old, path, gone.pop(old) or "", new.pop(path) or ""))

    by_content: dict[str, list[str]] = {}
    for path, blob in gone.items():
        by_content.setdefault(blob, []).append(path)
    for path, blob in list(new.items()):
        if same := by_content.get(blob):
            pair(same.pop(), path)
    code = [[path for path in paths if name_reason(path, (), history.beside) is None] for paths in (gone, new)]
    for old, path in islice(_pairs(*code), MOST_PAIRS):
        if old in gone and path in new and _is_alike(history.blob(gone[old]), history.blob(new[path])):
            pair(old, path)
    return renames


def _pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of paths of one language, those of the same name first; a large commit has too many to list."""
    by_name, by_language = defaultdict(list), defaultdict(list)
    for path in new:
        language = language_name(path)
        by_name[language, PurePosixPath(path).name].append(path)
        by_language[language].append(path)
    for path in old:
        yield from ((path, other) for other in by_name.get((language_name(path), PurePosixPath(path).name), ()))
    for path in old:
        name = PurePosixPath(path).name
        yield from (
            (path, other) for other in by_language.get(language_name(path), ()) if PurePosixPath(other).name != name
        )


def _is_alike(a: bytes, b: bytes) -> bool:
    """Return whether two files share half of the lines of the longer one."""
    lines = [Counter(filter(None, map(bytes.strip, raw.split(b"\n")))) for raw in (a, b)]
    return 2 * (lines[0] & lines[1]).total() >= max(1, *(counted.total() for counted in lines))


def one_file(changed: Sequence[FileChange], renames: Iterable[Rename], beside: Collection[str] = ()) -> Rename | str:
    """The one file of code that was changed and is no test; else the reason why there is none.

    `beside` are endings that are read beside those of the ten languages.
    """
    moved = {rename.new: rename for rename in renames}
    left = {rename.old for rename in moved.values()}
    code = [change for change in changed if name_reason(change.path, (), beside) is None and change.path not in left]
    if not code:
        return "no code"
    own = [change for change in code if not is_test(change.path)]
    if not own:
        return "only tests"
    there = [moved[change.path] for change in own if change.path in moved]
    there += [
        Rename(change.path, change.path, change.before, change.after)
        for change in own
        if change.before and change.after
    ]
    edited = [rename for rename in there if rename.before != rename.after]
    if not edited:
        return "only new or removed files"
    return edited[0] if len(edited) + len(own) - len(there) == 1 else "several files"


RECORD, LEAST_COMMITS = 0.9, 20
"""Share of the commits of code that change a record, and the fewest commits of code by which it is known."""


def records_of(commits: Iterable[Sequence[FileChange]], beside: Collection[str] = ()) -> frozenset[str]:
    """The files of code that nearly every commit changes beside others, such as a list of patches.

    No subject is about them. The only file of a small library is changed alone, and is not such a file.
    """
    seen, alone, n_commits = Counter[str](), Counter[str](), 0
    for changed in commits:
        code = [one.path for one in changed if name_reason(one.path, (), beside) is None and not is_test(one.path)]
        n_commits += bool(code)
        seen.update(code)
        alone.update(code if len(code) == 1 else ())
    most = [path for path, number in seen.items() if number > RECORD * n_commits >= RECORD * LEAST_COMMITS]
    return frozenset(path for path in most if 2 * alone[path] < seen[path])


def read_change(before: bytes, after: bytes, path: str, new_path: str = "") -> ChangedFile | str:
    """Compare two versions of a file; the reason where the change asks nothing."""
    versions = [read_source(raw, name) for raw, name in ((before, path), (after, new_path or path))]
    if None in versions:
        return "not read"
    old, new = (_Version(*version) for version in versions if version)
    new = replace(new, like=old)
    hunks = line_diff(old.file.text, new.file.text, MOST_LINES)
    if hunks is None:
        return "too many lines"
    removed = [line for hunk, _ in hunks for line in hunk]
    added = [line for _, hunk in hunks for line in hunk]
    read = {*removed, *_above(old.rows, hunks)}
    before_defs, after_defs = old.definitions_on(read), new.definitions_on(added)
    old_code, new_code = _code(old, removed, before_defs), _code(new, added, after_defs)
    if "".join(old_code.values()) == "".join(new_code.values()) and not _is_moved(hunks, old_code, new_code):
        return "only comments"
    touched = {*innermost(old.file, removed, before_defs).values(), *innermost(new.file, added, after_defs).values()}
    if len(touched - {""}) > MOST_DEFINITIONS:
        return "too many definitions"
    replaced = [line for line in removed if re.search(r"\w", old_code[line])]
    inserted = [hunk for hunk in hunks if any(new_code[line] for line in hunk[1])]
    names = innermost(old.file, replaced, before_defs) or _insertions(old, new, inserted, before_defs, after_defs)
    lines = [ChangedLine(name, old.rows[line].rstrip()) for line, name in names.items() if name]
    if not lines:
        return "outside of definitions"
    standing = places_of(old, lines, read, before_defs)
    sure = tuple(line._replace(signature=standing[line][0][1].signature) for line in lines if len(standing[line]) == 1)
    return ChangedFile(path=path, lines=sure, n_changed=len(removed) + len(added), is_insertion=not replaced)


def _is_moved(hunks: Sequence[Hunk], old_code: Mapping[int, str], new_code: Mapping[int, str]) -> bool:
    """Return whether the same lines of code are gone at one place and new at another."""
    before = [[code for line in hunk if (code := old_code[line])] for hunk, _ in hunks]
    after = [[code for line in hunk if (code := new_code[line])] for _, hunk in hunks]
    return before != after and [*chain(*before)] == [*chain(*after)]


def edits_of(history: History, limit: int = MOST_EDITS, most_chars: float = inf) -> list[FileEdit]:
    """The last edits of one file of code, newest first, whatever their subjects say; to measure what they cost.

    None is added once the texts before and after have more than `most_chars` characters.
    """
    edits: list[FileEdit] = []
    chars = 0
    changes = _changed(history)
    newest = [*islice(changes, limit)]
    records = records_of(newest, history.beside)
    for changed in chain(newest, changes):
        if len(edits) == limit or chars > most_chars:
            break
        try:
            moved = renames_of(history, changed)
            touched = one_file([one for one in changed if one.path not in records], moved, history.beside)
            if isinstance(touched, str):
                continue
            before = read_source(history.blob(touched.before), touched.old)
            after = read_source(history.blob(touched.after), touched.new)
        except MissingObjectError:
            continue
        if before and after and before[0].text != after[0].text:
            edits.append(FileEdit(touched.new, before[0].text, after[0].text))
            chars += len(before[0].text) + len(after[0].text)
    return edits


def _changed(history: History) -> Iterator[list[FileChange]]:
    """The files that each commit with one parent changed, newest first, as far as they are here."""
    for commit in history.log():
        if len(commit.parents) == 1:
            try:
                changed = history.changes_of(commit)
            except MissingObjectError:
                continue
            yield changed


def line_diff(before: str, after: str, most: int) -> list[Hunk] | None:
    """The lines in which two texts differ; None if more than `most` are removed and added.

    These are the fewest lines, as in `git diff --minimal`. Lines only removed, or only added, are placed as git does.
    """
    old, new = before.splitlines(), after.splitlines()
    whole = old, new
    start = [*map(eq, old, new), False].index(False)
    end = [*map(eq, reversed(old[start:]), reversed(new[start:])), False].index(False)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    # Cheaper than a comparison: lines that one text has more often than the other.
    counted = Counter(old), Counter(new)
    if (counted[0] - counted[1]).total() + (counted[1] - counted[0]).total() > most:
        return None
    blocks = _shortest(old, new, most)
    if blocks is None:
        return None
    hunks = [(LineSpan(start + i, start + j), LineSpan(start + k, start + m)) for i, j, k, m in blocks]
    return placed(*whole, hunks)


def _shortest(old: Sequence[str], new: Sequence[str], most: int) -> list[tuple[int, int, int, int]] | None:
    """The differing blocks of two texts with the fewest lines (Myers 1986), in time N x `most`; None if more."""
    furthest, steps = {1: 0}, []
    for n_edits in range(most + 1):
        steps.append(furthest.copy())
        for diagonal in range(-n_edits, n_edits + 1, 2):
            x = _next(furthest, diagonal, n_edits)[0]
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _blocks(steps, len(old), len(new))
    return None


def _next(furthest: Mapping[int, int], diagonal: int, n_edits: int) -> tuple[int, int]:
    """Return where one more edit enters a diagonal, and from which diagonal it comes."""
    inserts = diagonal == -n_edits or (diagonal != n_edits and furthest[diagonal - 1] < furthest[diagonal + 1])
    return (furthest[diagonal + 1], diagonal + 1) if inserts else (furthest[diagonal - 1] + 1, diagonal - 1)


def _blocks(steps: Sequence[Mapping[int, int]], x: int, y: int) -> list[tuple[int, int, int, int]]:
    """Walk the edits back from the end of both texts; edits that touch are one block."""
    blocks: list[tuple[int, int, int, int]] = []
    for n_edits in range(len(steps) - 1, 0, -1):
        after, before = _next(steps[n_edits], x - y, n_edits)
        y_after, x = after - (x - y), steps[n_edits][before]
        y = x - before
        i, j, k, m = x, after, y, y_after
        if blocks and (blocks[-1][0], blocks[-1][2]) == (j, m):
            _, j, _, m = blocks.pop()
        blocks.append((i, j, k, m))
    return blocks[::-1]


@lru_cache(maxsize=16)
def read_source(raw: bytes, path: str) -> tuple[SourceFile, Language | None] | None:
    """A file of code as it is searched, with its language if its grammar is here; None if it would not be searched."""
    if len(raw) > MAX_BYTES:
        return None
    try:
        text = decode(raw)
    except UnicodeDecodeError:
        return None
    language = language_of(path, text)
    if (language is None and ending_of(path) in ENDINGS) or text_reason(language, text):
        return None
    return SourceFile("", path, text), language


@dataclass(frozen=True)
class _Version:
    """A version of a file of code; it is parsed once, and only if a definition or comment is looked for."""

    file: SourceFile
    language: Language | None
    like: _Version | None = None
    """The version before, of whose tree most is taken."""

    @cached_property
    def rows(self) -> list[str]:
        return self.file.text.splitlines()

    @cached_property
    def tree(self) -> Parsed | None:
        """The tree of what its grammar can read of it; None without a grammar."""
        like = self.like.tree if self.like else None
        return parse_legible(self.file, self.language, like) if self.language else None

    def definitions_on(self, lines: Collection[int]) -> Sequence[Definition]:
        """The definitions on some lines; without a language the whole file, which then stands for one."""
        if self.language is None:
            return [self._whole]
        return definitions_in(self.tree, tuple(sorted(lines))) if lines and self.tree else ()

    @property
    def definitions(self) -> Sequence[Definition]:
        """All definitions."""
        return definitions_in(self.tree) if self.tree else [self._whole]

    @property
    def _whole(self) -> Definition:
        whole = LineSpan(0, self.file.n_lines)
        return Definition(
            kind="class",
            form="file",
            name=WHOLE_FILE,
            qualified=WHOLE_FILE,
            signature="",
            lines=whole,
            above=0,
            header=LineSpan(0, 0),
            named=0,
            body=whole,
            doc=None,
            parent=None,
            declaration=False,
            broken=False,
        )


def _code(version: _Version, lines: Sequence[int], defined: Iterable[Definition]) -> dict[int, str]:
    """Line -> its text without comments, docstrings and blanks outside strings; without a language, comments stay."""
    file, language = version.file, version.language
    rows = {line: list(file.line_text(LineSpan(line, line + 1))) for line in lines}
    for definition in defined:
        for line in definition.doc.lines if definition.doc and not definition.doc.followed else ():
            if line in rows:
                rows[line] = []
    # A language whose comments end with their line has none where the mark is missing.
    comments = ""
    if language and lines and (language.line_comment != "#" or any("#" in row for row in rows.values())):
        comments = GRAMMARS[language.name].comments
    span = LineSpan(min(lines), max(lines) + 1) if lines else LineSpan(0, 0)
    if language and comments:
        parsed = version.tree if version.tree and version.tree.file is file else parse(file, language)
        for match in parsed.matches(comments, span):
            for node in (node for nodes in match.values() for node in nodes):
                if rows.keys().isdisjoint(parsed.span(node)):
                    continue
                chars = parsed.chars(node)
                for line in rows.keys() & {*file.lines_of(chars)}:
                    start = file.chars_of(LineSpan(line, line)).start
                    first, last = max(chars.start - start, 0), max(chars.end - start, 0)
                    rows[line][first:last] = " " * len(rows[line][first:last])
    return {line: _BLANKS.sub(r"\1", "".join(row)) for line, row in rows.items()}


# No string is between the quotes of two lifetimes (`&'a str, &'a str`), nor within 1'000'000.
_BLANKS = re.compile(r"""("(?:\\.|[^"\\])*"|(?<!\d)'(?:\\.|[^'\\])*'(?!\w)|`[^`]*`)|\s+""")
"""Blanks, or a string, whose own blanks are code: a missing space in a message is a bug."""


def innermost(file: SourceFile, lines: Iterable[int], defined: Iterable[Definition]) -> dict[int, str]:
    """Line -> qualified name of the innermost definition, "" outside of all; blank lines are left out."""
    names = {line: "" for line in lines if file.line_text(LineSpan(line, line + 1)).strip()}
    for definition in defined:  # inner ones come after those around them
        for line in names:
            if definition.lines.start <= line < definition.lines.end:
                names[line] = definition.qualified
    return names


def places_of(
    version: _Version, lines: Iterable[ChangedLine], read: Collection[int] = (), defined: Iterable[Definition] = ()
) -> dict[ChangedLine, list[tuple[int, Definition]]]:
    """Line -> where a version of its file has its text in a definition of its name, with the innermost of these.

    `defined` are the definitions on the lines `read`, if they are known.
    """
    distinct = set(lines)
    rows: dict[str, list[int]] = {line.text: [] for line in distinct}
    for number, row in enumerate(version.rows):
        if (text := row.rstrip()) in rows:
            rows[text].append(number)
    numbers = {*chain.from_iterable(rows.values())}
    by_name: dict[str, list[Definition]] = defaultdict(list)
    for definition in defined if numbers.issubset(read) else version.definitions_on(numbers):
        by_name[definition.qualified].append(definition)
    places: dict[ChangedLine, list[tuple[int, Definition]]] = {}
    for line in distinct:
        holders = (
            (number, [definition for definition in by_name.get(line.definition, ()) if number in definition.lines])
            for number in rows[line.text]
        )
        places[line] = [
            (number, min(defined, key=lambda definition: len(definition.lines)))
            for number, defined in holders
            if defined
        ]
    return places


def _above(rows: Sequence[str], hunks: Iterable[Hunk]) -> list[int]:
    """The last line with text before each of the hunks that has one."""
    lines = (next((line for line in range(old.start - 1, -1, -1) if rows[line].strip()), None) for old, _ in hunks)
    return [line for line in lines if line is not None]


def _insertions(
    old: _Version, new: _Version, hunks: Iterable[Hunk], before: Sequence[Definition], after: Sequence[Definition]
) -> dict[int, str]:
    """Line before an insertion -> the definition that the insertion is in, if both are in one that was there before.

    A new function after another one is not in it, so that no line answers for it.
    """
    return {
        line: name
        for hunk in hunks
        for line, name in innermost(old.file, _above(old.rows, [hunk]), before).items()
        if name and {*innermost(new.file, hunk[1], after).values()} == {name}
    }


AROUND = 5
"""Lines around each changed line that the deciding gold contains, within the definition."""


class FoundGold(NamedTuple):
    """The gold of a change in a file of a base, by kind: lines with those around, lines alone, whole definitions.

    `definitions` is empty for a file without a grammar, whose definitions are not known.
    """

    lines: tuple[LineSpan, ...]
    exact: tuple[LineSpan, ...]
    definitions: tuple[LineSpan, ...]


def find_gold(raw: bytes, path: str, changes: Mapping[str, ChangedFile]) -> dict[str, FoundGold]:
    """Key -> the gold of each change of a file, in the file's text at a base; changes whose gold is gone are left out.

    A changed line counts where the definition of its name has the same line exactly once. Where several definitions
    have the name, as overloads do, it is the one of the same signature.
    """
    source = read_source(raw, path)
    if source is None:
        return {}
    version = _Version(*source)
    places = places_of(version, (line for change in changes.values() for line in change.lines))
    names: Counter[str] | None = None
    golds = {}
    for key, change in changes.items():
        lines = {}
        for line in change.lines:
            if len(places[line]) != 1:
                continue
            ((number, holder),) = places[line]
            if holder.signature != line.signature:
                # Most signatures are still the same, and to read all definitions takes longer than all else here.
                names = names or Counter(
                    definition.qualified for definition in version.definitions if not definition.declaration
                )
                if names[line.definition] > 1:
                    continue
            lines[number] = holder.lines
        if lines:
            golds[key] = FoundGold(
                lines=tuple(LineSpan(max(line - AROUND, 0), line + AROUND + 1).common(lines[line]) for line in lines),
                exact=tuple(LineSpan(line, line + 1) for line in lines),
                definitions=tuple(dict.fromkeys(lines.values())) if version.language else (),
            )
    return golds
