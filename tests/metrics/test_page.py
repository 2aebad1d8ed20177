"""docs/measures.md: its examples run, and its table is the registry's."""

import doctest
import re
from pathlib import Path

from repoeval_bench.metrics import MEASURES
from repoeval_bench.metrics.measure import UNREGISTERED

FAMILIES = {
    "ranks and sets": "ranked",
    "diversity": "diversity",
    "lines and definitions": "lines",
    "targets": "targets",
    "completions": "texts",
}
"""Family of the page -> the file of its measures."""

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run():
    text = re.sub(r"(?m)^```.*$", "", PAGE)  # a fence after an example is not its output
    examples = doctest.DocTestParser().get_doctest(text, {}, "measures.md", "measures.md", 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples, out=said.append)
    assert result.attempted > 15
    assert not result.failed, "".join(said)


def test_the_table_has_every_measure_of_the_registry():
    """A row for each, by family: how it is written, its aliases, meaning and formula."""
    rows = []
    measures = [row.part for row in MEASURES]
    assert {d.compute.__module__.rpartition(".")[2] for d in measures} == {*FAMILIES.values()}
    for family, file in FAMILIES.items():
        rows += [f"**{family}**", "", "| measure | also | meaning | formula |", "|---|---|---|---|"]
        for d in (d for d in measures if d.compute.__module__.endswith(f".{file}")):
            cut = f"`{d.name}@{ {'rank': 'k', 'nws': 'B'}[d.unit] }`"
            name = {"must": cut, "may": f"`{d.name}`, {cut}", "none": f"`{d.name}`"}[d.cutoff]
            columns = name, ", ".join(f"`{alias}`" for alias in d.aliases), d.meaning, d.formula
            rows.append(f"| {' | '.join(column.replace('|', chr(92) + '|') for column in columns)} |")
            assert rows[-1] in PAGE
        rows.append("")
    assert "\n".join(rows) in PAGE
    assert all(f"`{name}`" in PAGE for name in UNREGISTERED)
