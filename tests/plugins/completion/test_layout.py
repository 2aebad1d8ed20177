"""The prompt's layout, character by character, and its budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.plugins.completion.layout import MOST_FRAGMENTS, Fragment, count_tokens, lay_out
from support.written import task

RULER = "-" * 50
CODE = "def total(prices):"


TASK = task(path="shop/total.py", prompt=CODE)
FIRST = Fragment("a", "r/shop/tax.py", "def tax(x):\n    return x * RATE\n")
SECOND = Fragment("b", "r/shop/rates.py", "RATE = 2\n")


def test_the_layout_is_repocoders():
    """A heading, then the blocks with the best nearest to the code, a blank line, the code and a line end."""
    assert lay_out(TASK, [FIRST, SECOND], "#", budget=1000).text == (
        "# Here are some relevant code fragments from other files of the repo:\n"
        f"# {RULER}\n# the below code fragment can be found in:\n# shop/rates.py\n# {RULER}\n# RATE = 2\n"
        f"# {RULER}\n# the below code fragment can be found in:\n# shop/tax.py\n# {RULER}\n"
        f"# def tax(x):\n#     return x * RATE\n# {RULER}\n\ndef total(prices):\n"
    )


def test_the_mark_is_that_of_the_language():
    above = lay_out(task(prompt="total(prices) {"), [FIRST], "//", budget=1000).text.partition("\n\n")[0]
    assert all(line.startswith("// ") for line in above.splitlines())


@pytest.mark.parametrize(("fragments", "budget"), [([], 1000), ([FIRST], 30)])
def test_without_a_fragment_there_is_no_heading(fragments, budget):
    """Nothing retrieved, or nothing that fits: the code alone."""
    prompt = lay_out(TASK, fragments, "#", budget=budget)
    assert (prompt.text, prompt.shown, prompt.context_tokens) == (f"{CODE}\n", (), 0)


def test_a_fragment_that_does_not_fit_is_passed_over():
    """A smaller one behind it is shown."""
    long = Fragment("long", "r/a.py", "word = other_word\n" * 200)
    assert lay_out(TASK, [long, SECOND], "#", budget=120).shown == ("b",)


@given(st.lists(st.text(alphabet="ab_ .\n", min_size=1, max_size=60), max_size=12), st.integers(0, 300))
def test_the_budget_holds(texts, budget):
    """The tokens that are stated are those of the text, and never above the budget; the best come first."""
    fragments = [Fragment(str(i), f"r/{i}.py", text) for i, text in enumerate(texts)]
    prompt = lay_out(TASK, fragments, "#", budget=budget)
    assert prompt.context_tokens <= budget
    assert len(prompt.shown) <= MOST_FRAGMENTS
    assert list(prompt.shown) == sorted(prompt.shown, key=int)
    above = prompt.text.removesuffix(f"{CODE}\n").removesuffix("\n")
    assert abs(count_tokens(above) - prompt.context_tokens) <= 12  # joined, a line end and blanks are one token
