"""The table of what tasks use: read and written back, shipped for RepoEval, and as the resolvers give it."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import TIERS, CodeDefinition, UsedDefinition
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.repoeval import LEVELS
from repoeval_bench.dataset.uses_table import HEADER, dump_uses, read_uses
from support.cases import cases
from support.written import task

CASES = cases(__file__)

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "index" / "uses-function.tsv"
TASKS = [task(task_id=f"r/{n}", path="a.py", body=LineSpan(1, 2)) for n in range(3)]

used = st.builds(
    UsedDefinition,
    st.builds(
        CodeDefinition,
        st.sampled_from(["r/a.py", "r/b/c.py", "r/a\u2028b.py", "r/\x85.py"]),
        st.integers(0, 9).map(lambda start: LineSpan(start, start + 3)),
        st.sampled_from(["f", "C.m"]),
        st.sampled_from(["function", "method", "class", "variable", "attribute"]),
    ),
    st.sampled_from(TIERS),
)


@given(st.dictionaries(st.sampled_from(["r/0", "r/2"]), st.lists(used, max_size=4).map(tuple)))
def test_a_table_is_read_as_it_was_written(uses):
    read = read_uses(dump_uses(TASKS, uses), TASKS, "uses.tsv")
    assert read == {task.task_id: uses.get(task.task_id, ()) for task in TASKS}


@pytest.mark.parametrize(
    "row",
    CASES["broken rows"],
)
def test_a_broken_row_is_named(row):
    with pytest.raises(DatasetError, match=r"uses\.tsv:2 is not a row of used definitions"):
        read_uses(f"{HEADER}\n{row}\n", TASKS, "uses.tsv")


@pytest.mark.full_data
class TestShipped:
    def test_every_definition_is_where_the_table_says(self, real_source):
        benchmark = load_benchmark(real_source)
        files = benchmark.by_name
        assert sum(bool(task.uses) for task in benchmark.tasks) == 370
        for scored in benchmark.tasks:
            for use in scored.uses:
                text = files[use.definition.file].line_text(use.definition.lines)
                assert use.definition.name.rpartition(".")[2] in text
                inside = use.definition.file == scored.file and scored.body.contains(use.definition.lines)
                assert not inside

    @pytest.mark.slow
    def test_the_script_writes_the_table_that_is_shipped(self, real_source, tmp_path):
        pytest.importorskip("jedi")
        script = SHIPPED.parents[2] / "scripts" / "build_uses.py"
        command = [sys.executable, script, "--source", real_source, "--output", tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
        assert written == {name: (SHIPPED.parent / name).read_text("utf-8") for name in written}
        assert SHIPPED.name in written
        # A level that the source does not have is said, and every other one ships.
        assert done.stdout.count("is not at hand") == len(LEVELS) - len(written)


def test_the_table_that_ships_holds_facts_alone():
    rows = [line.split("\t") for line in SHIPPED.read_text(encoding="utf-8").splitlines()]
    assert {len(row) for row in rows} == {7}
    assert max(len(row[-1]) for row in rows) < 100
