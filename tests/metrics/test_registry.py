"""Names, aliases and words of the measures."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from repoeval_bench.metrics import DEFAULT_MEASURES, MEASURES, Context, Measure, explain, inputs_of, lower_is_better
from support.cases import cases

CASES = cases(__file__)

REGISTRY = {row.name: row.part for row in MEASURES}


@pytest.mark.parametrize(("written", "canonical"), CASES["spellings"].items())
def test_every_way_to_write_a_measure_prints_back_canonically(written, canonical):
    """trec_eval's, ir_measures' and this project's spellings are read; one is printed, and reads back."""
    assert str(Measure.parse(written)) == canonical
    assert Measure.parse(canonical) == Measure.parse(written)


def test_no_name_or_alias_means_two_measures():
    names = [name for d in REGISTRY.values() for name in (d.name, *d.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY)
def test_a_definition_says_everything_of_its_measure(definition):
    """A meaning, a formula, a range, a source and its inputs, which exist; a ceiling that is an estimate is called one."""
    assert all((definition.meaning, definition.formula, definition.range, definition.source))
    assert definition.meaning.endswith(".")
    assert set(definition.needs) <= {"ranking"} | set(Context.__dataclass_fields__)
    estimated = "the true maximum may be slightly higher" in explain(definition.name)
    assert estimated == (definition.ceiling not in {"relevant", None})


def test_bands_are_those_that_people_read_by():
    assert "from 0.9 excellent, from 0.7 very good, from 0.5 good, from 0.3 fair, below poor" in explain("ndcg@10")
    assert "from 0.8 excellent, from 0.6 good, from 0.4 fair, below poor" in explain("recall@10")
    assert "from 0.8" in explain("ild@10")
    assert "bands" not in explain("precision@10")


def test_of_the_built_in_measures_less_is_better_of_redundancy_alone():
    """`explain` says so; a stored name that is not a measure has no direction, and `py:` names import nothing."""
    assert [row.name for row in MEASURES if row.part.lower_is_better] == ["redundancy"]
    assert re.search(r"better +lower", explain("redundancy@10"))
    assert not re.search(r"better +lower", explain("ndcg@10"))
    assert lower_is_better("redundancy@10")
    assert not lower_is_better("ndcg@10 ceiling")
    assert not lower_is_better("py:this_module_does_not_exist:x@3")


def test_a_measure_of_which_less_is_better_has_no_ceiling():
    """The best ranking would have the lowest score, and no share of 0 can be told."""
    recall = next(row.part for row in MEASURES if row.name == "recall")
    assert recall.ceiling == "relevant"
    assert replace(recall, lower_is_better=True).ceiling is None


def test_a_measure_says_what_it_needs():
    assert Measure.parse("ndcg@10").definition.needs == {"ranking"}
    assert Measure.parse("line_recall@1500").definition.needs == {"ranking", "places", "gold", "line_nws"}
    assert Measure.parse("ild@5").definition.needs == {"ranking", "vectors"}
    assert inputs_of(["ndcg@5", "novelty@5", "distinct_files@5"]) == {"ranking", "texts", "places"}
    assert inputs_of([]) == frozenset()


def test_the_default_measures_are_canonical():
    assert [str(Measure.parse(name)) for name in DEFAULT_MEASURES] == list(DEFAULT_MEASURES)


def test_importing_the_metrics_loads_nothing_heavy():
    code = (
        "import sys, repoeval_bench.metrics; "
        "print([m for m in ('torch', 'scipy', 'pandas', 'faiss', 'pydantic', 'numba') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
