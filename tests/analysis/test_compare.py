"""Comparing stored runs: what is said, what is refused, and what the procedure as a whole gets wrong."""

import re

import numpy as np
import pytest

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.diff import diff
from repoeval_bench.analysis.records import Outcome, PairVerdict
from repoeval_bench.analysis.verification import TOLERANCE
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.comparison import ComparedRow, comparison_notes, comparison_tables
from repoeval_bench.runs.records import RunConfig
from support.cases import cases
from support.runs import edit, read_rows, set_config, write_rows, write_run, write_runs

CASES = cases(__file__)

NOT_SIGNIFICANT = PairVerdict(outcome=Outcome.NOT_SIGNIFICANT)
FILES = [f"f{i // 4}.py" for i in range(120)]
REPOS = [f"r{i // 40}" for i in range(120)]


def rng(seed=1):
    return np.random.default_rng(seed)


def pair(tmp_path, differences, **options):
    """Two runs whose one measure differs by `differences`."""
    base = rng().uniform(0.3, 0.6, len(differences))
    settings = {"files": FILES[: len(base)], "repos": REPOS[: len(base)], **options}
    return write_runs(tmp_path, {"a": {"ndcg@10": base}, "b": {"ndcg@10": base + differences}}, **settings)


def only(tmp_path, differences, equivalence=None, **options):
    runs = pair(tmp_path, np.asarray(differences), **options)
    (result,) = compare(runs, runs[0], equivalence=equivalence)
    return result


def test_a_clear_difference_is_better_or_worse(tmp_path):
    """The verdict follows the sign of the deciding mean where the adjusted p is below 5 %."""
    c = only(tmp_path, rng(2).normal(0.1, 0.05, 120))
    assert (c.verdict.outcome, c.n_queries, c.n_clusters, c.clustered_by) == (Outcome.BETTER, 120, 30, "file")
    assert c.ci[0] > 0
    assert only(tmp_path, rng(2).normal(-0.1, 0.05, 120)).verdict.outcome is Outcome.WORSE


def test_the_protocols_headline_decides(tmp_path):
    """With a macro headline the macro mean's p is adjusted and worded."""
    differences = np.where(np.array(REPOS) == "r0", 0.0, rng(2).normal(0.1, 0.05, 120))
    c = only(tmp_path, differences, headline="macro")
    assert c.headline == "macro"
    assert c.p_adjusted == c.macro.p_strict
    of_repositories = [differences[i : i + 40].mean() for i in (0, 40, 80)]
    assert c.difference == c.macro.difference == pytest.approx(np.mean(of_repositories))


@pytest.mark.parametrize(("files", "outcome"), [(6, Outcome.CARRIED), (7, Outcome.BETTER)])
def test_a_single_test_takes_seven_files(tmp_path, files, outcome):
    """All of six files favour a run: p is 1/32, but 1/16 without any one of them."""
    differences = rng(4).uniform(0.1, 0.2, files)
    assert only(tmp_path, differences, files=[f"f{i}.py" for i in range(files)]).verdict.outcome is outcome


def test_equality_is_said_by_the_strict_ends_only(tmp_path):
    """Noise is not significant; with a margin it is equal within that if the interval, widened, lies within it."""
    noise = rng(3).normal(0, 0.02, 120)
    plain = only(tmp_path, noise)
    assert plain.verdict == NOT_SIGNIFICANT
    furthest = max(map(abs, plain.ci))
    assert only(tmp_path, noise, equivalence=1.1 * furthest).verdict == NOT_SIGNIFICANT
    assert only(tmp_path, noise, equivalence=1.3 * furthest).verdict.outcome is Outcome.EQUAL
    assert only(tmp_path, noise, equivalence=0.05).verdict == PairVerdict(outcome=Outcome.EQUAL, within=0.05)
    assert only(tmp_path, noise, equivalence=0.0001).verdict == NOT_SIGNIFICANT
    assert only(tmp_path, noise + 0.03, equivalence=0.2).verdict == PairVerdict(outcome=Outcome.BETTER, within=0.2)


