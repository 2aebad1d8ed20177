"""One registry for parts of all kinds: built in, `py:module:Name`, and entry points of other packages."""

import sys
from itertools import count

import pytest

from repoeval_bench.core.errors import SpecError, UsageError
from repoeval_bench.core.spec import Spec
from repoeval_bench.metrics.measure import Measure
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.parts import kinds
from support.cases import cases
from support.command import python
from support.plug_ins import install, module_of_the_docs

CASES = cases(__file__)

NAMES = count()

KINDS = kinds()

OUTSIDE = {"embedder": "Letters", "retriever": "Words", "reranker": "Cosine", "protocol": "short"}
OUTSIDE["measure"] = "found_at"
"""kind -> what the module of the docs has of it."""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module with a part of each kind, importable for one test."""
    name = f"parts_from_outside_{next(NAMES)}"
    monkeypatch.syspath_prepend(str(module_of_the_docs(tmp_path, name)))
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def package(module, tmp_path):
    """The same module as an installed package; one part of each kind, and one that cannot be imported."""
    points = {
        KINDS[kind].group: {f"{kind}_from_outside": f"{module}:{name}", "broken": "no_such_module:X"}
        for kind, name in OUTSIDE.items()
    }
    install(tmp_path, "outside", points)
    return "outside 1.0"


SPECS = CASES["specs"]


@pytest.mark.parametrize(("kind", "spec"), SPECS)
def test_what_was_chosen_prints_a_spec_that_rebuilds_it(kind, spec):
    """Every option is printed."""
    resolved = KINDS[kind].choose(spec)
    assert KINDS[kind].choose(resolved.spec) == resolved
    assert KINDS[kind].choose(Spec.parse(spec)) == resolved


def test_listing_imports_no_model_no_index_and_no_grammar():
    script = (
        "import sys; from repoeval_bench.runs.parts import kinds\n"
        "for kind in kinds().values(): [kind.options(row) for row in kind]\n"
        "print([name for name in ('torch', 'faiss', 'bm25s', 'tree_sitter', 'chonkie', 'sklearn') if name in sys.modules])"
    )
    done = python("-c", script, timeout=60)
    assert done.out.strip() == "[]", done.err


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_part_of_every_kind_by_its_module(module, kind):
    """Its meaning and where it comes from are known."""
    row = KINDS[kind].find("py", f"{module}:{OUTSIDE[kind]}")
    assert row.meaning
    assert row.origin == f"module {module}"


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_part_of_every_kind_by_its_entry_point(package, kind):
    """It is listed with its package; one that cannot be imported is listed with the reason."""
    result = {row.name: row for row in KINDS[kind].plug_ins()}
    assert result[f"{kind}_from_outside"].origin == package
    assert KINDS[kind].find(f"{kind}_from_outside") == result[f"{kind}_from_outside"]
    assert "of outside 1.0 cannot be imported (ModuleNotFoundError" in result["broken"].meaning
    with pytest.raises(SpecError, match="cannot be imported"):
        KINDS[kind].find("broken")
    with pytest.raises(SpecError, match=f"unknown {kind} .*did you mean '{kind}_from_outside'"):
        KINDS[kind].find(f"{kind}_from_outsid")


def test_options_of_a_part_from_outside_are_those_of_its_signature(module):
    """A part's material is not an option; a value is read by the annotation, and the spec prints all of them."""
    resolved = KINDS["retriever"].choose(f"py:{module}:Words:least=3")
    assert resolved.spec == f"py:{module}:Words:least=3"
    assert KINDS["retriever"].choose(f"py:{module}:Words").spec == f"py:{module}:Words:least=1"
    nested = KINDS["retriever"].choose(f"rerank:py:{module}:Cosine,k_raw=5,first=bm25")
    assert nested.options == {"k_raw": 5, "first": "bm25"}


def test_an_inherited_option_is_read_as_the_module_of_its_class_reads_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    base, part = f"base_{next(NAMES)}", f"part_{next(NAMES)}"
    field = (
        "from dataclasses import dataclass\nNumber = int\n@dataclass\nclass Base:\n    size: 'Number | None' = None\n"
    )
    (tmp_path / f"{base}.py").write_text(field, "utf-8")
    (tmp_path / f"{part}.py").write_text(f"from {base} import Base\nclass Part(Base): pass\n", "utf-8")
    with pytest.raises(SpecError, match="size=x is not possible; a whole number"):
        KINDS["retriever"].choose(f"py:{part}:Part:size=x")


def test_protocols_and_measures_from_outside_go_by_the_name_they_are_given(module, package):
    """Overrides and cutoffs follow it as they follow a built-in name."""
    name = f"py:{module}:short"
    assert Protocol.parse(name).name == name
    assert Protocol.parse(f"{name}+query=full").name == f"{name}+query=full"
    assert Protocol.parse(f"{name}+query=full").override(query="tail:5").name == name
    assert Protocol.parse("protocol_from_outside").query == "tail:5"
    assert str(Measure.parse(f"py:{module}:found_at@3")) == f"py:{module}:found_at@3"
    assert str(Measure.parse("Measure-From-Outside@3")) == "measure_from_outside@3"
    with pytest.raises(UsageError, match="has no cutoff; write it as measure_from_outside@10"):
        Measure.parse("measure_from_outside")


@pytest.mark.parametrize(("kind", "name", "message"), CASES["mistakes"])
def test_every_mistake_is_one_sentence(kind, name, message, tmp_path, monkeypatch):
    """Faults of a part from outside are reported when it is chosen or made."""
    module = f"mistakes_{next(NAMES)}"
    (tmp_path / f"{module}.py").write_text(CASES["module"], "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SpecError) as error:
        KINDS[kind].choose(f"py:{module}:{name}").make()
    assert message in str(error.value)
    assert "\n" not in str(error.value)
