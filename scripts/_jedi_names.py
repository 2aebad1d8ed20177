"""Resolve names by jedi, in a copy of the repository's files in a temporary folder: a reference for the resolver.

jedi reads code and runs none of it. It sees these files alone.
"""

import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.dataset.uses_table import ReadUses
from repoeval_bench.own.references.resolver import Resolver
from repoeval_bench.own.references.scip import DefinedAt


class _InOrder(frozenset[Any]):
    """A set that iterates in the order in which it was filled."""

    _order: tuple[Any, ...]

    def __new__(cls, values: Iterable[Any] = ()) -> Self:
        order = tuple(dict.fromkeys(values))
        ordered = super().__new__(cls, order)
        ordered._order = order
        return ordered

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __or__(self, others: Iterable[Any]) -> Self:
        return type(self)((*self, *others))

    def __and__(self, others: Iterable[Any]) -> Self:
        return type(self)(value for value in self if value in others)


def _keep_order() -> None:
    """Make jedi choose the same of several values each time, as for a base class that is imported conditionally."""
    # Its sets iterate by addresses in memory, so its choice depended on the process.
    from jedi.inference.base_value import ValueSet

    def fill(value_set: Any, values: Iterable[Any]) -> None:
        value_set._set = _InOrder(values)  # noqa: SLF001 - jedi has no option for it

    ValueSet.__init__ = fill
    ValueSet.from_sets = classmethod(lambda cls, sets: cls(value for values in sets for value in values))


class JediNames(ExitStack):
    """A resolver by jedi; use it as a context, at whose end the copy of the files is removed."""

    def __init__(self, files: Iterable[SourceFile], defined_at: DefinedAt) -> None:
        import jedi

        super().__init__()
        _keep_order()
        self._jedi = jedi
        self._files = {file.path: file for file in files if file.path.endswith(".py")}
        self._defined_at = defined_at
        self._scripts: dict[str, Any] = {}
        self._root = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="names-"))).resolve()
        for file in self._files.values():
            path = self._root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode("utf-8", "surrogatepass"))
        roots = [str(self._root), *(str(self._root / name) for name in ("src", "lib") if (self._root / name).is_dir())]
        self._inside = jedi.InterpreterEnvironment()
        self._project = jedi.Project(self._root, sys_path=roots, smart_sys_path=False)

    def resolve(self, path: str, line: int, column: int, target_span: LineSpan) -> tuple[CodeDefinition, ...]:
        """Return the definitions of the name at a line and column (0-based); none if jedi finds none in these files."""
        file = self._files.get(path)
        # A stub; or a file whose lines jedi, which splits at newlines, counts otherwise.
        if file is None or not file.plain:
            return ()
        script = self._scripts.get(path)
        if script is None:
            script = self._scripts[path] = self._jedi.Script(
                code=file.text, path=self._root / path, project=self._project, environment=self._inside
            )
        try:
            with warnings.catch_warnings():  # jedi warns of each extension module that it cannot import
                warnings.simplefilter("ignore")
                names = script.goto(line + 1, column, follow_imports=True)
        except Exception:  # noqa: BLE001 - jedi fails in many ways on code that it does not follow
            return ()
        results: dict[CodeDefinition, None] = {}
        for name in names:
            if name.module_path is None or name.line is None or not name.module_path.is_relative_to(self._root):
                continue
            file_name = name.module_path.relative_to(self._root).as_posix()
            if not self._files[file_name].plain:
                continue
            target = target_span if file_name == path else None
            definition = self._defined_at(file_name, name.line - 1, name.name, target)
            if definition is not None:
                results[definition] = None
        return tuple(results)


def resolve_tasks(
    tasks: Iterable[Task], files: Iterable[SourceFile], *, jedi: bool = True, scip: Path | None = None
) -> ReadUses:
    """Return the definitions of its files that tasks of one repository use, by a SCIP index, jedi, or else by name."""
    sources = tuple(files)
    resolver = Resolver(sources, scip=scip)
    with ExitStack() as stack:
        if jedi:
            resolver.analyses.append(stack.enter_context(JediNames(sources, resolver.defined_at)))
        return {task.task_id: resolver.uses(task.path, task.body) for task in tasks}
