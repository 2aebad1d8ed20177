"""Which lines of a definition are gold outside Python, however long its parts are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.core.uses import LIMIT
from support.cases import cases
from support.written import uses

DATA = cases(__file__)
CASES, TASKS = DATA["definitions"], DATA["tasks"]


def lines_of(case, times):
    return [line for line in CASES[case].splitlines() for _ in range(times[int(line[0])] if line[0].isdigit() else 1)]


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=settings.default.max_examples // 2)
@given(times=st.tuples(*[st.integers(0, 20)] * 3))
def test_the_line_of_the_name_is_gold(case, times):
    """From the name on, what fits of the header; then as many lines before the name as still fit."""
    marked = lines_of(case, times)
    code = "".join(f"{line[1:]}\n" for line in marked) + TASKS[case.rpartition(".")[2]]
    target_span = next(at for at, line in enumerate(code.splitlines()) if "HOLE" in line)
    result = uses({case: code}, case, target_span, target_span + 1)
    gold = next(use.definition.lines for use in result if use.definition.name.endswith("far"))
    name = next(at for at, line in enumerate(marked) if line[0] == ">")
    last = next((at for at, line in enumerate(marked) if line[0] == "<"), name)
    # A class is around it in Java; a plain comment does not document.
    first = {"Function.java": 1, "value.ts": name}.get(case, 0)
    assert name in gold
    assert gold.end == min(last + 1, name + LIMIT)
    assert gold.start == max(first, min(name, gold.end - LIMIT))
