"""Import one module of a large package, without what the packages around it import when they are run.

One chunker of LlamaIndex or chonkie needs a fifth of its package, scipy's special functions a sixth. The other parts
(query engines, clients of model servers) take seconds. A skipped package runs as soon as somebody uses a name of it or
imports another of its modules, so nothing is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from types import ModuleType


class _Package(ModuleType):
    """A package that runs when a name is requested that it does not have yet; it has no `__path__` before."""

    def __getattr__(self, name: str) -> object:
        outer = sys.modules.get(self.__name__.rpartition(".")[0])
        _ = outer and outer.__path__  # the package around it runs first, as in every import
        if type(self) is _Package:
            _open(self)
            self.__class__ = ModuleType  # type: ignore[assignment] # a package of the usual kind from here on
            assert self.__spec__ is not None
            assert self.__spec__.loader is not None
            self.__spec__.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def alone(name: str) -> Iterator[ModuleType]:
    """Import a module, and do not run the packages around it in the block. An ImportError where it is not there."""
    *names, _ = accumulate(name.split("."), "{}.{}".format)
    try:
        for package in names:
            if package not in sys.modules and (spec := find_spec(package)):
                module = sys.modules[package] = module_from_spec(spec)
                module.__class__ = _Package
                outer, _, inner = package.rpartition(".")
                if outer:
                    setattr(sys.modules[outer], inner, module)
            elif isinstance(known := sys.modules.get(package), _Package):
                _open(known)
        yield import_module(name)
    finally:
        for package in names:
            if isinstance(known := sys.modules.get(package), _Package):
                vars(known).pop("__path__", None)


def _open(package: _Package) -> None:
    """Let the modules of a package be found without running it."""
    assert package.__spec__ is not None
    vars(package)["__path__"] = package.__spec__.submodule_search_locations
