"""Type the commands of a document again, and put what they print below them.

python scripts/refresh_console.py --source ../shared/repoeval [--check] [DOCUMENT]

A block of `console` has a line `$ command`, and what it writes to standard output. All commands of a document are run
in one new folder, with the chunker of the README's first Python block in `cutter.py`. With --check nothing is written,
and the first block that differs is an error.
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
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a block differs")
    asked = parser.parse_args()
    text = asked.document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = prepared(place, asked.source)
        typed = BLOCK.sub(lambda block: f"```console\n$ {block[1]}\n{printed(block[1], place, environment)}```", text)
    if not asked.check:
        asked.document.write_text(typed, encoding="utf-8")
    elif typed != text:
        pairs = zip(BLOCK.finditer(text), BLOCK.finditer(typed), strict=True)
        sys.exit(next(f"error: `{old[1]}` prints\n{new[2]}not\n{old[2]}" for old, new in pairs if old[2] != new[2]))


def prepared(place: Path, source: str) -> dict[str, str]:
    """The environment of the commands: this tree's `repoeval-bench`, the source, and the README's chunker."""
    (place / ".bin").mkdir()
    command = place / ".bin" / "repoeval-bench"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m repoeval_bench "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (cutter,) = re.findall(r"^```python\n(.*?# cutter\.py\n.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    (place / "cutter.py").write_text(cutter, encoding="utf-8")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "REPOEVAL_SOURCE": source, "PYTHONPATH": str(ROOT)}


def printed(command: str, place: Path, environment: dict[str, str]) -> str:
    """Return what the command writes to standard output, without blanks at line ends; it has to succeed."""
    shell = ["sh", "-c", command]
    done = subprocess.run(shell, cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: `{command}` ended with {done.returncode}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    main()
