"""Build a pack from sources: gather files, find candidates, draw tasks, and write; the folder appears when complete."""

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError, NoDataError, os_errors_as
from repoeval_bench.core.files import folder_beside, short_hash, slug, work_folder
from repoeval_bench.core.languages import ENDINGS, FURTHER, LANGUAGES, MODULE_FILES
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.words import count
from repoeval_bench.dataset import uses_table
from repoeval_bench.dataset.commits import TABLE
from repoeval_bench.dataset.install import HASHES, uses_file_of
from repoeval_bench.dataset.loader import is_benchmark
from repoeval_bench.dataset.pack import (
    FEWEST_TASKS,
    MANIFEST,
    TREE,
    Pack,
    PackFile,
    PackLevel,
    PackSource,
    PackUses,
    dump_manifest,
    new_folder,
    new_target,
    write_plain,
)
from repoeval_bench.dataset.reading import sampling
from repoeval_bench.dataset.reading.code import CodeFile, Gathered, Origin, gather, is_test, no_code
from repoeval_bench.dataset.reading.opening import open_origin, refuse_address
from repoeval_bench.dataset.reading.plain import only_of_code
from repoeval_bench.dataset.repoeval import FUNCTION, TaskSet, dump_tasks
from repoeval_bench.dataset.trees import decode, read_tree
from repoeval_bench.dataset.uses_table import ReadUses, dump_uses
from repoeval_bench.own.packs.candidates import LEFT_OUT, LONGEST, NEAR_DUPLICATE, SHORTEST, examine
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.own.references.resolver import Resolver


def resolve_uses(tasks: Sequence[Task], tree: Path, repositories: Mapping[str, Path | None]) -> ReadUses:
    """Resolve what tasks use of the repositories in the folder `tree`, some of which have a SCIP index.

    A line names each that is too large. DatasetError where an index leads to nothing: it is another code's.
    """
    uses: ReadUses = {}
    with progress(desc="resolve names", unit="tasks", total=len(tasks)) as bar:
        for repo, index in repositories.items():
            own = [task for task in tasks if task.repo == repo]
            size = sum(path.stat().st_size for path in (tree / repo).rglob("*") if path.is_file())
            if size > uses_table.MOST_CODE:
                NOTICES.info(
                    f"note: {repo} has {size / 1e6:.0f} MB of code; names are resolved up to "
                    f"{uses_table.MOST_CODE / 1e6:.0f} MB, so its tasks use nothing under protocol uses"
                )
                uses |= {task.task_id: None for task in own}
                continue
            resolver = Resolver(read_tree(tree / repo, repo, (*ENDINGS, *MODULE_FILES)).files, scip=index)
            for task in own:
                uses[task.task_id] = resolver.uses(task.path, task.body)
                bar.update()
            if unread := sum(uses[task.task_id] is None for task in own):
                NOTICES.info(f"note: protocol uses skips {count(unread, 'unread task')} of {repo}, nested too deeply")
            del resolver
            gc.collect()  # a resolver refers to itself, and the next one needs the memory
            tiers = {used.tier for task in own for used in uses[task.task_id] or ()}
            if index is not None and own and "resolved" not in tiers:
                raise DatasetError(
                    f"{index} leads no name of {repo} to a definition; make the index in that source's own folder"
                )
    return uses


OF_TESTS = "of tests"
"""The reason of functions that could be tasks and are in tests."""

RULES_VERSION = 1
"""Version of the rules for files and tasks: another version gives other packs."""


class NoTaskError(DatasetError):
    """Code was read from the `sources`, and no task can be made of it."""

    def __init__(self, message: str, sources: Sequence[PackSource]) -> None:
        super().__init__(message)
        self.sources = sources


def build_pack(request: BuildRequest, out: Path | str, *, opener: Callable[[str, Path], Origin] = open_origin) -> Pack:
    """Build a pack of the sources in the folder `out`, which must not exist yet or be empty.

    Notices name every source, and say where there are too few tasks. `opener` opens a source's text,
    with a folder for what it fetches. UsageError: the request names what does not exist or does not fit together;
    DatasetError: a source cannot be read, holds no code, or gives no task. Then nothing is written.
    """
    request.check()
    target = new_target(out, "pack")
    with new_folder(target) as folder, work_folder("sources") as work:
        building = _Building(request, folder)
        for source in request.sources:
            NOTICES.info(building.add(opener(source, work)))
        content = building.finish()
        if (tasks := content.levels[FUNCTION.name].tasks) < FEWEST_TASKS:
            NOTICES.info(f"note: {count(tasks, 'task')}: fewer than {FEWEST_TASKS} are too few to choose a chunker by")
    return Pack(target, content)


