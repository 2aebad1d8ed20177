"""scipy's functions of distributions, without the rest of `scipy.special`: it takes six times as long to import."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from repoeval_bench.core.alone import alone


def special() -> Any:
    """Return the module of scipy that has the functions of `scipy.special` over numpy's arrays.

    Its name is scipy's own business: where a version has no such module, all of `scipy.special` is imported.
    """
    try:
        with alone("scipy.special._ufuncs") as functions:
            return functions
    except ImportError:
        return import_module("scipy.special")
