"""The number of cores that this process may use."""

import os


def usable_cores() -> int:
    """The number of cores that this process may run on, at least 1; all cores if the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
