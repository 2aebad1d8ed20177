"""Definitions that queries need, held against what was retrieved."""

from plugins.logs.made_logs import judged, row
from repoeval_bench.core.places import Place
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.plugins.logs.diagnosis.evidence import never_retrieved
from repoeval_bench.runs.inspection import DefinitionRow, Inspection, QueryGoldRow
from repoeval_bench.runs.log import Retrieved, first_rank


def hit(rank, file, start, end):
    return Retrieved(rank=rank, chunk_id=f"c{rank}", score=-rank, file=file, start_line=start, end_line=end)


def gold(*places):
    return tuple(Place(file, LineSpan(start, end)) for file, start, end in places)


RANKED = [hit(1, "r/a.py", 0, 10), hit(2, "r/d/b.py", 5, 8), Retrieved(rank=3, chunk_id="elsewhere", score=0.0)]
QUERY = QueryGoldRow(
    query_id="q",
    file="r/a.py",
    read=(0, 1),
    gold=[("r/a.py", 3, 4)],
    body=(20, 22),
    definitions=(
        DefinitionRow(name="near", kind="function", tier="resolved", gold=[("r/a.py", 9, 12)]),
        DefinitionRow(name="far", kind="class", tier="resolved", gold=[("r/d/b.py", 0, 2), ("r/d/b.py", 7, 9)]),
        DefinitionRow(name="lost", kind="class", tier="imported", gold=[("r/d/b.py", 8, 9)]),
    ),
)


def test_the_first_chunk_with_a_line_counts():
    assert first_rank(gold(("r/a.py", 9, 12)), RANKED) == 1
    assert first_rank(gold(("r/a.py", 10, 12)), RANKED) is None
    assert first_rank(gold(("r/d/b.py", 0, 2), ("r/d/b.py", 7, 9)), RANKED) == 2


def test_what_is_never_retrieved_is_counted_by_what_it_is_like():
    topk = [hit.model_dump(exclude_none=True) for hit in RANKED]
    inspection = Inspection({}, {}, {}, {"q": QUERY})
    assert never_retrieved(inspection, judged([row("q", topk)], {"q": "c1"})) == {
        "all definitions": (1, 3),
        "kind class": (1, 2),
        "kind function": (0, 1),
        "distance 0": (0, 1),
        "distance 2": (1, 2),
        "tier imported": (1, 1),
        "tier resolved": (0, 2),
    }
    unanswered = judged([], {"q": "c1"})
    assert never_retrieved(inspection, unanswered)["all definitions"] == (3, 3)
    assert never_retrieved(None, unanswered) == {}
