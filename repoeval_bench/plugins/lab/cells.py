"""Scores of a grid's cells on disk: each is computed once, and a killed grid goes on where it stopped.

One file per arm (a chunker over one data set, with one model), a line per cell, appended as they are computed. What
another version of the code wrote is not read: the file's name is the hash of everything that decides a value. A line is
the hash of a JSON object and the object; one that has changed since it was written is not read either.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from repoeval_bench.core.errors import ResultError, os_errors_as
from repoeval_bench.core.spec import short_hash
from repoeval_bench.runs.provenance import code_state, versions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from repoeval_bench.runs.results import Results


FORMAT = 2
"""Increased when stored cells must not be read again, even if the code that wrote them seems unchanged."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting: a protocol with its choices (as its name prints them), a retriever and a measure."""

    protocol: str
    retriever: str
    measure: str


@dataclass(frozen=True, slots=True)
class Scores:
    """A chunker's values in one cell, with the files and repositories that they belong to; float64 (n_queries,)."""

    values: NDArray[np.float64]
    repos: tuple[str, ...]
    files: tuple[str, ...]
    headline: Literal["micro", "macro"]

    def mean(self) -> float:
        """The protocol's headline mean: over queries, or over repositories."""
        if self.headline == "micro":
            return float(self.values.mean())
        by_repo: dict[str, list[float]] = defaultdict(list)
        for repo, value in zip(self.repos, self.values.tolist(), strict=True):
            by_repo[repo].append(value)
        return sum(sum(each) / len(each) for each in by_repo.values()) / len(by_repo)


class CellFile:
    """The cells of one arm; `identity` is everything beside the code that decides their values, as plain values.

    They are kept below `name`, in the folder of the results and in their store. Without `keeps` nothing is read or
    written: they are of code that may change while its name stays.
    """

    def __init__(self, results: Results, name: str, identity: Mapping[str, Any], *, keeps: bool = True) -> None:
        state = code_state()
        # Files that differ from the commit are not a version, so what they computed is not kept.
        self._keeps = keeps and not state.dirty
        key = json.dumps([FORMAT, identity, state.as_json(), versions()], sort_keys=True, ensure_ascii=False)
        self._name, self._results = f"{name}-{short_hash(key, 16)}.cells", results
        self.path = results.out / self._name
        self._values = self._read() if self._keeps else {}

    def get(self, cell: Cell) -> NDArray[np.float64] | None:
        """The cell's values in the order of the tasks, float64 (n_queries,); None where it was not computed yet."""
        return self._values.get(cell)

    def add(self, values: Mapping[Cell, NDArray[np.float64]]) -> None:
        """Store cells in one write, so that a killed grid loses only the work in progress."""
        self._values.update(values)
        if not self._keeps or not values:
            return
        rows = [
            {"protocol": cell.protocol, "retriever": cell.retriever, "measure": cell.measure, "values": column.tolist()}
            for cell, column in values.items()
        ]
        lines = "".join(f"{short_hash(text, 16)} {text}\n" for text in map(json.dumps, rows))
        # An object of its own: nobody's cells are replaced.
        self._results.write_object(f"{self._name}/{short_hash(lines, 32)}", lines.encode())
        with os_errors_as(ResultError, f"{self.path} cannot be written", "choose another folder with --out"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                # A line that a killed grid left half-written ends here, and is skipped when the file is read.
                stream.write(f"\n{lines}")

    def _read(self) -> dict[Cell, NDArray[np.float64]]:
        found: dict[Cell, NDArray[np.float64]] = {}
        with os_errors_as(ResultError, f"{self.path} cannot be read", "choose another folder with --out"):
            text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        text = "\n".join([text, *(cells.decode("utf-8", "replace") for cells in self._results.objects(self._name))])
        for line in filter(None, text.split("\n")):
            seal, _, content = line.partition(" ")
            if seal != short_hash(content, 16):
                continue  # a killed grid's last line, or a damaged one; its cells are computed again
            row = json.loads(content)
            found[Cell(row["protocol"], row["retriever"], row["measure"])] = np.array(row["values"], dtype=np.float64)
        return found
