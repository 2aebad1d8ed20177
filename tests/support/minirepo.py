"""A data set in upstream's exact format, small and written for the tests: two repositories, a few tasks.

`build_mirror(folder)` makes a folder that `--source` takes. Its `repoeval.json` names it `mini`,
so that it can never pass for RepoEval; `manifest=False` leaves that out (then it must be refused).
"""

import ast
import json
import zipfile
from pathlib import Path

from support.cases import read_yaml

REPOSITORIES: dict[str, dict[str, str]] = read_yaml(Path(__file__).with_suffix(".yaml"))
"""Repository -> path -> text (LF). The archives hold acme_inventory with CRLF ends, as upstream mostly does."""

WRAP = REPOSITORIES["northwind_textkit"]["textkit/wrap.py"]
LICENCE = "MIT License\n\nCopyright (c) the authors of the tests\n"

CONTEXTS = {
    "function": ("2k_context_codex", "4k_context_codex"),
    "line": ("1k_context_codegen", "2k_context_codegen", "2k_context_codex", "4k_context_codex"),
    "api": ("1k_context_codegen", "2k_context_codegen", "2k_context_codex", "4k_context_codex"),
}

_API = ("self.items.get(", "shelf.put(", "amount.quantize(", "discount(count)", "words(query)", "vocabulary.update(")


def rows(level: str = "function") -> list[dict[str, object]]:
    """The task rows of a level, as upstream writes them."""
    results: list[dict[str, object]] = []
    for repo, files in REPOSITORIES.items():
        for path, text in files.items():
            lines = text.splitlines(keepends=True)
            for start, end, name in _holes(level, text, lines):
                number = sum(1 for row in results if row["metadata"]["fpath_tuple"][0] == repo)  # type: ignore[index]
                results.append(_row(level, repo, path, lines, start, end, name, number))
    return results


def _holes(level: str, text: str, lines: list[str]) -> list[tuple[int, int, str | None]]:
    """(first line, end line, function name) of what is to be written, 0-based and half-open."""
    if level == "function":
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        return [(_body_start(node), node.end_lineno or 0, node.name) for node in functions]
    if level == "api":
        return [(n, n + 1, None) for n, line in enumerate(lines) if any(call in line for call in _API)]
    return [(n, n + 1, None) for n, line in enumerate(lines) if line.startswith("        ") and n % 3 == 0]


def _body_start(node: ast.FunctionDef) -> int:
    """0-based line after the signature and the docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return body[0].lineno - 1


def _row(
    level: str, repo: str, path: str, lines: list[str], start: int, end: int, name: str | None, number: int
) -> dict[str, object]:
    owner, _, project = repo.partition("_")
    metadata: dict[str, object] = {
        "task_id": f"{owner}--{project}/idx" if level == "function" else f"{repo}/{number}",
        "ground_truth": "".join(lines[start:end]),
        "fpath_tuple": [repo, *path.split("/")],
        "context_start_lineno": 0,
    }
    if level == "function":
        metadata |= {"lineno": start, "function_name": name}
    else:
        metadata["ground_truth"] = str(metadata["ground_truth"]).removesuffix("\n")
        metadata["line_no"] = start
    return {"prompt": "".join(lines[:start]).removesuffix("\n"), "metadata": metadata}


def jsonl(task_rows: list[dict[str, object]], end: str = "\r\n") -> bytes:
    """Rows as a task file; CRLF as upstream."""
    return "".join(json.dumps(row) + end for row in task_rows).encode()


def tree_name(level: str) -> str:
    """The archive's name without `.zip`."""
    return "function_level" if level == "function" else "line_and_api_level"


def tree_files() -> dict[str, bytes]:
    """The archive's content by name; the first repository with CRLF ends, one file of it with a BOM."""
    files: dict[str, bytes] = {}
    for repo, texts in REPOSITORIES.items():
        files[f"{repo}/LICENSE"] = LICENCE.encode()
        for path, text in texts.items():
            raw = text.encode()
            files[f"{repo}/{path}"] = raw.replace(b"\n", b"\r\n") if repo == "acme_inventory" else raw
    files["acme_inventory/inventory/stock.py"] = b"\xef\xbb\xbf" + files["acme_inventory/inventory/stock.py"]
    return files


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    """An archive with fixed dates, so that the same content gives the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def build_mirror(
    folder: Path,
    level: str = "function",
    *,
    manifest: bool = True,
    task_rows: list[dict[str, object]] | None = None,
    files: dict[str, bytes] | None = None,
) -> Path:
    """Write `datasets.zip`, the level's tree and `repoeval.json` into a folder; the folder.

    `task_rows` and `files` replace the rows and the tree's content.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw = jsonl(rows(level) if task_rows is None else task_rows)
    names = [f"{level}_level_completion_{context}.test.jsonl" for context in CONTEXTS[level]]
    write_zip(folder / "datasets.zip", dict.fromkeys(names, raw))
    write_zip(folder / f"{tree_name(level)}.zip", tree_files() if files is None else files)
    if manifest:
        (folder / "repoeval.json").write_text('{"name": "mini"}')
    return folder
