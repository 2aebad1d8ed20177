"""A pytest plug-in that measures the processor time of each test, its child processes included, its fixtures not.

`--slowest=FILE` writes the 50 tests that took most, and `--cpu-limit=SECONDS` fails the session if a test without a
mark of the long tier took more. Seconds of the processor, because seconds of the clock depend on what else runs.
"""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

LONG_TIER = ("slow", "network", "full_data")
ROWS = 50


def processor_seconds() -> float:
    """Return the seconds that this process and the children it has waited for have computed so far."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure a test without its fixtures: those that many tests share would count for whichever comes first."""
    started = processor_seconds()
    try:
        return (yield)
    finally:
        marked = any(item.get_closest_marker(mark) for mark in LONG_TIER)
        item.user_properties.append(("processor", (processor_seconds() - started, marked)))


class Totals:
    """The seconds of all tests of a session, and what is done with them at its end."""

    def __init__(self, slowest: str | None, limit: float | None) -> None:
        self.slowest = slowest
        self.limit = limit
        self.seconds: dict[str, tuple[float, bool]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the seconds of a test that ran; xdist has carried them to the process that sums up."""
        measured = dict(report.user_properties).get("processor")
        if report.when == "call" and measured:
            self.seconds[report.nodeid] = measured

    def too_slow(self) -> list[str]:
        """Return a line for each unmarked test above the limit."""
        return [
            f"{name} took {seconds:.1f} s of the processor; the limit of a test without a mark is {self.limit:g} s"
            for name, (seconds, marked) in self.seconds.items()
            if self.limit is not None and not marked and seconds > self.limit
        ]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the table, and fail a session that is green otherwise."""
        if self.slowest:
            order = sorted(self.seconds.items(), key=lambda pair: -pair[1][0])
            total = sum(seconds for seconds, _ in self.seconds.values())
            lines = [f"{total:.1f} s of the processor in {len(order)} tests; the {ROWS} that took most:"]
            lines += [
                f"{seconds:7.2f} {'long ' if marked else '     '}{name}" for name, (seconds, marked) in order[:ROWS]
            ]
            target = Path(self.slowest)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines) + "\n", "utf-8")
        if self.too_slow() and session.exitstatus == 0:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests above the limit."""
        for line in self.too_slow():
            terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the two options."""
    group = parser.getgroup("processor time")
    group.addoption("--slowest", metavar="FILE", help="write the 50 tests that took most processor time")
    group.addoption("--cpu-limit", metavar="SECONDS", type=float, help="fail if an unmarked test took more")


def pytest_configure(config: pytest.Config) -> None:
    """Sum up in one process: without xdist this one, with it the one that hands out tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Totals(config.getoption("--slowest"), config.getoption("--cpu-limit")))