def packed_source(name: str, gathered: Gathered, facts: Mapping[str, Any]) -> PackSource:
    """Return what a manifest says of a source that was read."""
    return PackSource(
        repository=name,
        files=dict(sorted(gathered.files.items())),
        lines=dict(sorted(gathered.lines.items())),
        left_out=gathered.counts,
        unread=gathered.not_read,
        **facts,
    )


def write_pack(
    folder: Path,
    name: str,
    sources: Sequence[PackSource],
    levels: Mapping[str, PackLevel],
    *,
    hashes: Iterable[str],
    beside: Iterable[str],
    seed: int = 0,
) -> PackFile:
    """Write the hashes and the manifest of a pack; `beside` are the endings that were read beside the ten languages."""
    languages = sorted({language for source in sources for language in source.files})
    content = PackFile(
        schema=1,
        name=name,
        tool=installed_version("repoeval-bench"),
        seed=seed,
        context=sampling.CONTEXT,
        tokenizer=sampling.TOKENIZER,
        languages=grammars_of(languages),
        levels=dict(levels),
        sources=[*sources],
        rules=f"{RULES_VERSION}: docs/data.md",
        extensions=sorted(beside),
    )
    write_plain(folder / TREE / HASHES, "".join(sorted(hashes)).encode())
    write_plain(folder / MANIFEST, dump_manifest(content))
    return content


def write_code(folder: Path, repo: str, taken: CodeFile) -> str:
    """Write a file of a pack, and return its line of the hashes."""
    write_plain(folder / TREE / repo / taken.path, taken.raw)
    # With two blanks, as sha256sum writes and checks it.
    return f"{hashlib.sha256(taken.raw).hexdigest()}  {repo}/{taken.path}\n"


class _Building:
    """A pack in the making: files are written while they are read, and only the candidates' places are kept."""

    def __init__(self, request: BuildRequest, folder: Path) -> None:
        self._request = request
        self._folder = folder
        self._sources: dict[str, PackSource] = {}
        # Of tests that are to make no tasks (True), and of all other code.
        self._orders: dict[bool, list[sampling.Order]] = {False: [], True: []}
        self._candidates, self._candidates_in_tests = 0, 0
        self._skipped: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._hashes: list[str] = []
        self._indexes: dict[str, Path] = {}
        self._beside: set[str] = set()

    def add(self, origin: Origin) -> str:
        """Write a source's files and find its candidates; a line on it, and one on code that is not read."""
        for note in origin.notes:
            NOTICES.info(f"note: {note}")
        name, number = origin.name, 2
        while name in self._sources:  # folders of the same name, such as two checkouts of one project
            name, number = f"{origin.name}_{number}", number + 1
        gathered = Gathered()
        # More than can be drawn are kept, because near-duplicates are passed over.
        for orders in self._orders.values():
            orders.append(sampling.Order(self._request.seed, name, 10 * self._request.tasks))
        with progress(desc=f"read {name}", unit="files", total=len(origin.paths)) as bar:
            for taken in gather(origin, self._request.languages, gathered, self._request.extensions or ()):
                self._hashes.append(write_code(self._folder, name, taken))
                bar.update()
                if taken.file is None or taken.language is None:
                    continue
                functions, skipped = examine(taken.file, taken.language)
                self._candidates += len(functions)
                apart = not self._request.ask_tests and is_test(taken.path)
                if apart:
                    self._candidates_in_tests += len(functions)
                self._skipped[apart].update(skipped)
                self._orders[apart][-1].add(functions)
        if not gathered.files:
            raise NoDataError(no_code(origin, gathered, self._request.languages))
        self._beside |= gathered.beside
        facts: dict[str, Any] = dict(origin.facts)
        if len(self._sources) < len(self._request.scip):
            self._indexes[name] = Path(self._request.scip[len(self._sources)])
            facts["scip_sha256"] = hashlib.sha256(self._indexes[name].read_bytes()).hexdigest()
        self._sources[name] = packed_source(name, gathered, facts)
        return "\n".join(filter(None, [f"{name}: {gathered.summary}", gathered.unread_note]))

    def finish(self) -> PackFile:
        """Draw the tasks, of tests if nothing else has some; write them and the manifest."""
        skipped, tasks = self._skipped[False], self._draw(self._orders[False])
        only_tests = not tasks and self._candidates_in_tests > 0
        if only_tests:
            skipped.update(self._skipped[True])
            tasks = self._draw(self._orders[True])
        if not tasks:
            built = [*self._sources.values()]
            raise NoTaskError(no_task(skipped, built), built)
        path = self._folder / "tasks" / TaskSet(FUNCTION.name, sampling.CONTEXT, sampling.TOKENIZER).task_file
        write_plain(path, dump_tasks(tasks))
        counted = None
        if self._request.resolve != "no":
            indexes = {name: self._indexes.get(name) for name in self._sources}
            used = resolve_uses(tasks, self._folder / TREE, indexes)
            write_plain(uses_file_of(path), dump_uses(tasks, used).encode())
            of_tasks = [*used.values()]
            counted = PackUses(tasks=sum(map(bool, of_tasks)), unread=of_tasks.count(None))
        level = PackLevel(
            tasks=len(tasks),
            candidates=self._candidates,
            left_out={reason: skipped[reason] for reason in LEFT_OUT}
            | ({} if self._request.ask_tests or only_tests else {OF_TESTS: self._candidates_in_tests}),
            uses=counted,
        )
        sources, others = [*self._sources.values()], len(self._sources) - 1
        name = self._request.name or sources[0].repository + (f"_and_{others}_more" if others else "")
        levels = {FUNCTION.name: level}
        seed = self._request.seed
        return write_pack(self._folder, name, sources, levels, hashes=self._hashes, beside=self._beside, seed=seed)

    def _draw(self, orders: Sequence[sampling.Order]) -> list[Task]:
        """The tasks, in the order in which they were drawn."""
        repositories = list(self._sources)
        distinct = sampling.Distinct()
        tasks: list[Task] = []
        for position, candidate in sampling.take_turns(orders):
            if len(tasks) == self._request.tasks:
                break
            file = _read(self._folder / TREE, repositories[position], candidate.path)
            if not distinct.admits(sampling.tokens_of(file.line_text(candidate.target_span))):
                self._skipped[False][NEAR_DUPLICATE] += 1
                continue
            shown = sampling.prompt_lines(file, candidate.target_span.start)
            task_id = f"{file.repo}/{len(tasks)}"
            tasks.append(sampling.make_task(file, candidate.target_span, shown, task_id=task_id, name=candidate.name))
        return tasks


