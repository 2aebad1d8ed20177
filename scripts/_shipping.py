"""Write the facts of a pack that ships: its files, the lines of its tasks, the definitions that they use."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repoeval_bench.core.benchmark import Task
from repoeval_bench.dataset.install import HASHES
from repoeval_bench.dataset.pack import MANIFEST, TREE, Pack, PackFile, PackSource, dump_manifest, write_plain
from repoeval_bench.dataset.repoeval import FUNCTION, parse_tasks
from repoeval_bench.dataset.shipped import FILES, HEADER, TASKS, USES, files_of, fingerprint_of, task_set_of_pack
from repoeval_bench.dataset.uses_table import dump_uses


def ship(pack: Pack, folder: Path, facts: Sequence[Mapping[str, Any]]) -> PackFile:
    """Write the facts of a pack's function tasks to a folder, with `facts` on each source; return its manifest."""
    installed = pack.installed(task_set_of_pack(pack.content))
    tasks = parse_tasks(installed.task_file.read_bytes(), name=installed.task_file.name, level=FUNCTION.name)
    names = sorted(line.partition("  ")[2] for line in (pack.root / TREE / HASHES).read_text("utf-8").splitlines())
    uses = installed.read_uses(tasks) or {}
    sources = []
    for source, more in zip(pack.content.sources, facts, strict=True):
        digest = fingerprint_of(tasks, files_of(pack.root, source.repository), source.repository)
        own = sum(task.repo == source.repository for task in tasks)
        sources.append(PackSource(**source.model_dump() | dict(more) | {"tasks": own, "fingerprint": digest}))
    content = pack.content.model_copy(update={"sources": sources})
    write_plain(folder / FILES, pack_table("\n".join(["file", *names]) + "\n"))
    write_plain(folder / TASKS, pack_table("\n".join([HEADER, *map(_place, tasks)]) + "\n"))
    write_plain(folder / USES, pack_table(dump_uses(tasks, uses)))
    write_plain(folder / MANIFEST, dump_manifest(content))
    return content


def pack_table(text: str) -> bytes:
    """Return a compressed table; the same text gives the same bytes."""
    return gzip.compress(text.encode(), mtime=0)


def _place(task: Task) -> str:
    row = (task.task_id, task.path, task.context_start, task.body.start, task.body.end, task.function_name or "")
    return "\t".join(map(str, row))
