"""Naming a chunker: every way to do it, and one clear sentence for every way to get it wrong."""

import pickle
import shutil
import sys
from pathlib import Path

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.cli.listing import explanation
from repoeval_bench.core.errors import ChunkError, SpecError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spec import Spec
from repoeval_bench.retrieval.corpus import build_corpus
from support.cases import cases
from support.leaves import of_leaves

REFUSED = cases(__file__)
LAZY = pytest.mark.skipif(sys.version_info < (3, 14), reason="a Python before 3.14 evaluates annotations at once")
SOURCE = SourceFile("repo", "a.py", "import os\n\n\ndef f():\n    return os\n")


def test_the_spec_prints_every_parameter_given_or_not() -> None:
    assert make_chunker("ast:max_nws=800").spec == "ast:max_nws=800,min_nws=50,overlap=0,language=auto"
    assert make_chunker(Spec.parse("fixed")).spec == "fixed:max_nws=1500,offset=0"


@pytest.mark.parametrize(("spec", "parts"), of_leaves(*REFUSED.items()))
def test_what_cannot_be_is_refused_in_one_sentence(spec: str, parts: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        make_chunker(spec)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """A module of a plug-in author, importable for one test."""
    name = "cutters_of_a_plug_in.py"
    shutil.copy(Path(__file__).with_name(f"{name}.txt"), tmp_path / name)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "py:cutters_of_a_plug_in"
    sys.modules.pop("cutters_of_a_plug_in", None)


@pytest.mark.parametrize("at", [2, 5])
@pytest.mark.parametrize("name", ["Halves", "Called", "halving"])
def test_what_has_chunk_is_called_or_makes_it_is_built_with_typed_options(plug_in: str, name: str, at: int) -> None:
    """A class with `chunk`, one whose objects are called, and a function; the spec is ours, and has the default."""
    chunker = make_chunker(f"{plug_in}:{name}" + (f":at={at}" if at != 2 else ""))
    assert chunker.spec == f"{plug_in}:{name}:at={at}"
    assert [chunk.text for chunk in chunker.chunk(SOURCE)] == [SOURCE.text[:at], SOURCE.text[at:]]


@pytest.mark.parametrize("quote", ['"', pytest.param("", marks=LAZY)])
def test_a_function_of_a_file_is_a_chunker_and_its_other_parameters_are_options(
    plug_in: str, tmp_path: Path, quote: str
) -> None:
    """Also where annotations name what only a type checker imports."""
    module = tmp_path / "cutters_of_a_plug_in.py"
    module.write_text(
        module.read_text("utf-8").replace('"NotImported | None"', f"{quote}NotImported | None{quote}"), "utf-8"
    )
    chunker = make_chunker(f"{plug_in}:first:n=2")
    assert chunker.spec == f"{plug_in}:first:n=2"
    assert [chunk.text for chunk in chunker.chunk(SOURCE)] == [SOURCE.text[:2]]
    assert pickle.loads(pickle.dumps(chunker)).spec == chunker.spec
    with pytest.raises(SpecError, match="n=two is not possible; a whole number"):
        make_chunker(f"{plug_in}:first:n=two")
    assert explanation("chunkers", f"{plug_in}:first").startswith(f"chunker {plug_in}:first: The first `n` characters")


@pytest.mark.parametrize("name", ["Strings", "Backwards", "Liar", "Broken", "Late", "NoList"])
def test_a_plug_in_that_breaks_the_contract_stops_with_the_file_and_its_name(plug_in: str, name: str) -> None:
    with pytest.raises(ChunkError) as caught:
        build_corpus({"repo": [SOURCE]}, make_chunker(f"{plug_in}:{name}"))
    message = str(caught.value)
    assert "repo/a.py" in message
    assert name in message
    assert "\n" not in message
