"""Run the commands of a document again, and write their output below them.

python scripts/refresh_console.py --source ../shared/repoeval [--check] [DOCUMENT]

A block of `console` has a line `$ command`, and its standard output. All commands of a document are run in one new
folder, with the chunker of the README's first Python block in `cutter.py`. With --check nothing is written, and the
first block that differs is an error.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", flags=re.MULTILINE)


def main() -> None:
    """Run the commands in order, and rewrite or check the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="?", type=Path, default=ROOT / "docs" / "first-ten-minutes.md")
    parser.add_argument("--source", default="auto", help="where the full data is")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a block differs")
    options = parser.parse_args()
    text = options.document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = prepared(folder, options.source)
        refreshed = BLOCK.sub(
            lambda block: f"```console\n$ {block[1]}\n{printed(block[1], folder, environment)}```", text
        )
    if not options.check:
        options.document.write_text(refreshed, encoding="utf-8")
    elif refreshed != text:
        pairs = zip(BLOCK.finditer(text), BLOCK.finditer(refreshed), strict=True)
        sys.exit(next(f"error: `{old[1]}` prints\n{new[2]}not\n{old[2]}" for old, new in pairs if old[2] != new[2]))


def prepared(folder: Path, source: str) -> dict[str, str]:
    """Return the environment of the commands: this tree's `repoeval-bench`, the source, and the README's chunker."""
    (folder / ".bin").mkdir()
    command = folder / ".bin" / "repoeval-bench"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m repoeval_bench "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
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


if __name__ == "__main__":
    main()
