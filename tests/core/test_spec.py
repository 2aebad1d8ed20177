"""The one grammar for naming parts."""

import pytest

from repoeval_bench.core.errors import SpecError, nearest
from repoeval_bench.core.files import slug
from repoeval_bench.core.spec import Spec
from support.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("text", "name", "target", "params"), CASES["printed"])
def test_specs_parse_and_print_back(text, name, target, params):
    """Every way to name a part parses into name, target and options, and prints back as it was written."""
    spec = Spec.parse(text)
    assert (spec.name, spec.target, spec.params) == (name, target, params)
    assert str(spec) == text


SEVERAL = "'ast, fixed' names several; give ast alone, and repeat an option that takes more, such as -c"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "spec") for text in ("", ":x=1", "ast:x=", "ast:=3", "ast:x=1,x=2", "ast:a=1,b", "exec:", "py:m")),
        ("ast, fixed", SEVERAL),  # parts that other tools separate by commas
    ],
)
def test_broken_specs_are_refused_by_name(text, says):
    with pytest.raises(SpecError, match=says):
        Spec.parse(text)


def test_nearest_name_is_offered():
    """An unknown name is reported with the nearest one, and with all choices only if none is near."""
    sentence = nearest("chunker", "asst", ["ast", "fixed", "chonkie"])
    assert sentence == "unknown chunker 'asst'; did you mean 'ast'?"
    assert nearest("chunker", "zzzz", ["fixed", "ast"]) == "unknown chunker 'zzzz'; choose from ast, fixed"
    assert nearest("name", "nDGC", ["ndcg", "MODEL"]) == "unknown name 'nDGC'; did you mean 'ndcg'?"
    assert nearest("name", "modle", ["ndcg", "MODEL"]) == "unknown name 'modle'; did you mean 'MODEL'?"


def test_slug_is_a_file_name():
    assert slug("exec:node ../x/chunk.js --a") == "exec-node-..-x-chunk.js-a"
    assert slug("../etc") == "etc"
    assert len(slug("x" * 500)) <= 48
