"""Put the current output of the README's commands into its two table blocks.

python scripts/refresh_readme.py --source ../shared/repoeval

Only lines that the README already shows are replaced, so it may quote a part of what a command prints.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"^```\n((?:repoeval-function|ast:max_nws).*?)^```", flags=re.MULTILINE | re.DOTALL)
COMMANDS = (("eval", "-c", "ast"), ("compare", "-c", "fixed", "-c", "ast", "-c", "chonkie"))


def main() -> None:
    """Run both commands, with cached vectors, and rewrite the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the full data is")
    source = parser.parse_args().source
    readme = README.read_text(encoding="utf-8")
    shown = BLOCK.findall(readme)
    if len(shown) != len(COMMANDS):
        sys.exit(f"error: {README} shows {len(shown)} tables, not {len(COMMANDS)}")
    with tempfile.TemporaryDirectory() as out:
        for block, command in zip(shown, COMMANDS, strict=True):
            readme = readme.replace(block, refreshed(block, printed(*command, "--source", source, "--out", out)))
    README.write_text(readme, encoding="utf-8")


def printed(*arguments: str) -> str:
    """What the command writes to standard output; its progress goes to this process's standard error."""
    command = [sys.executable, "-m", "repoeval_bench", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def refreshed(block: str, output: str) -> str:
    """The block with each line replaced by the printed one that begins in the same way, paragraph by paragraph."""
    rest = output.rstrip().split("\n\n")
    paragraphs = []
    for paragraph in block.rstrip().split("\n\n"):
        while rest and beginning(rest[0]) != beginning(paragraph):
            rest.pop(0)
        if not rest:
            sys.exit(f"error: no command prints a paragraph that begins {paragraph.splitlines()[0]!r}; edit {README}")
        now = {label(line): line for line in rest.pop(0).strip("\n").splitlines()}
        missing = [line for line in paragraph.splitlines() if label(line) not in now]
        if missing:
            sys.exit(f"error: no command prints a line that begins like {missing[0]!r}; edit {README}")
        paragraphs.append("\n".join(now[label(line)] for line in paragraph.splitlines()))
    return "\n\n".join(paragraphs) + "\n"


def label(line: str) -> str:
    """What a line is about: its first cell, or its words where it has no cells."""
    cell, *others = re.split(r"\s{2,}", line.strip())
    return cell.strip("─") if others or set(cell) == {"─"} else " ".join(beginning(line))


def beginning(paragraph: str) -> list[str]:
    """The words of its first line without digits: they stay when figures change."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "", paragraph.strip("\n").partition("\n")[0]).split()


if __name__ == "__main__":
    main()
