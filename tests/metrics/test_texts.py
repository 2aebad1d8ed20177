"""Measures of completions, by hand and against formulas written another way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import MetricError, UsageError
from repoeval_bench.metrics import TEXT_MEASURES, Context, WrittenCompletion, score_run
from repoeval_bench.runs.parts import choose_measures

TEXT = st.text(alphabet="ab =\n\t", max_size=24)


def scored(text, truth, names=frozenset(), true_names=frozenset(), measures=TEXT_MEASURES):
    done = WrittenCompletion(text=text, truth=truth, names=names, true_names=true_names)
    return score_run({}, {"q": {}}, measures, Context(written={"q": done})).mean()


def levenshtein(a, b):
    """Wagner & Fischer's table, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, above = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    return row[-1]


@given(TEXT, TEXT)
def test_edit_similarity_is_repocoders(text, truth):
    """As its code has it: stripped lines that are not blank, as many as the truth has, joined by line ends."""
    true_lines = [line.strip() for line in truth.splitlines() if line.strip()]
    given_ = [line.strip() for line in text.splitlines() if line.strip()][: len(true_lines)]
    a, b = "\n".join(true_lines), "\n".join(given_)
    result = scored(text, truth)
    longest = max(len(a), len(b))
    assert result["edit_similarity"] == pytest.approx(1 - levenshtein(a, b) / longest if longest else 1)
    assert result["exact_match"] == (true_lines == given_)


@given(TEXT)
def test_the_truth_itself_has_the_best_scores(truth):
    """And so has the truth with anything behind it."""
    for text in (truth, truth + "\nmore = 1\n"):
        result = scored(text, truth)
        assert result["edit_similarity"] == result["exact_match"] == 1


def test_identifiers_are_compared_as_sets():
    """Two of three, and two of two: F1 4/5. Without a name on either side nothing is wrong."""
    assert scored("", "", frozenset("abc"), frozenset("ab"))["identifier_f1"] == pytest.approx(4 / 5)
    assert scored("", "")["identifier_f1"] == 1
    assert scored("", "", frozenset(), frozenset("a"))["identifier_f1"] == 0


@pytest.mark.parametrize("name", ["es", "exact_match", "identifier_f1"])
def test_a_ranking_has_no_completions(name):
    """Named for a run that ranks, such a measure is refused before anything is computed."""
    with pytest.raises(UsageError, match="repoeval-bench complete"):
        choose_measures([name], 100)
    with pytest.raises(MetricError, match="written"):
        score_run({"q": [("c", 1.0)]}, {"q": {"c": 1}}, [name])
