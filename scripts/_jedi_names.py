"""Names resolved by jedi, in a copy of the repository's files in a temporary folder: a reference for the resolver.

jedi reads code and runs none of it. It sees these files alone.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.dataset.build.uses import TaskUses
from repoeval_bench.references.resolver import Resolver

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.references.definitions import Definitions


class _InOrder(frozenset[Any]):
    """A set that is gone through in the order in which it was filled."""

    _order: tuple[Any, ...]

    def __new__(cls, values: Iterable[Any] = ()) -> Self:
        order = tuple(dict.fromkeys(values))
        made = super().__new__(cls, order)
        made._order = order
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __or__(self, others: Iterable[Any]) -> _InOrder:
        return _InOrder((*self, *others))

    def __and__(self, others: Iterable[Any]) -> _InOrder:
        return _InOrder(value for value in self if value in others)


def _keep_order() -> None:
    """Let jedi take the same of several values each time, such as of a base class that conditions import.

    Its sets go by addresses in memory, so it took another one in each process.
    """
    from jedi.inference.base_value import ValueSet

    def filled(values: Any, given: Iterable[Any]) -> None:
        values._set = _InOrder(given)  # noqa: SLF001 - jedi has no option for it

    ValueSet.__init__ = filled
    ValueSet.from_sets = classmethod(lambda cls, sets: cls(value for each in sets for value in each))


class JediNames(ExitStack):
    """Use as a context: the copy lives as long."""

    def __init__(self, files: Iterable[SourceFile], definitions: Definitions) -> None:
        import jedi

        super().__init__()
        _keep_order()
        self._jedi = jedi
        self._files = {file.path: file for file in files if file.path.endswith(".py")}
        self._definitions = definitions
        self._scripts: dict[str, Any] = {}
        self._root = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="names-"))).resolve()
        for file in self._files.values():
            path = self._root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode("utf-8", "surrogatepass"))
        roots = [str(self._root), *(str(self._root / each) for each in ("src", "lib") if (self._root / each).is_dir())]
        self._inside = jedi.InterpreterEnvironment()
        self._project = jedi.Project(self._root, sys_path=roots, smart_sys_path=False)

    def resolve(self, path: str, line: int, column: int, target_span: LineSpan) -> tuple[CodeDefinition, ...]:
        """The definitions that the name at a place (0-based) means; none where jedi finds none in these files."""
        file = self._files.get(path)
        if file is None or not file.plain:  # a stub; or jedi, which counts newlines alone, has other lines
            return ()
        script = self._scripts.get(path)
        if script is None:
            script = self._scripts[path] = self._jedi.Script(
                code=file.text, path=self._root / path, project=self._project, environment=self._inside
            )
        try:
            with warnings.catch_warnings():  # it says of each extension module that it cannot be imported from nowhere
                warnings.simplefilter("ignore")
                names = script.goto(line + 1, column, follow_imports=True)
        except Exception:  # noqa: BLE001 - jedi fails in many ways on code that it does not follow; others then answer
            return ()
        found: dict[CodeDefinition, None] = {}
        for name in names:
            if name.module_path is None or name.line is None or not name.module_path.is_relative_to(self._root):
                continue
            at = name.module_path.relative_to(self._root).as_posix()
            if not self._files[at].plain:
                continue
            definition = self._definitions.defined_at(at, name.line - 1, name.name, target_span if at == path else None)
            if definition is not None:
                found[definition] = None
        return tuple(found)


def resolve_tasks(
    tasks: Iterable[Task], files: Iterable[SourceFile], *, jedi: bool = True, scip: Path | None = None
) -> TaskUses:
    """What tasks of one repository use of its files, asking a SCIP index and jedi before the resolver by name."""
    found, kept = TaskUses(), tuple(files)
    with Resolver(kept, scip=scip) as resolver:
        if jedi:
            resolver.analyses.append(resolver.enter_context(JediNames(kept, resolver.definitions)))
        found.add(tasks, resolver)
    return found