def test_ties_everywhere_are_equal_where_the_clusters_are_many(tmp_path):
    """That few files tie shows nothing of others: of margin m, (1 - m)^files is to be below 0.05."""
    zeros = np.zeros(120)  # in 30 files
    tied = only(tmp_path, zeros)
    assert (tied.p_adjusted, tied.ci, tied.verdict) == (1, (0.0, 0.0), NOT_SIGNIFICANT)
    assert (tied.wins, tied.ties, tied.losses) == (0, 120, 0)
    assert only(tmp_path, zeros, equivalence=0.1).verdict.outcome is Outcome.EQUAL
    assert only(tmp_path, zeros, equivalence=0.09).verdict == NOT_SIGNIFICANT
    alone = {"files": [f"f{i}.py" for i in range(120)]}
    assert only(tmp_path, zeros, equivalence=0.03, **alone).verdict.outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    "differences", [[0.0] * 20, [0.5] + [0.0] * 19, [0.01] * 10 + [-0.01] * 3], ids=["no", "one", "most"]
)
@pytest.mark.parametrize("n_runs", [2, 4], ids="{} runs".format)
def test_what_verify_takes_for_the_same_moves_no_verdict(tmp_path, differences, n_runs):
    """Neither with equal scores, nor where flips of the signs give the very mean that was observed."""
    honest = np.array(differences)
    base = np.full(len(honest), 0.5)
    results = []
    for name, error in (("honest", 0.0), ("moved", 0.99 * TOLERANCE)):
        columns = {"a": base - error, "b": base + honest * 0.5 + error * np.where(honest < 0, -1, 1)}
        columns |= {f"c{i}": base * i / 10 for i in range(2, n_runs)}
        runs = write_runs(tmp_path / name, {run: {"mrr": values} for run, values in columns.items()})
        assert len(diff(*runs[:2], "mrr").changes) == np.count_nonzero(honest)
        c = compare(runs)[0]
        results.append((c.verdict, c.micro.p, c.wins, c.ties, c.losses))
    assert results[0] == results[1]
    assert results[0][1] > 0.05


def test_one_query_only(tmp_path):
    """One query shows nothing: no interval, p = 1, and the tables still print."""
    c = only(tmp_path, np.array([0.4]), equivalence=0.1)
    assert c.ci is None
    assert (c.p_adjusted, c.verdict) == (1.0, NOT_SIGNIFICANT)
    assert len(comparison_tables([c])[0].rows) == 1
    assert ComparedRow(comparisons=[c], choice=None, left_out={}).as_json()["comparisons"][0]["ci"] is None


def test_gold_without_files_clusters_by_query(tmp_path):
    """Rows without a path are clustered by query."""
    c = only(tmp_path, rng(4).normal(0, 0.1, 120), files=None)
    assert (c.clustered_by, c.n_clusters) == ("query", 120)


def test_clusters_are_called_unequal_where_they_are(tmp_path):
    """Files of one query each have one size; one file with half of all queries makes them tell less than their number."""
    differences = rng(4).normal(0, 0.1, 120)
    alone, half = [f"{i}.py" for i in range(120)], ["0.py"] * 60 + [f"{i}.py" for i in range(60, 120)]
    notes = comparison_notes([only(tmp_path / "a", differences, files=alone)])
    assert "effective number: the 120 files count like 120 of equal size" in notes
    notes = comparison_notes([only(tmp_path / "b", differences, files=half)])
    assert "effective number: the 62 files count like 7 of equal size" in notes


def test_queries_in_another_order_are_paired_by_id(tmp_path):
    """Stored order plays no part."""
    values = rng().uniform(size=120)
    a = write_run(tmp_path / "a", {"mrr": values.tolist()}, files=FILES)
    ids = [f"q{i:06d}" for i in range(120)][::-1]
    b = write_run(tmp_path / "b", {"mrr": values[::-1].tolist()}, files=FILES[::-1], query_ids=ids)
    (c,) = compare([a, b], a)
    assert (c.ties, c.difference) == (120, 0.0)


