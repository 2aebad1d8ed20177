"""Import one module of a large package, without running the packages around it.

One chunker of LlamaIndex or chonkie needs a fifth of its package, scipy's special functions a sixth. The other parts
(query engines, clients of model servers) take seconds. A skipped package is imported as soon as code reads a name of it
or imports another of its modules. Until then only `dir` and `vars` list less.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from threading import Lock
from types import ModuleType

_LOCK = Lock()


class _Skipped(ModuleType):
    """Stands in `sys.modules` for a package that was not run; reading a name that it lacks imports the package."""

    def __getattr__(self, name: str) -> object:
        with _LOCK:  # one of two threads removes it; the import below makes the other wait
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        package = import_module(self.__name__)
        for inner in [*vars(self)]:
            if module := sys.modules.get(f"{self.__name__}.{inner}"):
                vars(package).setdefault(inner, module)
        return getattr(package, name)


@contextmanager
def alone(name: str) -> Iterator[ModuleType]:
    """Import a module without running the packages around it in the block; ImportError if it does not exist."""
    *names, _ = accumulate(name.split("."), "{}.{}".format)
    try:
        for package in names:
            if package not in sys.modules and (spec := find_spec(package)):
                skipped = module_from_spec(spec)
                skipped.__class__ = _Skipped
                outer, _, inner = package.rpartition(".")
                current = sys.modules.setdefault(package, skipped)  # another thread may have imported it by now
                if outer:
                    setattr(sys.modules[outer], inner, current)
            if isinstance(known := sys.modules.get(package), _Skipped):
                assert known.__spec__ is not None
                # With a path, Python finds its modules without running it.
                vars(known)["__path__"] = known.__spec__.submodule_search_locations
        yield import_module(name)
    finally:
        for package in names:
            if isinstance(known := sys.modules.get(package), _Skipped):
                vars(known).pop("__path__", None)
