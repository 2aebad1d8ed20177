"""Places against sets of (file, line)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.spans import LineSpan, Place, iou, join, without

spans = st.tuples(st.integers(0, 12), st.integers(0, 6)).map(lambda pair: LineSpan(pair[0], sum(pair)))
places = st.builds(Place, st.sampled_from("abc"), spans)
golds = st.lists(places, max_size=6).map(tuple)


def lines(gold):
    return {(location.file, line) for location in gold for line in location.lines}


@given(golds)
def test_joined_places_hold_the_same_lines_each_once(gold):
    """Joining loses no line, repeats none, leaves a gap between places of one file, and has an order."""
    joined = join(gold)
    assert lines(joined) == lines(gold)
    assert sum(len(location.lines) for location in joined) == len(lines(gold))
    assert list(joined) == sorted(joined, key=lambda location: (location.file, location.lines))
    assert join(joined) == joined == join(reversed(gold))
    assert all(a.file != b.file or a.lines.end < b.lines.start for a, b in pairwise(joined))


@given(golds, places)
def test_a_place_is_taken_out_of_a_gold_line_by_line(gold, taken):
    assert lines(without(gold, taken)) == lines(gold) - lines([taken])


@given(golds, places)
def test_iou_is_over_the_union_of_all_lines(gold, location):
    expected, held = lines(gold), lines([location])
    assert iou(location, gold) == (len(expected & held) / len(expected | held) if expected | held else 0.0)
    assert sum(map(location.overlap, join(gold))) == len(expected & held)
