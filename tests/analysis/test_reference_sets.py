"""The priors that ship: what a reference set says of candidates that it has, of others, and of questions that it lacks."""

import numpy as np
import pytest

from repoeval_bench.analysis.evidence import with_header
from repoeval_bench.analysis.shrinkage import OTHER
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.own.recommend.recommendation import about, read_reference_sets
from repoeval_bench.own.recommend.request import PASTED
from support.cases import cases
from support.written import benchmark, sources

CASES = cases(__file__)

HEADED = "ast:header=stem"
KNOWN = [("fixed", 500), ("ast", 1000), ("window", 2000)]


@pytest.fixture(scope="module")
def reference_sets():
    return read_reference_sets()


@pytest.mark.parametrize(
    ("language", "name"),
    [("python", "pypi-40"), ("tsx", "npm-12"), ("cpp", "native-8"), ("javascript", "js-12"), ("go", OTHER)],
)
def test_a_language_has_its_reference_set(reference_sets, language, name):
    assert reference_sets.of_language(language).name == name


@pytest.mark.parametrize(
    ("files", "language"),
    [
        ({"a.js": "run()\n", "a.d.ts": "declare function run(): void\n"}, "javascript"),
        ({"a.js": "run()\n", "a.ts": "function run(): void {}\n"}, "typescript"),
        ({"a.d.ts": "declare function run(): void\n"}, "typescript"),
    ],
)
def test_declarations_do_not_decide_the_main_language(files, language):
    assert next(iter(about(benchmark({"r": sources(files)}), {}).languages)) == language


def test_each_reference_set_has_the_three_questions_of_both_retrievers(reference_sets):
    """By BM25 with every candidate; by the model not those that were not measured with it. Commits ask hybrid too."""
    chunkers = {name for name, _ in reference_sets.candidates}
    assert {"fixed", "ast", HEADED, "recursive", "window", *(row.name for row in CHUNKERS if row.pasted)} == chunkers
    for reference_set in reference_sets.sets:
        assert {(question.protocol, question.retriever) for question in reference_set.questions} == {
            *(("commits", retriever) for retriever in ("bm25", "dense", "hybrid")),
            *((protocol, retriever) for protocol in ("uses", "docstring", "body") for retriever in ("bm25", "dense")),
        }
        for item in reference_set.questions:
            known = [mean for mean in item.means if mean is not None]
            assert len(item.means) == len(reference_sets.candidates) == 24
            of_model = 18 if item.protocol == "commits" else 15  # of commits a header's lead is known too
            assert len(known) == (24 if item.retriever == "bm25" else of_model)
            assert sum(known) == pytest.approx(0, abs=1e-3)
            assert 0.005 <= item.tau < 0.05


def test_every_candidate_has_what_an_edit_costs_in_other_repositories(reference_sets):
    """Those at sizes, and those that are tried as people paste them."""
    sized = {f"{name} at {size:,}" for name, size in reference_sets.candidates}
    shares = reference_sets.edits.shares
    assert sized | {*PASTED, "functions"} <= shares.keys()
    assert shares["ast at 500"] < shares["ast at 1,000"] < shares["ast at 2,000"] < shares["fixed at 2,000"] < 1


@pytest.mark.parametrize("protocol", ["uses", "docstring", "commits"])
def test_by_the_model_small_chunks_are_ahead(reference_sets, protocol):
    """It reads 256 tokens of a chunk."""
    for language in ("python", "typescript", "rust", "c"):
        sizes = [("ast", size) for size in (500, 1000)]
        smaller, larger = reference_sets.prior(language, protocol, "dense", sizes).mean
        assert smaller > larger


def test_the_other_set_is_the_mean_of_all(reference_sets):
    *packs, other = [
        [q.means for q in reference_set.questions if q.retriever == "bm25"] for reference_set in reference_sets.sets
    ]
    assert np.mean(packs, axis=0) == pytest.approx(np.array(other), abs=1e-4)


def test_a_candidate_that_the_set_has_is_what_was_measured(reference_sets):
    question = reference_sets.of_language("python").questions[0]
    result = reference_sets.prior("python", question.protocol, question.retriever, KNOWN)
    at = [reference_sets.candidates.index(spec) for spec in KNOWN]
    assert result.mean == pytest.approx([question.means[i] for i in at])
    assert result.deviation == pytest.approx([question.tau] * 3)
    rows = reference_sets.noise[question.protocol]
    assert np.diag(result.noise) == pytest.approx([rows[i][i] for i in at])
    assert result.noise[2, 0] == pytest.approx(rows[at[2]][at[0]])