@lru_cache(maxsize=64)
def _read(tree: Path, repo: str, path: str) -> SourceFile:
    """A file of a pack in the making; many candidates are in one, and a long file is not read for each of them."""
    return SourceFile(repo, path, decode((tree / repo / path).read_bytes()))


def no_task(skipped: Counter[str], sources: Sequence[PackSource]) -> str:
    """The sentence for sources without a task, by the functions that each rule left out."""
    counts = ", ".join(f"{number:,} {reason}" for reason, number in skipped.items() if number)
    built = sum(source.left_out.get(reason, 0) for source in sources for reason in ("generated", "minified"))
    languages = {language for source in sources for language in source.files}
    if not languages & LANGUAGES.keys():
        return (
            f"the sources give no task: functions to complete are made of ten languages, and this is "
            f"{', '.join(sorted(languages))}; only commits give queries (`data build --commits`)"
        )
    if not skipped.total():
        cause = "no function in them has a body"
    elif skipped.total() == skipped["short"] + skipped["long"]:
        cause = f"no function in them has {SHORTEST} to {LONGEST} non-blank lines to write ({counts})"
    else:
        cause = f"no function in them can be one; left out: {counts}"
    way_out = f"name a checkout of their sources ({count(built, 'built file')} left out)" if built else "name more code"
    return f"the sources give no task: {cause}; {way_out}"


def grammars_of(languages: Iterable[str]) -> dict[str, str]:
    """Language -> the package of its grammar, with its version; "no grammar" for one that is cut without."""
    known = {**LANGUAGES, **FURTHER}
    return {
        name: installed_version(known[name].package) if name in known and known[name].installed else "no grammar"
        for name in languages
    }


def installed_version(package: str) -> str:
    """`package version`, or `package` where it is not installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def benchmark_of(request: BuildRequest, folder: Path) -> str:
    """Return the request's source where it is a benchmark or a pack; else a pack of its code in `folder`, built now.

    Without `ask_tests` no task is of tests, unless only they have some. A pack of the same files and tasks under the
    same rules is the same folder, so that runs over it are found again.
    """
    (source,) = request.sources
    refuse_address(source)
    if is_benchmark(source):
        if request.extensions:
            raise only_of_code(source)
        return source
    return str(keep_pack(folder, lambda target: build_pack(request, target)))


def keep_pack(folder: Path, build: Callable[[Path], Pack]) -> Path:
    """Return the folder of what `build` writes, in `folder` under its name and its content's fingerprint."""
    with ExitStack() as stack:
        with os_errors_as(DatasetError, f"{folder} cannot be written", "name another folder with --out"):
            work = stack.enter_context(folder_beside(folder / "pack"))
        built = build(work / "pack")
        target = folder / f"{slug(built.content.name, 32)}-{_fingerprint(built)}"
        if not target.is_dir():
            built.root.rename(target)
    return target


def _fingerprint(pack: Pack) -> str:
    """Of the manifest, of all files by their hashes, and of the questions of commits, which files do not decide."""
    commits = pack.root / "tasks" / TABLE
    parts = [pack.root / MANIFEST, pack.root / TREE / HASHES, *([commits] if commits.is_file() else [])]
    return short_hash("".join(part.read_text("utf-8") for part in parts))