def restate(run, *, config=None, hashes=None):
    """The run with what its files state about the benchmark's definition changed."""
    run = set_config(run, **{"pack": "p@1", "choices": {"relevance": "overlap", "gold": "body"}} | (config or {}))
    rows = read_rows(run.folder / "per_query.jsonl.gz")
    for row in rows:
        row["query_sha256"] = (hashes or {}).get(row["query_id"], "0" * 64)
    write_rows(run.folder / "per_query.jsonl.gz", rows)
    return type(run)(run.folder)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"config": {"pack": "p@2"}}, "pack p@1 against p@2"),
        ({"config": {"choices": {"relevance": "iou:0.5", "gold": "body"}}}, "relevance overlap against iou:0.5"),
        ({"config": {"choices": {"relevance": "overlap", "gold": "prompt"}}}, "gold body against prompt"),
        ({"hashes": {"q000001": "1" * 64}}, "another text of 1 of 3 queries (such as q000001)"),
    ],
)
def test_another_definition_of_the_benchmark_is_seen(tmp_path, changed, message):
    """Pack, relevance, gold and every query's text: a run in which one of them changed is refused by its name."""
    a, b = (restate(write_run(tmp_path / name, {"mrr": [0.1, 0.2, 0.3]})) for name in "ab")
    compare([a, b], a)
    with pytest.raises(UsageError) as error:
        compare([a, restate(b, **changed)], a)
    assert message in str(error.value)


class NewOption(RunConfig):
    """A stored request with an option that nothing else names."""

    window: int = 5


def test_a_new_option_is_compared(tmp_path):
    """Runs that differ in it answer two questions; the names of a request that may differ are listed instead."""

    def with_option(run, **changed):
        option = NewOption(**dict(run.manifest.config) | changed)
        run.__dict__["manifest"] = run.manifest.model_copy(update={"config": option})
        return run

    a, b = (with_option(write_run(tmp_path / name, {"mrr": [0.1, 0.2, 0.3]})) for name in "ab")
    compare([a, b])
    compare([a, with_option(b, chunker="x", retriever="y", measures=("mrr",), skip_errors=True)])
    compare([with_option(b, window=7), write_run(tmp_path / "log", {"mrr": [0.1, 0.2, 0.3]}, imported=True)])
    with pytest.raises(UsageError, match="a and b: window 5 against 7"):
        compare([a, b])


@pytest.mark.parametrize(("options", "message"), CASES["usage errors"])
def test_usage_errors(tmp_path, options, message):
    """A measure that is not there, and a margin that is none."""
    a, b = (write_run(tmp_path / name, {"mrr": [1.0, 0.5]}) for name in "ab")
    with pytest.raises(UsageError, match=re.escape(message)):
        compare([a, b], a, **options)
    with pytest.raises(UsageError, match="at least two different runs"):
        compare([a, a], a)


def test_runs_are_named_by_what_differs(tmp_path):
    """The chunker alone, chunker and retriever together, or the folders of two runs of one configuration."""
    a = write_run(tmp_path / "a", {"mrr": [1.0]}, chunker="ast")
    b = write_run(tmp_path / "b", {"mrr": [1.0]}, chunker="fixed", retriever="bm25")
    again = write_run(tmp_path / "old" / "a", {"mrr": [1.0]}, chunker="ast")
    assert run_names([a, b]) == ["ast · dense", "fixed · bm25"]
    assert run_names([a, again]) == [str(a.folder), str(again.folder)]


def test_a_family_spans_all_pairs_and_the_secondary_measures(tmp_path):
    """With a baseline Holm runs over the others; the first measure is tested alone where no headline was scored."""
    measures = dict(enumerate(("mrr", "hit@5", "hit@9")))
    columns = {name: {measures[j]: rng(i + j).uniform(size=40) for j in measures} for i, name in enumerate("abc")}
    runs = write_runs(tmp_path, columns)
    result = compare(runs, runs[1])
    assert [(c.treatment, c.measure) for c in result] == [(name, m) for name in "ac" for m in ("mrr", "hit@5", "hit@9")]
    assert [c.family for c in result] == [2, 4, 4] * 2
    assert [c.primary for c in result] == [True, False, False] * 2
    assert all(c.p_adjusted >= c.micro.p for c in result)


def three(tmp_path, **options):
    """a, b slightly and c clearly better than a, each with two measures."""
    base = rng().uniform(0.3, 0.6, 120)
    columns = {
        name: {m: base + by + rng(at + len(m)).normal(0, 0.05, 120) for m in ("mrr", "hit@5")}
        for at, (name, by) in enumerate((("a", 0.0), ("b", 0.02), ("c", 0.1)))
    }
    return write_runs(tmp_path, columns, files=FILES, repos=REPOS, **options)


