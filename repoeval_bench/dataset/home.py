"""The folder of all data that is fetched or computed once (data sets, models, vectors), and files that ship."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path | None:
    """A file or folder of data that ships: of an installed wheel, else of the checkout; None where there is none."""
    checkout = _PACKAGE.parent / "data"
    candidates = (_PACKAGE / "_data" / name, checkout / name, checkout / "index" / name)
    return next((location for location in candidates if location.exists()), None)


def data_home(home: Path | None = None) -> Path:
    """The folder of all data: `home`, else $REPOEVAL_HOME, else a checkout's `data/cache`, else the user's cache."""
    if home is not None:
        return home.expanduser().absolute()
    if named := os.environ.get("REPOEVAL_HOME"):
        return Path(named).expanduser().absolute()
    checkout = _PACKAGE.parent
    if (checkout / "Makefile").is_file() and (checkout / "data" / "index").is_dir():
        return checkout / "data" / "cache"
    import platformdirs

    return platformdirs.user_cache_path("repoeval-bench")
