"""scipy's functions of distributions, without the rest of `scipy.special`: it takes six times as long to import."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from repoeval_bench.core.alone import alone

USED = ("betaincinv", "chdtri", "ndtri", "stdtrit")


@cache
def special() -> Any:
    """Return a module of scipy that has the functions `USED` of `scipy.special`, over numpy's arrays.

    Where they are is scipy's own business: if they are not where 1.17 has them, `scipy.special` is imported.
    """
    try:
        with alone("scipy.special._ufuncs") as functions:
            if all(hasattr(functions, name) for name in USED):
                return functions
    except ImportError:
        pass
    return import_module("scipy.special")
