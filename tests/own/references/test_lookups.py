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


def _cases():
    for name in sorted(file.stem for file in FOLDER.glob("*.yaml")):
        for title, theme in lookups(name).items():
            for case, content in theme.get("cases", {}).items():
                yield pytest.param(*_framed(theme, *content), id=f"{name} {title}: {case}")
            for case, content in theme.get("each", {}).items():
                yield pytest.param(*_whole(theme, content), id=f"{name} {title}: {case}")


@pytest.mark.parametrize(("files", "path", "lines", "expected"), list(_cases()))
def test_what_names_mean(files, path, lines, expected):
    """A name that is written with a file is compared with it, or with file and line; a type of Rust is no `impl`."""
    result = uses(files, path, *lines)
    assert result is not None
    if ":" in expected:
        places = {f"{use.definition.file[2:]}:{use.definition.name}": use.definition.lines for use in result}
        at = {f"{name}@{lines.start + 1}" for name, lines in places.items()}
        assert (at if "@" in expected else {*places}) == set(expected.split())
        lines_of = {use.definition: files[use.definition.file[2:]].splitlines() for use in result}
        assert not any(
            definition.kind == "class" and texts[definition.lines.start].startswith("impl")
            for definition, texts in lines_of.items()
        )
    else:
        assert names(result) == set(expected.split())