def test_an_unknown_chunker_is_one_of_the_known_nobody_knows_which(reference_sets):
    question = next(q for q in reference_sets.of_language("python").questions if q.protocol == "docstring")
    result = reference_sets.prior("python", "docstring", question.retriever, [("mine", 500), *KNOWN])
    pairs = zip(question.means, reference_sets.candidates, strict=True)
    of_size = [mean for mean, (name, size) in pairs if size == 500 and name != HEADED]
    assert result.mean[0] == pytest.approx(np.mean(of_size))
    assert result.deviation[0] == pytest.approx(np.hypot(question.tau, np.std(of_size)))
    assert result.deviation[0] > result.deviation[1]
    assert np.linalg.eigvalsh(result.noise).min() > -1e-9


def test_a_candidate_that_the_model_did_not_rank_is_one_of_those_it_did(reference_sets):
    question = next(
        q for q in reference_sets.of_language("python").questions if (q.protocol, q.retriever) == ("uses", "dense")
    )
    result = reference_sets.prior("python", "uses", "dense", [("langchain", 1000), ("fixed", 1000)])
    pairs = zip(question.means, reference_sets.candidates, strict=True)
    of_size = [mean for mean, (_, size) in pairs if size == 1000 and mean is not None]
    assert result.mean[0] == pytest.approx(np.mean(of_size))
    assert result.deviation[0] > result.deviation[1] == pytest.approx(question.tau)
    at = reference_sets.candidates.index(("langchain", 1000))
    assert result.noise[0, 0] == pytest.approx(reference_sets.noise["uses"][at][at])


def test_a_header_is_expected_to_do_what_it_did_before_the_chunks_of_ast(reference_sets):
    """Of a chunker that was measured without it; a header that was not measured is expected to do nothing."""
    candidates = [
        ("ast", 1000),
        (HEADED, 1000),
        ("fixed", 1000),
        ("fixed:header=stem", 1000),
        ("fixed:header=path", 1000),
    ]
    ast, headed, fixed, like_it, other = reference_sets.prior("go", "commits", "bm25", candidates).mean
    assert headed - ast > 0.01
    assert like_it - fixed == pytest.approx(headed - ast)
    assert other == fixed
    mine, plain = reference_sets.prior("go", "commits", "bm25", [("mine:header=stem", 500), ("mine", 500)]).mean
    assert mine > plain
    by_model = reference_sets.prior("go", "uses", "dense", [("ast", 500), (HEADED, 500)]).mean
    assert by_model[0] == by_model[1]


@pytest.mark.parametrize(("spec", "headed"), CASES["headers"])
def test_a_header_is_added_where_a_chunker_can_have_one(spec, headed):
    """A command's commas are its own: it is never run with another argument."""
    assert with_header(spec) == headed


def test_a_size_between_two_is_between_them_and_less_certain(reference_sets):
    small, between, large = (
        reference_sets.prior("rust", "docstring", "bm25", [("ast", size)]) for size in (500, 700, 1000)
    )
    assert min(small.mean, large.mean) <= between.mean <= max(small.mean, large.mean)
    assert between.deviation > small.deviation
    near, far, none = (
        reference_sets.prior("rust", "docstring", "bm25", [("ast", size)]) for size in (2001, 4000, None)
    )
    assert near.mean == pytest.approx(reference_sets.prior("rust", "docstring", "bm25", [("ast", 2000)]).mean, abs=1e-3)
    assert (far.mean[0], far.deviation[0]) == pytest.approx((none.mean[0], none.deviation[0]))


@pytest.mark.parametrize(("protocol", "retriever"), [("context", "bm25"), ("uses", "hybrid")])
def test_nothing_is_expected_of_a_question_that_no_set_has(reference_sets, protocol, retriever):
    result = reference_sets.prior("python", protocol, retriever, KNOWN)
    assert result.mean == pytest.approx([0, 0, 0])
    assert result.deviation.min() > max(
        q.tau for q in reference_sets.of_language("python").questions if q.protocol == "uses"
    )


def test_a_broken_file_is_said(tmp_path):
    path = tmp_path / "priors.json"
    path.write_text('{"sets": 3}')
    with pytest.raises(DatasetError, match=r"priors\.json"):
        read_reference_sets(path)


def test_candidates_that_no_set_has_follow_their_own_scores_under_a_protocol_without_scores(reference_sets):
    """Nothing favours one of them: equal means, and a deviation at least as wide as those of known protocols."""
    candidates = [("ast", 1000), ("functions", None), ("langchain", 700)]
    prior = reference_sets.prior("python", "never-measured", "bm25", candidates)
    known = reference_sets.prior("python", "uses", "bm25", candidates)
    assert prior.mean.tolist() == [0, 0, 0]
    assert prior.deviation.min() >= known.deviation[0]
