"""scipy's functions of distributions, without the rest of `scipy.special`: it takes six times as long to import."""

from __future__ import annotations

from typing import Any

from repoeval_bench.core.alone import alone


def special() -> Any:
    """Return the module of scipy that has the functions of `scipy.special` over numpy's arrays."""
    with alone("scipy.special._ufuncs") as functions:
        return functions
