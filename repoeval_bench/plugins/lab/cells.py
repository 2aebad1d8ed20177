"""A cache of a sensitivity grid's cells: a chunker is scored once, and a killed grid goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.core.errors import ResultError, os_errors_as
from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.registry import is_outside
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.plugins.lab.grid import Cell, Grid, Scores
from repoeval_bench.runs.parts import CELLS
from repoeval_bench.runs.provenance import code_state, versions

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Chunker
    from repoeval_bench.runs.results import Results

FORMAT = 3
"""Increased when stored cells must not be read again, even if the code that wrote them seems unchanged."""


class CellCache:
    """A grid's scores on disk: a file for each chunker, read again only by exactly the code that wrote it.

    A file's first word is the hash of the rest: one that was damaged is computed again. Where results
    are shared, the files are too.
    """

    def __init__(self, grid: Grid, results: Results) -> None:
        self._grid, self._results, self._state = grid, results, code_state()

    def get(self, chunker: Chunker) -> dict[Cell, Scores] | None:
        """Return the scores of a chunker in every cell; None where they are not known."""
        if not self._keeps(chunker):
            return None
        name = self._name(chunker)
        path, texts = self._results.out / name, []
        with os_errors_as(ResultError, f"{path} cannot be read", "choose another folder with --out"):
            if path.exists():
                texts = [path.read_bytes()]
        for text in (*texts, *self._results.objects(name)):
            seal, _, content = text.decode("utf-8", "replace").partition(" ")
            if seal == short_hash(content, 16):
                return self._grid.with_tasks({Cell(*cell): np.array(values) for cell, values in json.loads(content)})
        return None

    def put(self, chunker: Chunker, scores: Mapping[Cell, Scores]) -> None:
        """Store the scores of a chunker, in one step."""
        if not self._keeps(chunker):
            return
        content = json.dumps([[[*asdict(cell).values()], of.values.tolist()] for cell, of in scores.items()])
        name, text = self._name(chunker), f"{short_hash(content, 16)} {content}"
        self._results.write_object(f"{name}/{short_hash(text, 32)}", text.encode())
        path = self._results.out / name
        with os_errors_as(ResultError, f"{path} cannot be written", "choose another folder with --out"):
            write_atomic(path, text)

    def _keeps(self, chunker: Chunker) -> bool:
        """Tell whether code decides the scores that keeps its version: it is committed, and it is ours."""
        retrievers = self._grid.parts.retrievers
        ours = not is_outside("chunker", chunker.spec) and not any(is_outside("retriever", r.spec) for r in retrievers)
        return ours and not self._state.dirty

    def _name(self, chunker: Chunker) -> str:
        known = [FORMAT, chunker.spec, self._grid.identity(), self._state.as_json(), versions()]
        key = short_hash(json.dumps(known, sort_keys=True, ensure_ascii=False), 16)
        return f"{CELLS}/{self._grid.benchmark.fingerprint}/{slug(chunker.spec)}-{key}.cells"
