"""Put the current output of the README's command into the block that follows it, without the paths at its end.

python scripts/refresh_readme.py --source ../shared/repoeval
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
TYPED = 'make compare CHUNKER="fixed ast chonkie"'
COMMAND = ("compare", "-c", "fixed", "-c", "ast", "-c", "chonkie")
"""What the README says to type, and the arguments that make passes on."""


def main() -> None:
    """Run it, with cached vectors, and rewrite the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto", help="where the full data is")
    source = parser.parse_args().source
    readme = README.read_text(encoding="utf-8")
    block = re.compile(rf"(`{re.escape(TYPED)}`.*?^```\n).*?(^```$)", flags=re.MULTILINE | re.DOTALL)
    if not block.search(readme):
        sys.exit(f"error: {README} has no block below `{TYPED}`")
    with tempfile.TemporaryDirectory() as out:
        answer, _, _ = printed(*COMMAND, "--source", source, "--out", out).rpartition("\n\nstored in ")
    readme = block.sub(lambda found: f"{found[1]}{answer}\n{found[2]}", readme, count=1)
    README.write_text(readme, encoding="utf-8")


def printed(*arguments: str) -> str:
    """What the command writes to standard output; its progress goes to this process's standard error."""
    command = [sys.executable, "-m", "repoeval_bench", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    main()
