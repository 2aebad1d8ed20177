"""Places against sets of (file, line), and the clusters of queries that share a file."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.places import Alone, Place, clusters_of, iou, join, without
from repoeval_bench.core.spans import LineSpan

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


GOLD = st.dictionaries(
    st.integers(0, 12).map("q{}".format),
    st.lists(st.integers(0, 9).map("f{}".format), min_size=1, max_size=3, unique=True),
    max_size=10,
)


def test_queries_that_share_a_file_are_one_cluster():
    """q1 and q3 share no file, and are linked by q2; a cluster is named after its first file."""
    clusters = clusters_of({"q1": ["b", "c"], "q2": ["c", "a"], "q3": ["a"], "q4": ["d"]})
    assert clusters == {"q1": "a (+2 files)", "q2": "a (+2 files)", "q3": "a (+2 files)", "q4": "d"}


@given(GOLD, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_places_makes_no_difference(gold, random):
    rows = [(query, random.sample(files, len(files))) for query, files in gold.items()]
    random.shuffle(rows)
    assert clusters_of(dict(rows)) == clusters_of(gold)


@given(GOLD)
def test_clusters_are_the_connected_components(gold):
    clusters = clusters_of(gold)
    reached = {query: {query} for query in gold}
    for _ in gold:
        for query, known in reached.items():
            files = {file for members in known for file in gold[members]}
            reached[query] = known | {other for other in gold if files & set(gold[other])}
    assert {q: {other for other in gold if clusters[other] == clusters[q]} for q in gold} == reached


def test_a_query_of_which_nothing_is_known_is_in_no_named_cluster():
    assert str(Alone("q")) == "query q"
    assert Alone("q") != "query q"
