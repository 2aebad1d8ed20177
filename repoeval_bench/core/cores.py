"""The number of cores that this process may use."""

import os


def usable_cores() -> int:
    """The cores that this process may run on, at least 1; all of the machine where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
