"""Each form in which a language binds a name, as data: which definitions of the file the code around it uses.

A file of `binding_forms/` has the frames of a language, and under each frame the code to put into it, by the names that
this code uses. `CODE` is where the code stands in its frame.
"""

from pathlib import Path

import pytest
import yaml

from support.written import names, uses

FOLDER = Path(__file__).with_name("binding_forms")


def _cases():
    for file in sorted(FOLDER.glob("*.yaml")):
        for frame, content in yaml.safe_load(file.read_text("utf-8")).items():
            for expected, codes in content["cases"].items():
                for code in codes:
                    title = f"{file.stem} {frame} {expected}: {code}"
                    yield pytest.param(content["path"], content["frame"], code, expected, id=title)


@pytest.mark.parametrize(("path", "frame", "code", "expected"), list(_cases()))
def test_a_name_is_bound_by_its_nearest_form(path, frame, code, expected):
    before, after = frame.split("CODE")
    text = before + code.strip("\n") + after
    first = before.count("\n")
    last = first + code.strip("\n").count("\n") + 1
    used = {name.rpartition(".")[2] for name in names(uses({path: text}, path, first, last))}
    assert used == set(expected.split()) - {"nothing"}
