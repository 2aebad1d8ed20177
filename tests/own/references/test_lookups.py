"""What the names on some lines mean, as data: a small repository, the lines, and the definitions that they use.

A file of `lookups/` has themes, with files of their own. A theme puts each of its `cases` where its `frame` says CODE:
the code, the names that it uses, and what is to be imported before (HEAD). Or it has whole repositories, under `each`:
comments with HOLE end the lines that are looked at.
"""

from pathlib import Path

import pytest

from support.written import lookups, names, uses

FOLDER = Path(__file__).with_name("lookups")


def _framed(theme, code, expected, head=""):
    before, after = theme["frame"].replace("HEAD\n", head).split("CODE")
    indented = code.replace("\n", "\n" + before.rpartition("\n")[2])
    first, last = before.count("\n"), before.count("\n") + code.count("\n") + 1
    return {**theme["files"], theme["path"]: before + indented + after}, theme["path"], (first, last), expected


def _whole(theme, case):
    files = theme["files"] | case["files"]
    path, text = next((path, text) for path, text in files.items() if "HOLE" in text)
    marked = [number for number, line in enumerate(text.splitlines()) if "HOLE" in line]
    return files, path, (marked[0], marked[-1] + 1), case["uses"]


def _themes():
    for name in sorted(file.stem for file in FOLDER.glob("*.yaml")):
        for title, theme in lookups(name).items():
            yield pytest.param(theme, id=f"{name} {title}")


@pytest.mark.parametrize("theme", list(_themes()))
def test_what_names_mean(theme):
    framed = {case: _framed(theme, *content) for case, content in theme.get("cases", {}).items()}
    whole = {case: _whole(theme, content) for case, content in theme.get("each", {}).items()}
    results = {case: _found(*given) for case, given in (framed | whole).items()}
    assert {case: got for case, (got, expected) in results.items() if got != expected} == {}


def _found(files, path, lines, expected):
    """The definitions that are used, and those that are expected, in the form in which these are written."""
    used = uses(files, path, *lines)
    if ":" not in expected:
        return names(used), set(expected.split())
    assert used is not None
    places = {f"{use.definition.file[2:]}:{use.definition.name}": use.definition for use in used}
    for definition in places.values():
        first = files[definition.file[2:]].splitlines()[definition.lines.start]
        assert not (definition.kind == "class" and first.startswith("impl")), "a type of Rust is no `impl`"
    at = {f"{name}@{definition.lines.start + 1}" for name, definition in places.items()}
    return at if "@" in expected else {*places}, set(expected.split())
