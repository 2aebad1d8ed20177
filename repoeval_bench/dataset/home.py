"""Where everything is kept that is fetched or computed once: data sets, models, vectors."""

from __future__ import annotations

import os
from pathlib import Path


def data_home(home: Path | None = None) -> Path:
    """The folder of all data: `home`, else $REPOEVAL_HOME, else a checkout's `data/cache`, else the user's cache."""
    if home is not None:
        return home.expanduser().absolute()
    if named := os.environ.get("REPOEVAL_HOME"):
        return Path(named).expanduser().absolute()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "Makefile").is_file() and (checkout / "data" / "index").is_dir():
        return checkout / "data" / "cache"
    import platformdirs

    return platformdirs.user_cache_path("repoeval-bench")
