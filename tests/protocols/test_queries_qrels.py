"""Queries by policy, judgements by shared lines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.qrels import build_qrels, drop_excluded, gold_of, merge_copies, relevance_rule
from repoeval_bench.protocols.queries import make_queries
from support import brute_metrics as brute
from support.random_runs import plain
from support.written import task

TASK = task(prompt="a\nb\nc", body=LineSpan(10, 12), context_start=4)


def protocol(gold, **choices):
    return replace(Protocol.parse("context"), gold=gold, **choices)


RULES_DRAWN = ["overlap", "iou:0.3", "graded:iou", "graded:levels"]
spans = st.tuples(st.integers(0, 19), st.integers(1, 8)).map(lambda pair: LineSpan(pair[0], min(20, sum(pair))))
places = st.builds(Place, st.sampled_from(["r/a", "r/b", "r/c"]), spans)


@given(
    cut=st.lists(places, min_size=1, max_size=12, unique=True),
    gold=st.lists(places, max_size=4).map(tuple),
    blank=st.sets(st.integers(0, 19)),
)
def test_sorted_intervals_judge_as_every_chunk_by_every_line(cut, gold, blank):
    """By every rule as sets of (file, line) do: gold in several files, chunks that overlap, blank lines."""
    text = "".join("\n" if i in blank else f"x{i}\n" for i in range(20))
    files = {f"r/{name}": SourceFile("r", name, text) for name in "abc"}
    nws = {name: file.line_nws() for name, file in files.items()}
    chunks = {name: [] for name in files}
    for place in cut:
        chunks[place.file].append(Chunk.cut(files[place.file], files[place.file].chars_of(place.lines)))
    for rule in RULES_DRAWN:
        gains = {
            chunk.chunk_id: brute.gain((name, chunk.lines.start, chunk.lines.end), list(map(plain, gold)), nws, rule)
            for name, of_file in chunks.items()
            for chunk in of_file
        }
        expected = {chunk_id: gain for chunk_id, gain in gains.items() if gain}
        assert build_qrels({"q": gold}, chunks, rule, nws) == {"q": pytest.approx(expected)}, rule


def test_blanked_lines_are_not_gold():
    """Where the body is blanked, the gold of context and prompt ends where the body begins."""
    for gold in ("context", "prompt"):
        assert gold_of(TASK, protocol(gold, exclusion="body")) == (Place("r/p.py", LineSpan(4, 10)),)


@pytest.mark.parametrize(
    "rule",
    ["", "overlaps", "lines:2", "iou:0", "iou:1.1", "iou:nan", "graded:x"],
)
def test_unknown_relevance_is_refused(rule):
    """A rule that does not exist, or an impossible threshold, lists those that do."""
    with pytest.raises(UsageError, match="choose from overlap"):
        relevance_rule(rule)


def test_query_policies():
    """full asks with the whole prompt, tail:N with its last N lines; the id is the task's."""
    assert make_queries([TASK], "full")[0].text == "a\nb\nc"
    assert make_queries([TASK], "tail:2")[0].text == "b\nc"
    assert make_queries([TASK], "tail:20")[0].text == "a\nb\nc"
    assert make_queries([TASK], "full")[0].query_id == "r/0"
    for policy in ("tail:0", "tail:-1", "tail:\u0661", "tail:" + "9" * 5000, "tail", "head"):
        with pytest.raises(UsageError, match="query policy"):
            make_queries([TASK], policy)


def test_overriding_a_choice_renames_the_protocol():
    """A protocol with another choice has another name, which parses back to the same."""
    changed = Protocol.parse("context").override(query="tail:20", relevance="iou:0.3")
    assert changed.name == "context+query=tail:20+relevance=iou:0.3"
    assert Protocol.parse(changed.name) == changed
    plain = Protocol.parse("context")
    assert plain.override(query="full") is plain


@pytest.mark.parametrize(
    "name",
    [
        *("context+exclusion=prompt+gold=prompt", "body+exclusion=repocoder", "body+exclusion=body"),
        "coderag+exclusion=body",
    ],
)
def test_combinations_that_leave_no_gold_are_refused(name):
    """What is excluded must not be all that is gold; fixed documents cannot be chunked again."""
    with pytest.raises(UsageError, match="choose"):
        Protocol.parse(name)


@pytest.mark.parametrize(
    ("name", "measure"), [("context", "line_recall_auc"), ("body", "line_rprec"), ("uses", "definition_recall_auc")]
)
def test_the_gold_decides_what_chunkers_are_compared_by(name, measure):
    """A short gold is read at its own size."""
    assert Protocol.parse(name).headline_measure == measure


@pytest.mark.parametrize(("name", "instead"), [("prose+query=full", "commits"), ("linemap", "code-chunk")])
def test_a_protocol_that_was_removed_is_refused_with_what_replaces_it(name, instead):
    with pytest.raises(UsageError, match=f"^protocol {name.partition('+')[0]} was removed; choose {instead}$"):
        Protocol.parse(name)


def test_copies_are_merged_and_hidden():
    """A merged chunk hands its gain on; an excluded one has none."""
    qrels = {"q": {"a": 0.5, "b": 1.0}, "r": {"c": 1.0}}
    assert merge_copies(qrels, {"b": "a", "c": "z"}) == {"q": {"a": 1.0}, "r": {"z": 1.0}}
    assert drop_excluded(qrels, {"q": frozenset({"a"})}) == {"q": {"b": 1.0}, "r": {"c": 1.0}}
