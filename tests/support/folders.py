"""The content of the files of a results folder."""

import json
from pathlib import Path


def content(out: Path) -> dict[str, object]:
    """Run id/file -> what it holds, times apart. What a killed process had begun is hidden and left out."""
    results: dict[str, object] = {}
    for path in sorted(out.glob("[!.]*/*")):
        name = f"{path.parent.name}/{path.name}"
        if path.name == "manifest.json":
            results[name] = {key: value for key, value in json.loads(path.read_text()).items() if key != "created"}
        elif path.name != "timings.jsonl":
            results[name] = path.read_bytes()
    return results
