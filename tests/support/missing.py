"""Skip, with the reason, what needs a library that is not installed: in an environment of the base alone that is much."""

import re
from collections.abc import Generator
from importlib.util import find_spec
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

_NAMED = re.compile(r"No module named '([\w.]+)'|\bneeds ([\w ,]+); run ")
"""What Python and `core/extras.py` say of a library that is missing."""


def missing_library(text: str) -> str | None:
    """Return the first library that a failure names as missing and that is not installed; one that is hidden is."""
    for match in _NAMED.finditer(text):
        for name in re.split(r"[ ,]+|\band\b", match[1] or match[2]):
            module = name.partition(".")[0]
            if module and not _installed(module):
                return module
    return None


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a test hides it
        return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that failed for want of a library."""
    report = yield
    return _skipped(report, str(item.path), item.location[1] or 0)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that imports a library that is not there."""
    report = yield
    return _skipped(report, str(collector.path), 0)


def _skipped(report: Report, path: str, line: int) -> Report:
    if report.failed and (library := missing_library(str(report.longrepr))):
        report.outcome = "skipped"
        report.longrepr = (path, line, f"Skipped: {library} is not installed")
    return report
