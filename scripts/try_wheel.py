"""Build the wheel, install it with each Python outside the checkout, and run it there.

python scripts/try_wheel.py [--extra all] [PYTHON ...]

Each environment is a new one and is removed. Versions are those of constraints.txt. The base wheel ranks the package's
own functions by BM25; with an extra that has models, vectors rank them too. Prints a row for each Python: what was
installed, how large it is, how long that took, and what failed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
MODELS = {"all", "usual", "dense"}
"""Extras with the bundled model."""


def main() -> None:
    """Try every Python; exit 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--extra", default="", help="install this extra of the wheel too")
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        for python in asked.pythons:
            started = perf_counter()
            error, size = tried(python, wheel, asked.extra)
            failed |= bool(error)
            extra = f"[{asked.extra}]" if asked.extra else "base"
            print(f"{python}: {extra} {size:,} MiB, {perf_counter() - started:.0f} s: {error or 'runs'}", flush=True)
    sys.exit(1 if failed else 0)


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(python: str, wheel: Path, extra: str) -> tuple[str, int]:
    """(what failed, else nothing; MiB of the environment)."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tool = place / "env" / "bin" / "repoeval-bench"
        pip = [str(place / "env" / "bin" / "python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
        # torch first and alone, so that a CPU build from the index is kept.
        torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
        code = ROOT / "repoeval_bench" / "metrics"
        evaluate = [str(tool), "eval", "-c", "ast", "-c", "fixed", "--protocol", "docstring", "--source", str(code)]
        steps = [
            [python, "-m", "venv", str(place / "env")],
            *([[*pip, torch]] if extra in MODELS else []),
            [*pip, f"{wheel}[{extra}]" if extra else str(wheel)],
            [str(tool), "--version"],
            [str(tool), "list", "chunkers"],
            [*evaluate, "--retriever", "bm25"],
            *([evaluate] if extra in MODELS else []),
        ]
        for step in steps:
            try:
                run(step, place)
            except subprocess.CalledProcessError as error:
                last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
                return f"`{' '.join(step[:6])} …` ended with {error.returncode}: {''.join(last)}", size(place)
        return "", size(place)


def run(command: list[str], place: Path) -> None:
    """Run a command away from the checkout; a CalledProcessError where it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "REPOEVAL_SOURCE"}}
    environment |= {"REPOEVAL_HOME": str(place / "home"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)


def size(place: Path) -> int:
    """MiB of an environment."""
    return sum(path.stat().st_size for path in (place / "env").rglob("*") if path.is_file()) // 2**20


if __name__ == "__main__":
    main()
