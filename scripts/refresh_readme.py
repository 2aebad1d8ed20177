"""Write the first lines that the README's commands print into the blocks that follow them.

python scripts/refresh_readme.py --source ../shared/repoeval --checkout poetry

`--checkout` is a clone of python-poetry/poetry at the commit that the README names; its folder is called `poetry`.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
CURRENT = "langchain:chunk_size=4000,chunk_overlap=200"
RECOMMEND = ("--for", "search", "--retriever", "bm25", "--current", CURRENT)
COMPARE = ("compare", "-c", "fixed", "-c", "ast", "-c", "chonkie")
BLOCKS = {
    f"repoeval-bench recommend poetry {' '.join(RECOMMEND)}": (RECOMMEND, 8),
    'make compare CHUNKER="fixed ast chonkie"': (COMPARE, 3),
}
"""Command of the README -> (its arguments, the number of lines that are shown)."""


def main() -> None:
    """Run the commands, with cached vectors, and rewrite the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the full data is")
    parser.add_argument("--checkout", type=Path, required=True, help="a clone of poetry at the README's commit")
    options = parser.parse_args()
    readme = README.read_text(encoding="utf-8")
    for typed, (command, n_lines) in BLOCKS.items():
        block = re.compile(rf"(`{re.escape(typed)}`.*?^```\n).*?(^```$)", flags=re.MULTILINE | re.DOTALL)
        if not block.search(readme):
            sys.exit(f"error: {README} has no block below `{typed}`")
        words = ("recommend", str(options.checkout), *command)
        if command is COMPARE:
            words = (*command, "--source", options.source)
        with tempfile.TemporaryDirectory() as out:
            answer = "\n".join(printed(*words, "--out", out).splitlines()[:n_lines]).rstrip()
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
