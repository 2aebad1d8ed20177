"""The definitions of a repository that some of its lines use, and how sure each is.

A name is looked up in a SCIP index first, then by scope, imports and inferred types.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import TIERS, CodeDefinition, Tier, UsedDefinition
from repoeval_bench.own.references.by_name import ByName
from repoeval_bench.own.references.python_names import PythonNames
from repoeval_bench.own.references.scip import ScipNames


class Resolver:
    """The resolvers of one repository, in order of trust.

    `scip` is a SCIP index of these files, in any language. `analyses` are tried first for each name, in their order;
    they return definitions that `defined_at` knows.
    """

    def __init__(self, files: Iterable[SourceFile], *, scip: Path | None = None) -> None:
        sources = tuple(files)
        self._readers = PythonNames(sources), ByName(sources)
        self.analyses = [ScipNames(scip, sources, self.defined_at)] if scip else []

    def reader(self, path: str) -> PythonNames | ByName | None:
        """Return the reader of a file; None if its language is not known."""
        return next((reader for reader in self._readers if reader.knows(path)), None)

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition of this name that is bound on a line (0-based); none inside the target."""
        reader = self.reader(path)
        return reader.defined_at(path, line, name, target_span) if reader else None

    def uses(self, path: str, lines: LineSpan) -> tuple[UsedDefinition, ...] | None:
        """The definitions that these lines of a file use, ordered by place; None if the file cannot be read.

        The functions around the lines and what they define are left out, as they are being written.
        """
        reader = self.reader(path)
        try:
            names = reader.names_in(path, lines) if reader else None
        except RecursionError:  # the code is nested too deeply
            names = None
        if reader is None or names is None:
            return None
        around = reader.around(path, lines)
        tiers: dict[CodeDefinition, Tier] = {}
        for name in names:
            answers = (analysis.resolve(path, name.line, name.column, lines) for analysis in self.analyses)
            sure = next(filter(None, answers), ())
            tier: Tier = "resolved" if sure else "imported"
            for definition in sure or name.definitions:
                if definition not in around:
                    tiers[definition] = min(tier, tiers.get(definition, tier), key=TIERS.index)
        return tuple(UsedDefinition(definition, tiers[definition]) for definition in sorted(tiers))


def uses_of(files: Mapping[str, str], path: str, lines: LineSpan | tuple[int, int]) -> tuple[CodeDefinition, ...]:
    """Return the definitions of a repository that some lines of a file use, ordered by place; nothing is run.

    - `files` is path -> text of all its code, and of `go.mod`, `package.json` and `tsconfig.json`; paths have `/`
      between folders;
    - `path` is the file with the lines, by the ending of whose name the language is known;
    - `lines` are counted from 0, without the end: `LineSpan(4, 9)` or `(4, 9)` are lines 5 to 9 of an editor.

    Each has the path of its `file`, its `lines`, its `kind` and its `name`, which is qualified as in `Socket.close`.
    Its lines are those of its header and docstring, at most 12 that are not blank. A name counts if its scope, an
    import or a type leads to a definition. The functions around the lines, and what the lines define, are left out.

    UsageError: these are not lines of a file of a known language. DatasetError: that file is nested too deeply.
    """
    if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in files.values()):
        raise UsageError("files are a mapping of path to text; give read texts, not paths or bytes")
    sources = {name: SourceFile("", name, text) for name, text in files.items()}
    start, end = (lines.start, lines.end) if isinstance(lines, LineSpan) else lines
    if path not in sources or not 0 <= start < end <= sources[path].n_lines:
        raise UsageError(f"{path} with lines {start} to {end} is not in these files; name lines of one")
    lines = LineSpan(start, end)
    resolver = Resolver(sources.values())
    if resolver.reader(path) is None:
        raise UsageError(f"{path} is in no language that is read; name a file of code")
    used = resolver.uses(path, lines)
    if used is None:
        raise DatasetError(f"{path} cannot be read, as its code is nested too deeply; name lines of another file")
    return tuple(replace(use.definition, file=use.definition.file.removeprefix("/")) for use in used)
