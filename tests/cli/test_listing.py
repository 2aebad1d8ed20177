"""`list` names what there is to choose from, and says what each name means."""

import pytest

from repoeval_bench.cli.listing import LISTS, explanation, list_table
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import DEFINITION_MEASURES, EVAL_MEASURES, Measure
from repoeval_bench.report.text import heading
from support.cases import cases
from support.command import bench, one_sentence

CASES = cases(__file__)


@pytest.mark.parametrize(("words", "pieces"), CASES["explained"].items())
def test_a_name_is_explained(words, pieces):
    """An explanation says what a name is, and what it means."""
    text = explanation(*words.split())
    assert [piece for piece in pieces if piece not in text] == []


@pytest.mark.parametrize("kind", LISTS)
def test_whatever_a_list_prints_is_explained(kind):
    """Every name in the first column, as it is printed there, and every other name of a measure."""
    table = list_table(kind)
    columns = [i for i, column in enumerate(table.columns) if i == 0 or column.name == "also"]
    names = [name for row in table.rows for i in columns for name in str(row.cells[i]).split(", ") if name]
    assert len(names) >= (1 if kind == "packs" else 3)
    assert all(explanation(kind, name) for name in names)


@pytest.mark.parametrize(("kind", "name", "message"), CASES["unknown"])
def test_an_unknown_name_is_refused_with_the_nearest(kind, name, message):
    with pytest.raises(UsageError) as error:
        explanation(kind, name)
    assert message in str(error.value)


@pytest.mark.parametrize("measure", [*EVAL_MEASURES, *DEFINITION_MEASURES])
def test_the_headings_of_tables_are_explained(measure):
    """A measure is explained, and asked for, by the name that tables give it."""
    shown = heading(measure)
    assert explanation("measures", shown).startswith(f"{shown} ({measure}): ")
    assert str(Measure.parse(heading(measure))) == measure


def test_a_removed_command_names_its_replacement():
    assert "command explain was removed; use repoeval-bench list KIND NAME" in one_sentence(bench("explain"), 2)
