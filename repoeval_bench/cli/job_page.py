"""`--job-page FILE`: a page on the jobs of a command, written when it ends, also when it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.cli.options import say
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import check_writable, write_named
from repoeval_bench.runs.execution import untold

if TYPE_CHECKING:
    from repoeval_bench.runs.execution_request import ExecutionRequest
    from repoeval_bench.runs.jobs import JobLog


def page_of(execution: ExecutionRequest) -> Callable[[JobLog], None]:
    """What writes the page that is asked for; nothing where none is."""
    if execution.job_page is None:
        return untold
    output = Path(execution.job_page)
    require("--job-page", "jinja2")
    check_writable(output, "another file with --job-page")

    def write(log: JobLog) -> None:
        from repoeval_bench.report.page.jobs import job_page

        write_named(output, job_page(log), "another file with --job-page")
        say(f"wrote {output}")

    return write
