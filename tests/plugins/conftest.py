"""The fixtures of other rooms that tests of leaves use too."""

from end_to_end.conftest import evaluate, site, warm_home
from runs.conftest import clean, places

__all__ = ["clean", "evaluate", "places", "site", "warm_home"]
