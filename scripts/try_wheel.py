"""Build the wheel, install it with each Python outside the checkout, and run it there.

python scripts/try_wheel.py [--extra all] [--wheel FILE] [PYTHON ...]

Each Python gets a new environment, which is removed afterwards. Versions are those of constraints.txt. The base wheel
ranks the package's own functions by BM25; with an extra that has models, vectors rank them too. A row for each Python
has the MB (10^6 bytes) that pip added to the new environment, and their bytecode (uv makes none). Beside them are the
time, how much of it was processor time, and what failed.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

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
            error, added = tried(python, wheel, options.extra)
            failed |= bool(error)
            extra = f"[{options.extra}]" if options.extra else "base"
            print(f"{python}: {extra}{added}: {error or 'runs'}", flush=True)
    sys.exit(1 if failed else 0)


def build(folder: Path) -> Path:
    """Build the wheel of this checkout, and return its path."""
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(python: str, wheel: Path, extra: str) -> tuple[str, str]:
    """Install the wheel and run it; return what failed, and how much pip added in which time ("" for none)."""
    added = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bin_folder = folder / "env" / "bin"
        tool = bin_folder / "repoeval-bench"
        pip = [str(bin_folder / "python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
        # torch is installed first and alone, so that a CPU build from the index stays.
        torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
        code = ROOT / "repoeval_bench" / "metrics"
        evaluate = [str(tool), "eval", "-c", "ast", "-c", "fixed", "--protocol", "docstring", "--source", str(code)]
        installing = [
            *([[*pip, torch]] if extra in MODELS else []),
            [*pip, f"{wheel}[{extra}]" if extra else str(wheel)],
        ]
        trying = [
            [str(tool), "--version"],
            [str(tool), "list", "chunkers"],
            [*evaluate, "--retriever", "bm25"],
            *([evaluate] if extra in MODELS else []),
        ]
        try:
            run([python, "-m", "venv", str(folder / "env")], folder)
            empty, started, before = sizes(folder), perf_counter(), processor_time()
            for step in installing:
                run(step, folder)
            took = f"{perf_counter() - started:.0f} s ({processor_time() - before:.0f} s of them computing)"
            files, bytecode = (now - then for now, then in zip(sizes(folder), empty, strict=True))
            added = f" adds {files:,.0f} MB and {bytecode:,.0f} MB of bytecode in {took}"
            for step in trying:
                run(step, folder)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
            return f"`{' '.join(error.cmd[:6])} …` ended with {error.returncode}: {''.join(last)}", added
        return "", added


def run(command: list[str], folder: Path) -> None:
    """Run a command in a folder outside the checkout; a CalledProcessError if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "REPOEVAL_SOURCE"}}
    environment |= {"REPOEVAL_HOME": str(folder / "home"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)


def processor_time() -> float:
    """Return the seconds of processor time of finished children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sizes(folder: Path) -> tuple[float, float]:
    """Return the MB of an environment: files without bytecode, and bytecode."""
    results = {False: 0, True: 0}
    for path in (folder / "env").rglob("*"):
        if path.is_file() and not path.is_symlink():
            results[path.suffix == ".pyc"] += path.stat().st_size
    return results[False] / 1e6, results[True] / 1e6


if __name__ == "__main__":
    main()
