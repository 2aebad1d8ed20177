"""A folder of code whose files are called as modules of Python and of libraries, and a command in it."""

from pathlib import Path

from support.command import Result, python

NAMES = ("pickle", "multiprocessing", "re", "threading", "types", "signal", "numpy", "pydantic", "tqdm", "pip")


def compare_in_planted_folder(folder: Path, executor: str) -> tuple[Result, str]:
    """Compare two chunkers of the current folder; return the result, and the names of its files that ran."""
    code, ran, tool = folder / "code", folder / "ran", folder / "tool" / "tool.py"
    for parent in (code, tool.parent):
        parent.mkdir()
    for name in NAMES:
        functions = "".join(
            f'def {name}_{i}(a):\n    """Return the {i}th part of a {name} of this folder."""\n    return a\n\n\n'
            for i in range(3)
        )
        (code / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\n{functions}")
    # As the installed command does: a script whose own folder is on the path.
    tool.write_text("from repoeval_bench.cli import main\n\nif __name__ == '__main__':\n    main()\n")
    words = ("compare", "-c", "fixed", "-c", "ast", "--protocol", "docstring", "--retriever", "bm25", "--source", ".")
    done = python(tool, *words, "--executor", executor, "--out", "../runs", "--home", folder, cwd=code)
    return done, ran.read_text() if ran.exists() else ""