def test_without_a_baseline_every_pair_is_compared(tmp_path):
    """Later minus earlier, Holm over all of them; the numbers of a pair are those it has alone, but for the family."""
    runs = three(tmp_path)
    result = compare(runs)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [(*pair, m) for pair in pairs for m in ("mrr", "hit@5")]
    assert [(c.baseline, c.treatment, c.measure) for c in result] == expected
    assert {c.family for c in result} == {3}
    alone = compare(runs[1:])
    assert [(c.difference, c.wins, c.losses, c.micro.p) for c in result[4:]] == [
        (pytest.approx(c.difference), c.wins, c.losses, c.micro.p) for c in alone
    ]
    for of_measure in (result[::2], result[1::2]):
        ordered = sorted(c.micro.p_strict for c in of_measure)
        stepped = np.minimum(1, np.maximum.accumulate([(3 - i) * p for i, p in enumerate(ordered)]))
        assert sorted(c.p_adjusted for c in of_measure) == pytest.approx(stepped.tolist())
    assert result[5].micro.baseline == runs[1].metrics.micro["hit@5"]
    assert result[5].micro.treatment == runs[2].metrics.micro["hit@5"]


@pytest.mark.parametrize("n_runs", [2, 3, 4])
def test_a_measures_name_finds_one_comparison_for_each_pair(tmp_path, n_runs):
    """Whatever the number of runs, in the order of the pairs; printed, a line each."""
    runs = write_runs(
        tmp_path, {str(i): dict.fromkeys(("ndcg@10", "mrr"), rng(i).uniform(size=20)) for i in range(n_runs)}
    )
    compared = compare(runs)
    of_mrr = compared["MRR"]
    assert len(of_mrr) == n_runs * (n_runs - 1) // 2
    assert of_mrr == [difference for difference in compared if difference.measure == "mrr"]
    assert str(of_mrr).splitlines() == list(map(repr, of_mrr))
    assert len(compare(runs, runs[0])["mrr"]) == n_runs - 1


def test_a_ceiling_is_compared_and_not_tested(tmp_path):
    """Its difference and interval are given without a p or a verdict, and the others' p is adjusted without it."""
    base = rng().uniform(0.3, 0.6, 120)
    up = {"a": 0.0, "b": rng(2).normal(0.1, 0.05, 120)}
    columns = {name: {"mrr": base + by, "mrr_ceiling": base + 0.1 + by} for name, by in up.items()}
    runs = write_runs(tmp_path, columns, files=FILES)
    score, ceiling = compare(runs, equivalence=0.5)
    assert (score.family, score.verdict) == (1, PairVerdict(outcome=Outcome.BETTER, within=0.5))
    assert (ceiling.verdict.outcome, ceiling.p_adjusted) == (Outcome.NOT_TESTED, None)
    assert ceiling.difference == pytest.approx(score.difference)
    assert ceiling.ci == pytest.approx(score.ci)
    (table,) = comparison_tables([score, ceiling])
    assert table.texts()[1][2] == "-"
    assert len(table.rows) == 2
    (alone,) = compare(runs, measures=["mrr_ceiling"])
    assert (alone.verdict.outcome, alone.family) == (Outcome.NOT_TESTED, 0)


def test_many_runs_leave_room_for_a_verdict(tmp_path):
    """Holm over many pairs multiplies the smallest p that draws can give; more are drawn, so that it still passes."""
    columns = {f"r{n}": {"mrr": rng(n).uniform(0.3, 0.4, 120) + 0.05 * n} for n in range(5)}
    result = compare(write_runs(tmp_path, columns, files=FILES))
    assert result[0].family == 10
    assert {c.verdict.outcome for c in result} == {Outcome.BETTER}
    assert max(c.p_adjusted for c in result) <= 0.01


