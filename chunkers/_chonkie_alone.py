"""Import chonkie for the workers' server, without the client of a model server that it imports where it is installed.

`openai` takes five times as long to import as all of chonkie, whose chunkers that ask a model are not offered. Only the
server does this: in other processes other people's code may need that client through chonkie.
"""

from __future__ import annotations

import sys
from contextlib import suppress

_CLIENT = "openai"

_is_blocked = _CLIENT not in sys.modules
if _is_blocked:
    sys.modules[_CLIENT] = None  # type: ignore[assignment] # an import of it is an ImportError, as where it is missing
try:
    with suppress(ImportError):
        import chonkie  # noqa: F401
finally:
    if _is_blocked:
        del sys.modules[_CLIENT]
