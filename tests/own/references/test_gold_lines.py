"""Which lines of a definition are gold outside Python, however long its parts are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.core.uses import LIMIT
from support.written import uses

# The first column is a mark: the lines with a digit are repeated, > has the name, < is the last of the header.
CASES = {
    "function.ts": """\
 /**
0 * About far.
  */
>export function far(
2  a: number,
<) {
   return 1;
 }
""",
    "value.ts": """\
0// About far.
>export const far = {
2  key: 1,
<};
""",
    "class.ts": """\
 /** About far. */
 @far.made({
1  key: 1,
 })
>export class far extends Base<
2  A,
<> {
 }
""",
    "function.rs": """\
0/// About far.
1#[cfg(far)]
>pub fn far(
2    a: u32,
<) -> u32 {
     1
 }
""",
    "function.cpp": """\
0/// About far.
 template <
1  typename T,
   typename S>
 static int
>far(
2  int a,
<  int b) {
   return 1;
 }
""",
    "struct.c": """\
0/// About far.
 typedef struct {
2  int a;
>} far;
""",
    "Function.java": """\
 class Shop {
   /**
0   * About far.
    */
1  @Suppress("far")
>  int far(
2    int a,
<    int b) {
     return 1;
   }
 }
""",
}
TASKS = {
    "ts": "function written() {\n  far; // HOLE\n}\n",
    "rs": "fn written() {\n    far(1); // HOLE\n}\n",
    "cpp": "int written() {\n  return far(1, 2); // HOLE\n}\n",
    "c": "int written() {\n  far x; // HOLE\n}\n",
    "java": "class Task extends Shop {\n  int written() {\n    return far(1, 2); // HOLE\n  }\n}\n",
}


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
    gold = next(use.definition.lines for use in result.used if use.definition.name.endswith("far"))
    name = next(at for at, line in enumerate(marked) if line[0] == ">")
    last = next((at for at, line in enumerate(marked) if line[0] == "<"), name)
    # A class is around it in Java; a plain comment does not document.
    first = {"Function.java": 1, "value.ts": name}.get(case, 0)
    assert name in gold
    assert gold.end == min(last + 1, name + LIMIT)
    assert gold.start == max(first, min(name, gold.end - LIMIT))
