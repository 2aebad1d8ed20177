"""Parts from outside: the module of docs/api.md, importable, and a package that is installed by a folder."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def module_of_the_docs(folder: Path, name: str = "mine") -> Path:
    """The block of docs/api.md that begins with `# mine.py` as a module in `folder`."""
    (code,) = re.findall(r"```python\n(# mine\.py\n.*?)```", (DOCS / "api.md").read_text("utf-8"), re.DOTALL)
    (folder / f"{name}.py").write_text(code, "utf-8")
    return folder


def install(folder: Path, package: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Return what pip leaves of an installed package: its metadata, with entry points by group."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in points.items())
        for group, points in entry_points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), "utf-8")
