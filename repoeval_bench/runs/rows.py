"""The scores of every query as plain rows, and as a data frame of the library that is at hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from repoeval_bench.core.extras import require


class QueryRows(list[dict[str, Any]]):
    """A dict for each query: query_id, repo, path, n_relevant, then every measure and fact by its name."""

    def to_pandas(self) -> Any:
        """A pandas frame with a row for each query; a UsageError where pandas is not installed."""
        return _library("pandas").DataFrame(list(self))

    def to_polars(self) -> Any:
        """A polars frame with a row for each query; a UsageError where polars is not installed."""
        return _library("polars").DataFrame(list(self), infer_schema_length=None)


def _library(name: str) -> Any:
    require("a data frame", name)
    return import_module(name)