def test_every_pair_has_a_table(tmp_path):
    """Two pairs with one treatment are two tables."""
    base = rng().uniform(0.3, 0.4, 120)
    moved = rng(5).normal(0.1, 0.01, 120)
    values = {"a": base, "b": base + rng(6).normal(0, 0.001, 120), "c": base + moved}
    runs = write_runs(tmp_path, {name: {"mrr": column} for name, column in values.items()}, files=FILES, repos=REPOS)
    result = compare(runs)
    titles = [" ".join(table.title).partition(":")[0] for table in comparison_tables(result)]
    assert titles == ["b minus a", "c minus a", "c minus b"]


def test_each_pair_has_to_be_comparable(tmp_path):
    """Two runs of two precisions are refused although a first one without vectors goes with both."""
    runs = three(tmp_path)
    for run, precision in zip(runs, (None, "bf16", "fp32"), strict=True):
        set_config(run, embedder_identity={"precision": precision} if precision else {})
        edit(run, "metrics.json", embedder=str(precision))
    runs = [type(run)(run.folder) for run in runs]
    compare(runs, runs[0])
    with pytest.raises(UsageError, match="b and c: the embedder's precision"):
        compare(runs)


def test_every_unlike_run_is_told_once_with_all_its_differences(tmp_path):
    """Beside the first run that it differs from; of another protocol that alone. One alone is reported as before."""
    dataset = {"name": "made", "fingerprint": "1" * 12, "label": "made · 1"}
    other_queries = {"dataset": dataset, "query_ids": ["q000001", "other"]}
    like, deep, other, again = (
        write_run(tmp_path / name, {"mrr": [0.1, 0.2]}, **changed)
        for name, changed in (
            ("a", {}),
            ("b", {"k": 7}),
            ("c", {"k": 7, "protocol": "body", **other_queries}),
            ("d", {}),
        )
    )
    with pytest.raises(UsageError) as error:
        compare([like, deep, other, again])
    assert str(error.value).split("\n  ")[1:] == [
        "a and b: k 100 against 7",
        "a and c: protocol context against body",
    ]
    with pytest.raises(UsageError) as error:
        compare([again, like, deep])
    assert all(part in str(error.value) for part in ("d and b", "k 100 against 7"))


@pytest.mark.slow
def test_the_whole_procedure_is_wrong_in_at_most_five_percent(tmp_path):
    """Under the null a significant primary measure is rare, and so is any of four secondary ones with Holm."""
    source = rng(8)
    wrong, trials = {True: 0, False: 0}, 150
    for _ in range(trials):
        base = source.uniform(0.3, 0.6, 120)
        shared = source.normal(0, 0.1, 30).repeat(4)
        names = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "mrr")
        moved = {name: base + shared + source.normal(0, 0.1, 120) for name in names}
        runs = write_runs(tmp_path, {"a": dict.fromkeys(names, base), "b": moved}, files=FILES)
        result = compare(runs, runs[0])
        for primary in wrong:
            wrong[primary] += any(c.p_adjusted < 0.05 for c in result if c.primary is primary)
    assert max(wrong.values()) / trials <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / trials)


def test_diff_says_why_a_score_changed(tmp_path):
    """Other chunks, another order of the same, or other judgements of the same; equal scores are left out."""
    before = {"chunks": ["a", "b"], "order": ["a", "b"], "judged": ["a", "b"], "same": ["a", "b"]}
    after = {"chunks": ["a", "c"], "order": ["b", "a"], "judged": ["a", "b"], "same": ["a", "b"]}
    gold = {name: {"b": 1.0} for name in before}
    other = {**gold, "judged": {"a": 1.0, "b": 1.0}}
    runs = [
        write_run(tmp_path / name, {"ndcg@2": values}, query_ids=list(before), topk=topk, qrels=qrels)
        for name, values, topk, qrels in (
            ("first", [0.5] * 4, before, gold),
            ("second", [0.0, 1.0, 0.7, 0.5], after, other),
        )
    ]
    changed = diff(*runs, "ndcg@2")
    assert (changed.baseline, changed.treatment, changed.n_queries) == ("first", "second", 4)
    why = {"chunks": "other chunks", "order": "other order", "judged": "other judgements"}
    assert [(c.query_id, c.why) for c in changed.changes] == [*why.items()]
    chunks, _, judged = changed.changes
    assert (chunks.baseline.first_hit, chunks.treatment.first_hit, chunks.shared) == (2, None, 1)
    assert (judged.baseline.relevant, judged.treatment.relevant) == (1, 2)
