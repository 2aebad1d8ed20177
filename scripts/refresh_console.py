"""Run the commands of docs/first-ten-minutes.md, or of the README, again, and write their output below them.

python scripts/refresh_console.py --source ../shared/repoeval [--check] [--poetry CLONE]

A block of `console` has a line `$ command`, and its standard output. All commands are run in one new folder, with the
chunker of the README's first Python block in `cutter.py`. With --check nothing is written, and a difference is an
error. With --poetry the README is written instead, by a clone of python-poetry/poetry at the commit that
it names: below a command of `SHOWN` it has the first lines of the output, as many as it had.
"""

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL, README = ROOT / "docs" / "first-ten-minutes.md", ROOT / "README.md"
BLOCK = re.compile(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", flags=re.MULTILINE)
RECOMMEND = "recommend poetry --for search --retriever bm25 --current langchain:chunk_size=4000,chunk_overlap=200"
SHOWN = {
    f"repoeval-bench {RECOMMEND}": f"repoeval-bench {RECOMMEND}",
    'make compare CHUNKER="fixed ast chonkie"': "repoeval-bench compare -c fixed -c ast -c chonkie",
}
"""Command that the README shows -> what is run."""


def main() -> None:
    """Run the commands in order, and rewrite or check a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the full data is")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a block differs")
    parser.add_argument("--poetry", type=Path, metavar="CLONE", help="write the README instead")
    options = parser.parse_args()
    document = README if options.poetry else TUTORIAL
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = prepared(folder, options.source)
        if options.poetry:
            (folder / "poetry").symlink_to(options.poetry.resolve())
            refreshed = first_lines(text, folder, environment)
        else:
            refreshed = BLOCK.sub(
                lambda block: f"```console\n$ {block[1]}\n{printed(block[1], folder, environment)}```", text
            )
    if not options.check:
        document.write_text(refreshed, encoding="utf-8")
    elif refreshed != text:
        sys.exit("\n".join(difflib.unified_diff(text.splitlines(), refreshed.splitlines(), lineterm="")))


def prepared(folder: Path, source: str) -> dict[str, str]:
    """Return the environment of the commands: this tree's `repoeval-bench`, the source, and the README's chunker."""
    (folder / ".bin").mkdir()
    command = folder / ".bin" / "repoeval-bench"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m repoeval_bench "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    readme = README.read_text(encoding="utf-8")
    (cutter,) = re.findall(r"^```python\n(.*?# cutter\.py\n.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    (folder / "cutter.py").write_text(cutter, encoding="utf-8")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "REPOEVAL_SOURCE": source, "PYTHONPATH": str(ROOT)}


def printed(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Return the standard output of a command that has to succeed, without blanks at line ends."""
    shell = ["sh", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: `{command}` ended with {done.returncode}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def first_lines(readme: str, folder: Path, environment: dict[str, str]) -> str:
    """Return the README with new lines below each command of `SHOWN`."""
    for typed, command in SHOWN.items():
        block = re.compile(rf"(`{re.escape(typed)}`.*?^```\n)(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
        head, old = block.search(readme).groups()
        lines = printed(command, folder, environment).splitlines(keepends=True)[: old.count("\n")]
        readme = readme.replace(head + old, head + "".join(lines), 1)
    return readme


if __name__ == "__main__":
    main()
