"""Protocol `uses` on one small task: gold, gains, reading and ceilings, each computed by hand."""

from dataclasses import replace
from math import log2

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.core.uses import CodeDefinition, UsedDefinition
from repoeval_bench.metrics import score_ceilings, score_run
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.protocols.uses import uses_facts
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.runner import plan_run
from support.written import HAND_FILE, HAND_LINES, HAND_TASK, benchmark

OTHER = SourceFile("r", "d/q.py", "".join(f"w{i:02}\n" for i in range(20)))


def used(file, start, end, tier="resolved"):
    return UsedDefinition(CodeDefinition(f"r/{file}", LineSpan(start, end), f"name{start}", "function"), tier)


USES = (
    used("p.py", 0, 2),
    used("p.py", 2, 6),  # the prompt shows lines 4 and 5 of it
    used("p.py", 10, 12),  # the prompt shows all of it
    used("p.py", 89, 92, "imported"),  # line 90 is blank
    used("d/q.py", 8, 12, "imported"),
)
TASK = replace(HAND_TASK, uses=USES)
NEEDS_NONE = replace(TASK, task_id="r/1", uses=(used("p.py", 10, 12),))
BENCHMARK = benchmark({"r": (HAND_FILE, OTHER)}, [TASK, NEEDS_NONE])
TENS = make_chunker("window:lines=10,step=10")


def chunk_id(name):
    """`p3` is lines [30, 40) of the task's file, `q0` [0, 10) of the other."""
    start = int(name[1:]) * 10
    if name[0] == "q":
        return f"r/d/q.py@{start * 4}-{(start + 10) * 4}"
    # The line ends alone are left of lines 34 and 35, which are blanked, and of line 90.
    ends = [0]
    for i, line in enumerate(HAND_LINES):
        ends.append(ends[-1] + 1 + (0 if i in (34, 35) else len(line)))
    return f"r/p.py@{ends[start]}-{ends[start + 10]}#r/0"


def judged(protocol, measures=()):
    protocol = Protocol.parse(protocol)
    planned = plan_run(BENCHMARK, TENS, protocol=protocol)
    return planned, judge_corpus(planned.benchmark, planned.corpus, protocol, measures)


ORDER = ("p1", "p0", "q0", "p9", "p8", "q1")


def scores(*measures):
    _, result = judged("uses", measures)
    run = {"r/0": tuple((chunk_id(name), -float(at)) for at, name in enumerate(ORDER))}
    observed = score_run(run, result.qrels, measures, result.context)
    ceilings = score_ceilings(result.qrels, measures, result.context, observed=observed)
    return list(observed.mean().values()), list(ceilings.mean().values())


def test_gold_is_what_the_prompt_does_not_show():
    planned, result = judged("uses")
    (task,) = planned.benchmark.tasks
    assert planned.benchmark.unscored == 1
    assert planned.queries[0].text == "\n".join(HAND_LINES[14:34]) + "\n"
    assert gold_of(task, Protocol.parse("uses")) == (
        Place("r/d/q.py", LineSpan(8, 12)),
        Place("r/p.py", LineSpan(0, 4)),
        Place("r/p.py", LineSpan(89, 92)),
    )
    gains = {"p0": 2, "p8": 1, "p9": 1, "q0": 1, "q1": 1}
    assert result.qrels["r/0"] == {chunk_id(name): gain for name, gain in gains.items()}


def test_the_gold_has_the_definitions_of_both_tiers():
    chosen = select(BENCHMARK, Protocol.parse("uses"))
    assert len(chosen.tasks[0].uses) == 4
    assert chosen.unscored == 1


def test_lines_that_the_prompt_shows_cost_nothing_and_do_not_count():
    """p1 is free; p0 costs its first four lines: 6 nws end one definition, 12 the next.

    q0 costs 30 and ends none; p9 27 (its blank line nothing), p8 30 and ends the one around the blank line; q1's
    second line ends the last.
    """
    budgets = {5: 0, 6: 1 / 4, 12: 2 / 4, 98: 2 / 4, 99: 3 / 4, 104: 3 / 4, 105: 1}
    result, _ = scores(*(f"definition_recall@{budget}" for budget in budgets))
    assert result == pytest.approx(list(budgets.values()))


