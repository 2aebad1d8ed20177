"""The jobs of a command as one HTML page that needs no network: where each ran, how long, which failed and why.

Names and reasons are untrusted; the template escapes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.words import count
from repoeval_bench.report.html.assets import environment, script, style
from repoeval_bench.report.text import printable
from repoeval_bench.runs.jobs import AGAIN, Done, JobLog

if TYPE_CHECKING:
    _Processes = Mapping[tuple[str, int], Sequence[Done]]
    """(machine, process) -> its jobs, in the order of their begin."""

SCRIPTS = ("tables.js", "ready.js")

MOST_DRAWN = 64
"""Processes that are drawn; all of them are in the table."""

WIDTH, LINE = 1000, 16
"""Of the drawing: its width, and the height of a process."""

STYLE = f"""
svg.times {{ width: 100%; display: block; }}
svg.times rect {{ fill: var(--series-0); stroke: var(--bg); stroke-width: .5; }}
svg.times rect.failed {{ fill: var(--series-1); }}
svg.times text {{ fill: var(--soft); font-size: {LINE - 6}px; }}
td.failed {{ color: var(--cut); }}
"""


def job_page(log: JobLog) -> str:
    """The page; the same jobs give the same bytes. Jobs that did not come back are counted."""
    code, digest = script(SCRIPTS)
    done = [job for job in log.done if job.finished.process]
    processes: dict[tuple[str, int], list[Done]] = defaultdict(list)
    for job in sorted(done, key=lambda job: job.finished.begun):
        processes[job.finished.node, job.finished.process].append(job)
    return (
        environment()
        .get_template("jobs.html")
        .render(
            title="Jobs",
            unit=log.unit,
            summary=_summary(log, processes),
            drawing=_drawing(log, processes) if processes else None,
            processes=[_process(log, *job) for job in processes.items()],
            failures=[
                {
                    "name": printable(job.job.name),
                    "reason": printable(job.finished.error or ""),
                    "line": None if job.job.line == AGAIN else printable(job.job.line),
                }
                for job in log.failures
            ],
            jobs=[_job(log, job) for job in log.done],
            style=style(STYLE),
            script=code,
            script_hash=digest,
        )
    )


def _summary(log: JobLog, processes: _Processes) -> str:
    begun = datetime.fromtimestamp(log.begun, UTC).strftime("%Y-%m-%d %H:%M UTC")
    machines = len({node for node, _ in processes})
    texts = sum(job.finished.texts for job in log.done)
    missing = log.total - len(log.done)
    parts = [
        f"Begun {begun}: {len(log.done):,} of {log.total:,} {log.unit} came back, within {duration(log.seconds)} "
        f"after the first was handed out, from {count(len(processes), 'process')} on "
        f"{count(machines, 'machine')}.",
        f"{len(log.failures):,} failed; {texts:,} texts were embedded.",
    ]
    if unknowing := [job for job in log.done if job.finished.skipped]:
        parts.append(f"{len(unknowing):,} left out, not knowing a language of the data.")
    if missing:
        parts.append(f"{missing:,} did not come back before the command ended; the same command goes on with them.")
    return " ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as people say them: 4.2 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _drawing(log: JobLog, processes: _Processes) -> dict[str, Any]:
    """A bar for each job, in a line for each process; the widths are seconds."""
    first = min(job.finished.begun for jobs in processes.values() for job in jobs)
    last = max(job.finished.begun + job.finished.seconds for jobs in processes.values() for job in jobs)
    scale = WIDTH / max(last - first, 1e-9)
    bars = [
        {
            "x": round((job.finished.begun - first) * scale, 2),
            "y": LINE * line + 1,
            "width": round(max(job.finished.seconds * scale, 0.5), 2),
            "failed": job.finished.failed,
            "title": f"{printable(job.job.name)}: {duration(job.finished.seconds)}",
        }
        for line, jobs in enumerate(list(processes.values())[:MOST_DRAWN])
        for job in jobs
    ]
    drawn = min(len(processes), MOST_DRAWN)
    more = f"The first {MOST_DRAWN} of {len(processes)} processes are drawn. " if drawn < len(processes) else ""
    return {
        "bars": bars,
        "width": WIDTH,
        "height": LINE * drawn,
        "bar": LINE - 2,
        "note": f"{more}A line for each process, in the order of the table below; a bar for each of its "
        f"{log.unit}. From left to right {duration(last - first)}, from the first one's begin to the last one's end by "
        "the machines' own clocks. Failed ones are orange.",
    }


def _process(log: JobLog, where: tuple[str, int], jobs: Sequence[Done]) -> dict[str, Any]:
    seconds = sum(job.finished.seconds for job in jobs)
    return {
        "node": printable(where[0]),
        "process": where[1],
        "jobs": len(jobs),
        "failed": sum(job.finished.failed for job in jobs),
        "seconds": seconds,
        "share": min(1.0, seconds / log.seconds) if log.seconds else None,
        "texts": sum(job.finished.texts for job in jobs),
        "mebibytes": max(job.finished.peak_bytes for job in jobs) / 2**20,
    }


def _job(log: JobLog, done: Done) -> dict[str, Any]:
    finished = done.finished
    return {
        "parts": [printable(part) for part in done.job.parts],
        "made": printable(finished.result) if isinstance(finished.result, str) else "",
        "node": printable(finished.node),
        "process": finished.process,
        "begun": max(0.0, finished.begun - log.begun),
        "seconds": finished.seconds,
        "texts": finished.texts,
        "failed": finished.failed,
        "left_out": finished.skipped,
    }
