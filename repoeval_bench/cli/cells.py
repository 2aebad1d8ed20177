"""Reading the cells of a sensitivity grid, for whoever draws them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

CELL = {"a", "b", "sizes", "protocol", "retriever", "measure", "difference", "interval", "verdict"}
"""What each cell of a sensitivity grid holds at least."""


def read_cells(path: Path) -> list[dict[str, Any]]:
    """The cells that `sensitivity --json` or its --output wrote; a UsageError where the file holds none."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--sensitivity {path} cannot be read ({error}); give what sensitivity --json prints"
        ) from error
    if not isinstance(cells, list) or not all(isinstance(cell, dict) and cell.keys() >= CELL for cell in cells):
        raise UsageError(f"--sensitivity {path} holds no grid of cells; give what sensitivity --json prints")
    if not cells:
        raise UsageError(f"--sensitivity {path} holds a grid without a cell; give one that sensitivity has filled")
    return cells
