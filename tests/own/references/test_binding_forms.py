"""Each form in which a language binds a name, as data: which definitions of the file the code around it uses.

A file of `binding_forms/` has the frames of a language, and under each frame the code to put into it, by the names that
this code uses. `CODE` is where the code stands in its frame.
"""

from pathlib import Path

import pytest

from support.cases import read_yaml
from support.written import names, uses

FOLDER = Path(__file__).with_name("binding_forms")


def _frames():
    for file in sorted(FOLDER.glob("*.yaml")):
        for frame, content in read_yaml(file).items():
            yield pytest.param(content, id=f"{file.stem} {frame}")


@pytest.mark.parametrize("content", list(_frames()))
def test_a_name_is_bound_by_its_nearest_form(content):
    path, (before, after) = content["path"], content["frame"].split("CODE")
    first, wrong = before.count("\n"), {}
    for expected, codes in content["cases"].items():
        for code in codes:
            text = before + code.strip("\n") + after
            used = names(uses({path: text}, path, first, first + code.strip("\n").count("\n") + 1))
            bound = {name.rpartition(".")[2] for name in used}
            if bound != set(expected.split()) - {"nothing"}:
                wrong[code] = (expected, bound)
    assert wrong == {}