def test_chunks_gain_by_their_definitions():
    gains = (0, 2, 1, 1, 1, 1)
    dcg = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
    ideal = sum(gain / log2(rank + 1) for rank, gain in enumerate(sorted(gains, reverse=True), start=1))
    result, ceiling = scores("ndcg@10")
    assert (result, ceiling) == (pytest.approx([dcg / ideal]), pytest.approx([1.0]))


def test_ceilings_read_most_definitions_per_nws():
    """Best p0 (2 for 12), then p9 (half of one for 27), then of those that cost 30 q0, and q1, which ends one at 75.

    p8 would end the last at 129, but 105 were observed: a ceiling is never below what was reached.
    """
    budgets = {11: 1 / 4, 12: 2 / 4, 74: 2 / 4, 75: 3 / 4, 104: 3 / 4, 105: 1}
    _, ceilings = scores(*(f"definition_recall@{budget}" for budget in budgets))
    assert ceilings == pytest.approx(list(budgets.values()))


def test_hidden_leaves_out_the_chunks_over_prompt_and_hole():
    planned, result = judged("uses+exclusion=hidden")
    assert not planned.corpus.own
    starts = {chunk.lines.start for chunk in planned.corpus.chunks["r"] if chunk.chunk_id in result.excluded["r/0"]}
    assert starts == {0, 10, 20, 30}
    assert sorted(result.qrels["r/0"].values()) == [1, 1, 1, 1]
    # The two that are in hidden chunks still count.
    assert len(result.context.definitions["r/0"]) == 4


def test_another_gold_is_one_definition():
    _, result = judged("context+relevance=definitions")
    assert set(result.qrels["r/0"].values()) == {1.0}
    run = {
        "r/0": tuple((chunk.chunk_id, -float(at)) for at, chunk in enumerate(judged("context")[0].corpus.chunks["r"]))
    }
    value = score_run(run, {"r/0": {}}, ["definition_recall@107", "definition_recall@108"], result.context)
    # The context ends with line 36, which ends at 3 x 36 nws.
    assert list(value.mean().values()) == [0.0, 1.0]


def test_facts_say_how_many_and_how_far():
    (task,) = select(BENCHMARK, Protocol.parse("uses")).tasks
    assert uses_facts(task) == {"definitions": 4, "definition_files": 2, "definition_distance": 2}


def test_what_cannot_be_asked_is_said(monkeypatch):
    with pytest.raises(DatasetError, match="definitions that tasks use are not known"):
        select(replace(BENCHMARK, tasks=(replace(TASK, uses=None),)), Protocol.parse("uses"))
    with pytest.raises(DatasetError, match="none uses a definition that its prompt does not show"):
        select(replace(BENCHMARK, tasks=(NEEDS_NONE,)), Protocol.parse("uses"))
    monkeypatch.setattr("repoeval_bench.dataset.uses_table.MOST_CODE", 1)
    with pytest.raises(DatasetError, match="names are resolved in up to 0 MB of code, and r has more"):
        select(replace(BENCHMARK, tasks=(NEEDS_NONE,)), Protocol.parse("uses"))
    with pytest.raises(UsageError, match="exclusion=free with gold=context leaves no target lines"):
        Protocol.parse("context+exclusion=free")


def test_what_tasks_use_is_part_of_the_fingerprint():
    other = replace(BENCHMARK, tasks=(replace(TASK, uses=USES[:2]),))
    uses = Protocol.parse("uses")
    assert select(other, uses).fingerprint != select(BENCHMARK, uses).fingerprint
    # Selecting twice changes nothing more.
    once = select(BENCHMARK, uses)
    assert select(once, uses) == once
