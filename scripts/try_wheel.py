"""Build the wheel from the source archive, install it with each Python outside the checkout, and run it there.

python scripts/try_wheel.py [--extra all] [--wheel FILE] [PYTHON ...]

Each Python gets a new environment, which is removed afterwards. Versions are those of constraints.txt. The base wheel
ranks the package's own functions by BM25; with an extra that has models, vectors rank them too.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODELS = {"all", "usual", "dense"}
"""Extras with the bundled model."""


def main() -> None:
    """Try every Python; exit 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--extra", default="", help="install this extra of the wheel too")
    parser.add_argument("--wheel", type=Path, help="try this wheel instead of building one")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel.resolve() if options.wheel else build(Path(folder))
        for python in options.pythons:
            error = tried(python, wheel, options.extra)
            failed |= bool(error)
            print(f"{python}: {f'[{options.extra}]' if options.extra else 'base'}: {error or 'runs'}", flush=True)
    sys.exit(1 if failed else 0)


def build(folder: Path) -> Path:
    """Build the source archive of this checkout, and the wheel from that as a release does; return the wheel's path."""
    python = str(folder / "tools" / "bin" / "python")
    run([sys.executable, "-m", "venv", str(folder / "tools")], folder)
    run([python, "-m", "pip", "install", "-q", "build"], folder)
    run([python, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)], folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def tried(python: str, wheel: Path, extra: str) -> str:
    """Install the wheel and run it; return what failed, "" for nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tool, own = (str(folder / "env" / "bin" / program) for program in ("repoeval-bench", "python"))
        pip = [own, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
        # torch is installed first and alone, so that a CPU build from the index stays.
        torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
        code = str(ROOT / "repoeval_bench" / "metrics")
        evaluate = [tool, "eval", "-c", "ast", "-c", "fixed", "--protocol", "docstring", "--source", code]
        steps = [
            [python, "-m", "venv", str(folder / "env")],
            *([[*pip, torch]] if extra in MODELS else []),
            [*pip, f"{wheel}[{extra}]" if extra else str(wheel)],
            [tool, "--version"],
            [tool, "list", "chunkers"],
            [*evaluate, "--retriever", "bm25"],
            *([evaluate] if extra in MODELS else []),
        ]
        try:
            for step in steps:
                run(step, folder)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
            return f"`{' '.join(error.cmd[:6])} …` ended with {error.returncode}: {''.join(last)}"
        return ""


def run(command: list[str], folder: Path) -> None:
    """Run a command in a folder outside the checkout; a CalledProcessError if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "REPOEVAL_SOURCE"}}
    environment |= {"REPOEVAL_HOME": str(folder / "home"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)


if __name__ == "__main__":
    main()
