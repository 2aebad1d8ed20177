"""Write the current output of the README's commands into the blocks that follow them, without its last part.

python scripts/refresh_readme.py --source ../shared/repoeval
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
RECOMMEND = ("recommend", "pypi:requests==2.32.3", "--retriever", "bm25")
COMPARE = ("compare", "-c", "fixed", "-c", "ast", "-c", "chonkie")
BLOCKS = {
    "pypi:requests==2.32.3 --retriever bm25": (RECOMMEND, "\n\npack-"),
    'make compare CHUNKER="fixed ast chonkie"': (COMPARE, "\n\nstored in "),
}
"""Command of the README -> (its arguments, the beginning of the part that is left out)."""


def main() -> None:
    """Run the commands, with cached vectors, and rewrite the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the full data is")
    source = parser.parse_args().source
    readme = README.read_text(encoding="utf-8")
    for typed, (command, rest) in BLOCKS.items():
        block = re.compile(rf"(`{re.escape(typed)}`.*?^```\n).*?(^```$)", flags=re.MULTILINE | re.DOTALL)
        if not block.search(readme):
            sys.exit(f"error: {README} has no block below `{typed}`")
        data = ("--source", source) if command is COMPARE else ()
        with tempfile.TemporaryDirectory() as out:
            answer, _, _ = printed(*command, *data, "--out", out).rpartition(rest)
        readme = block.sub(lambda match, answer=answer: f"{match[1]}{answer}\n{match[2]}", readme, count=1)
    README.write_text(readme, encoding="utf-8")


def printed(*arguments: str) -> str:
    """Return the standard output of a command; its progress goes to this process's standard error."""
    command = [sys.executable, "-m", "repoeval_bench", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    main()
