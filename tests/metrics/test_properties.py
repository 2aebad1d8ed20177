"""What holds for every measure on every run."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics import MEASURES, Context, Measure, WrittenCompletion, score_ceilings, score_query, score_run
from repoeval_bench.metrics.reading import Lines
from repoeval_bench.runs.trec import format_qrels, read_qrels, read_run, run_lines

IDS = [f"d{i:02}" for i in range(16)]
REGISTRY = {row.name: row.part for row in MEASURES}
RANK_ONLY = [d.name for d in REGISTRY.values() if d.needs == {"ranking"}]

rankings = st.lists(st.sampled_from(IDS), unique=True, max_size=16)
gains = st.dictionaries(
    st.sampled_from(IDS), st.one_of(st.integers(0, 3), st.floats(0.01, 1.0, allow_nan=False)), max_size=8
)
cutoffs = st.integers(1, 20)


def at(name, k):
    definition = REGISTRY[name]
    return name if definition.cutoff == "none" else f"{name}@{1 if definition.unit == 'sample' else k}"


def pairs(ids):
    return [(d, float(-i)) for i, d in enumerate(ids)]


def one(ids, relevant, measure):
    (value,) = score_query(pairs(ids), relevant, [measure]).values()
    return value


@given(gains, cutoffs)
def test_a_perfect_ranking_scores_1_or_its_ceiling(relevant, k):
    """All relevant chunks by gain: nDCG and nERR are 1, and every measure of ranks is at its ceiling."""
    assume(any(relevant.values()))
    perfect = pairs(sorted(relevant, key=lambda d: relevant[d], reverse=True))
    assert score_query(perfect, relevant, [f"ndcg@{k}", f"nerr@{k}", "ndcg"]) == pytest.approx(
        {f"ndcg@{k}": 1.0, f"nerr@{k}": 1.0, "ndcg": 1.0}
    )
    measures = [at(name, k) for name in RANK_ONLY]
    ceiling = score_ceilings({"q": relevant}, measures).mean()
    assert score_query(perfect, relevant, measures) == pytest.approx(ceiling, abs=1e-12)
    n = sum(g > 0 for g in relevant.values())
    assert ceiling[f"recall@{k}"] == pytest.approx(min(k, n) / n)
    assert ceiling[f"precision@{k}"] == pytest.approx(min(k, n) / k)


@given(rankings, gains, cutoffs)
def test_no_ranking_passes_a_ceiling(ids, relevant, k):
    measures = [at(name, k) for name in RANK_ONLY]
    ceiling = score_ceilings({"q": relevant}, measures).mean()
    for name, value in score_query(pairs(ids), relevant, measures).items():
        assert -1e-12 <= value <= ceiling[name] + 1e-12 <= 1 + 2e-12, name


@given(gains, cutoffs)
def test_an_empty_ranking_scores_0_in_every_measure(relevant, k):
    context = Context(
        places={},
        gold={"q": (Place("f", LineSpan(0, 2)),)},
        line_nws={"f": [3, 4]},
        definitions={"q": ((Place("f", LineSpan(0, 1)),), (Place("f", LineSpan(1, 2)),))},
        texts={},
        vectors={},
        subtopics={"q": {"d00": {"a"}}},
        written={"q": WrittenCompletion(text="", truth="x", names=frozenset(), true_names=frozenset("x"))},
    )
    scores = score_run({"q": []}, {"q": relevant}, [at(row, k) for row in REGISTRY], context).mean()
    assert len(scores) == len(REGISTRY)
    assert set(scores.values()) == {0.0}


@given(st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1), gains, cutoffs)
def test_scores_are_ranked_by_score_then_id_both_descending(scores, relevant, k):
    ordered = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
    measures = [at(name, k) for name in RANK_ONLY]
    assert score_query(scores, relevant, measures) == score_query(ordered, relevant, measures)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("k", [1, 17])
def test_a_measure_reads_back_what_it_prints(name, k):
    """Canonical name and alias, and every alias of the registry, parse to the same measure."""
    measure = Measure.parse(at(name, k))
    assert Measure.parse(str(measure)) == measure
    assert Measure.parse(str(measure).replace("@", "_at_")) == measure
    for alias in REGISTRY[name].aliases:
        assert Measure.parse(str(measure).replace(name, alias, 1)) == measure
        assert Measure.parse(str(measure).replace("@", "_at_").replace(name, alias, 1).upper()) == measure


scores_to_write = st.lists(
    st.tuples(st.sampled_from([*IDS, "a b", "ä\u2028c", "50%"]), st.floats(-500, 500).map(lambda s: round(s, 5))),
    unique_by=lambda pair: pair[0],
    max_size=12,
)


@given(pair_list=scores_to_write, shift=st.sampled_from([0.0, 300.0, 5000.0]))
def test_a_written_run_reads_back_in_the_order_it_had(tmp_path_factory, pair_list, shift):
    """Ties, scores that float32 cannot tell apart and ids with blanks keep their order through a file."""
    ranking = sorted(((d, s + shift) for d, s in pair_list), key=lambda pair: (pair[1], pair[0]), reverse=True)
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    path.write_text("".join(run_lines({"q": ranking}, "tag")), encoding="utf-8")
    back = read_run(path).rankings
    assert "".join(run_lines(back, "tag")) == path.read_text(encoding="utf-8")
    written = {"a b": "a%20b", "ä\u2028c": "ä%E2%80%A8c"}
    assert [d for d, _ in back.get("q", ())] == [written.get(d, d) for d, _ in ranking]


@given(relevant=gains)
def test_written_qrels_read_back_to_a_thousandth(tmp_path_factory, relevant):
    """Gains survive a file to within half a thousandth; a relevant chunk stays one, a query without any stays too."""
    path = tmp_path_factory.mktemp("trec") / "qrels.trec"
    text, factor = format_qrels({"q": relevant})
    path.write_text(text, encoding="utf-8")
    back = read_qrels(path, factor)
    kept = {d: g for d, g in relevant.items() if g}
    assert back["q"] == pytest.approx(kept, abs=0.0005 + 1e-12)  # 0.0625 is written as 0.062
    assert set(back["q"]) == set(kept)


@given(order=st.permutations(["r/a.py", "r/b.py", "r/c.py", "copy of b"]))
def test_lines_have_their_numbers_whatever_is_read_first(order):
    """Runs in several threads share them, and no two files may share a number."""
    sizes = {"r/a.py": [1, 2], "r/b.py": [3, 0, 4], "r/c.py": [5]}
    lines = Lines(sizes, {"copy of b": Place("r/b.py", LineSpan(0, 1))})
    numbers = {file: lines.numbers(Place(file, LineSpan(0, len(lines[file])))) for file in order}
    assert numbers == {"r/a.py": range(2), "r/b.py": range(2, 5), "r/c.py": range(5, 6), "copy of b": range(6, 9)}
