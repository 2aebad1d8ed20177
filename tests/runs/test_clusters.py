"""The clusters of queries that share a file."""

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.runs.query_scores import Alone, clusters_of

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
