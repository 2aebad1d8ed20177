"""What a recommendation says: the words of its answer, and the verdict that they are taken from."""

import re
from dataclasses import replace

import numpy as np
import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.evidence import Cost, GoldLead, SizedChunker, conclude, evidence_of
from repoeval_bench.analysis.shrinkage import Decision
from repoeval_bench.analysis.verdicts import Result, choose
from repoeval_bench.own.recommend.chosen import chosen_of
from repoeval_bench.own.recommend.recommendation import read_reference_sets
from repoeval_bench.report.comparison import paper_table
from repoeval_bench.report.html.report import report_page
from repoeval_bench.report.recommendation import answer_lines, recommendation_record, recommendation_table, setup_lines
from repoeval_bench.report.table import ScoreCell
from repoeval_bench.report.text import ends_in_points
from repoeval_bench.report.verdict import choice_sentences, verdict
from repoeval_bench.runs.request import RunRequest
from support.cases import cases
from support.runs import write_runs

CASES = cases(__file__)

NAMES = ("fixed", "ast", "recursive", "window", "functions")


def runs_of(folder, means, spread=0.05, queries=40, files=40):
    """Runs of queries in so many files, whose scores are spread by the same rule around each mean."""
    draws = np.random.default_rng(5)
    columns = {
        name: {"ndcg@10": np.clip(mean + draws.normal(0, spread, queries), 0, 1) * bool(mean)}
        for name, mean in means.items()
    }
    return write_runs(folder, columns, files=[f"f{i % files}.py" for i in range(queries)])


def concluded(*runs, retrievers=("bm25",), protocols=("uses",), languages=None, unread=None, current=None):
    """The recommendation of these runs, a list of them for each protocol by each retriever, or one for all."""
    questions = [(protocol, retriever) for protocol in protocols for retriever in retrievers]
    pairs_of_questions = [
        [
            (SizedChunker(name=name, size=500, spec=f"{name}:max_nws=500"), run)
            for name, run in zip(NAMES, of_question, strict=False)
        ]
        for of_question in (runs if len(runs) > 1 else runs * len(questions))
    ]
    reference_sets = read_reference_sets()
    evidence = [
        evidence_of(RunRequest(protocol=protocol, retriever=retriever), pairs, 0.3, "python", reference_sets)
        for (protocol, retriever), pairs in zip(questions, pairs_of_questions, strict=True)
    ]
    candidates = {candidate.label: candidate for candidate, _ in pairs_of_questions[0]}
    code = {"data": "data", "files": {"python": 40}, "languages": languages or {"python": 1.0}, "unread": unread or {}}
    return conclude(evidence, reference_sets=reference_sets, candidates=candidates, current=current, **code)


@pytest.mark.parametrize(("means", "begins"), CASES["first sentences"])
def test_the_first_sentence_says_if_switching_is_worth_it(tmp_path, means, begins):
    """The interval is that of the paired differences, and a difference that chance explains is no reason to switch."""
    result = concluded(runs_of(tmp_path, means, spread=0.05), current="fixed at 500")
    first = answer_lines(result)[0]
    assert first.startswith(begins)
    written = chosen_of(result)
    stays = first.startswith("Stay")
    assert written.spec == result.candidates["fixed at 500" if stays else "ast at 500"].spec
    if result.current.gains:
        if stays:
            assert written.opponent == result.candidates["ast at 500"].spec
            assert (
                "the best candidate (called the choice below) is ast with chunks of up to 500 "
                in answer_lines(result)[1]
            )
        (gain,) = result.current.gains
        assert gain.difference == pytest.approx(result.mean("ast at 500") - result.mean("fixed at 500"))
        low, high = gain.ci
        assert low < gain.difference < high
        assert (low > 0) == first.startswith("Switch")
        assert ends_in_points(gain.ci) in " ".join(answer_lines(result)[:2])
        sure = "Corrected for all 2 candidates, the gain is significant."
        assert (sure in first) == first.startswith("Switch")


def test_a_switch_says_if_its_lead_is_not_significant_among_all_candidates(tmp_path):
    result = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.9}), current="fixed at 500")
    alone = result.model_copy(
        update={"evidence": tuple(one.model_copy(update={"worse": frozenset()}) for one in result.evidence)}
    )
    assert "the gain is not certain: it may be chance, or due to one file." in answer_lines(alone)[0]


def test_the_answer_says_what_it_is_based_on(tmp_path):
    own = concluded(runs_of(tmp_path / "own", {"a": 0.5, "b": 0.9}, queries=400, files=400), protocols=("commits",))
    assert "This is based on 400 commits, from 400 files." in answer_lines(own)
    since = own.model_copy(update={"since": "2024-03"})
    assert "This is based on 400 commits since 2024-03, from 400 files." in answer_lines(since)
    few = concluded(runs_of(tmp_path / "few", {"a": 0.5, "b": 0.9}, spread=0.3, files=6))
    assert few.relies_on_others
    assert (
        "Your queries (40 uses of definitions) come from only 6 files, so this choice rests mainly on results from other "
        "repositories."
    ) in answer_lines(few)


def test_a_loss_has_one_unit_wherever_people_read_it(tmp_path):
    """Points in the table as in the answer, and percent for what is found; the record has shares."""
    result = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.505, "c": 0.4}, spread=0.3, files=8))
    table = recommendation_table(result)
    heads = [column.name for column in table.columns]
    means, losses = (
        {row[0]: row[heads.index(name)] for row in table.texts()} for name in ("uses bm25", "expected loss (points)")
    )
    record = recommendation_record(result, "here")
    assert {row.name: f"{100 * row.expected_loss:.1f}" for row in record.candidates} == losses
    assert means == {name: f"{mean:.1%}" for name, mean in result.evidence[0].means.items()}
    lost = losses[record.candidates[0].name]
    assert f"finds {'less than 0.1' if lost == '0.0' else lost} percentage points more than this one." in " ".join(
        answer_lines(result)
    )


def test_a_candidate_that_finds_more_here_and_loses_to_other_repositories_is_named(tmp_path):
    result = concluded(runs_of(tmp_path, {"a": 0.51, "b": 0.5}, spread=0.3, queries=40, files=40))
    first, second = result.decision.candidates
    lifted = replace(second, own=first.own + 0.008, prior=first.prior - 0.021)
    said = answer_lines(replace_decision(result, first, lifted))
    assert (
        f"On your code, {second.name} finds 0.8 points more than the choice. It is not chosen, because on other "
        "repositories it finds 2.1 points less."
    ) in said


@pytest.mark.parametrize(("lines", "exact", "definitions", "said"), CASES["leads of one gold"])
def test_a_lead_that_only_one_gold_has_is_said_to_be_so(tmp_path, lines, exact, definitions, said):
    result = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.9}), protocols=("commits",))
    lead = GoldLead(rival="ast", differences={"lines": lines, "exact": exact, "definitions": definitions})
    rests = [
        line for line in answer_lines(result.model_copy(update={"lead": lead})) if line.startswith("On your commits")
    ]
    assert rests == ([f"On your commits, {said}"] if said else [])


def replace_decision(result, *candidates):
    return result.model_copy(update={"decision": Decision(candidates=candidates)})


def test_the_action_comes_first_then_the_evidence_and_the_risk(tmp_path):
    runs = runs_of(tmp_path, {"a": 0.5, "b": 0.9, "c": 0.5}, queries=20, files=20)
    result = concluded(runs, protocols=("uses", "docstring"))
    use, measured, based, *rest = answer_lines(result)
    assert based == (
        "Your queries (20 uses of definitions and 20 docstrings) come from only 20 files, so this choice rests mainly on "
        "results from other repositories."
    )
    assert use.startswith("Use ast with chunks of up to 500 characters")
    assert measured.startswith("It finds 88 % of the definitions that the code uses (20 files) and 88 % of the lines")
    assert measured.endswith(
        "the best candidate, whichever it is, finds less than 0.1 percentage points more than this one."
    )
    assert rest[-1] == (
        "The choice is significantly better than 2 of the 2 others under uses with BM25 and 2 under docstring with BM25 "
        "(corrected for all pairs of candidates)."
    )
    assert result.choice.name == "ast"
    assert result.decision.choice.expected_loss < 0.005


def test_its_page_begins_with_the_choice_and_ranks_the_candidates_as_it_does(tmp_path):
    """By expected loss, under their names, with the Python to paste; not by the means of its first question."""
    by_words = runs_of(tmp_path / "words", {"a": 0.52, "b": 0.5, "c": 0.3})
    by_model = runs_of(tmp_path / "model", {"a": 0.5, "b": 0.9, "c": 0.3})
    result = concluded(by_words, by_model, protocols=("uses", "docstring"))
    page = report_page(by_words, "page.html", answer=result)
    assert f'class="verdict">{answer_lines(result)[0]}</h2>' in page
    table = page[page.index('id="ranking"') : page.index("</table>", page.index('id="ranking"'))]
    names = re.findall(r'class="key"></span>([^<]*)<', table)
    assert names == [candidate.name for candidate in result.decision.candidates]
    assert names == ["ast at 500", "fixed at 500", "recursive at 500"]
    heads = re.findall(r"<button[^>]*>([^<]*)<", table)
    assert heads[:4] == ["candidate", "uses bm25", "docstring bm25", "expected loss (points)"]
    losses = [float(loss) for loss in re.findall(r'data-column="expected_loss" data-value="([^"]*)"', table)]
    assert losses == [100 * candidate.expected_loss for candidate in result.decision.candidates]
    assert "make_chunker(&#34;ast:max_nws=500&#34;)" in page
    behind = result.decision.candidate("recursive at 500").to_choice
    assert (
        behind[0] < result.decision.candidate("recursive at 500").score - result.decision.choice.score < behind[1] < 0
    )
    assert result.decision.choice.to_choice == (0, 0)


def test_the_heading_of_its_page_is_the_first_sentence_alone(tmp_path):
    runs = runs_of(tmp_path, {"a": 0.5, "b": 0.9})
    answer = concluded(runs, current="fixed at 500")
    first, _, rest = answer_lines(answer)[0].partition(". ")
    page = report_page(runs, "page.html", answer=answer)
    assert f"{first}.</h2>" in page
    assert f"<p>{rest}</p>" in re.sub(r'<span class="whole">([^<]*)</span>', r"\1", page)


def test_a_difference_that_too_few_files_cannot_show_is_not_called_none(tmp_path):
    """The smallest p of 6 files is 1/32, and Holm multiplies it by the 3 pairs; with 8 files it is below 0.04."""
    means = {"a": 0.5, "b": 0.5001, "c": 0.4999}
    many = concluded(runs_of(tmp_path / "many", means, spread=0.2))
    assert "for all pairs of 3 candidates, no difference from the choice is significant" in answer_lines(many)[-1]
    few = concluded(runs_of(tmp_path / "few", means, spread=0.2, files=6))
    assert (
        "from only 6 files. With 3 candidates to compare, no difference can be significant below 8 files."
        in answer_lines(few)[-1]
    )


def test_fewer_than_20_queries_give_the_default_and_what_shows_it(tmp_path):
    """Nothing is estimated from them; the loss is that on the repositories of the language."""
    result = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.9}, queries=19), languages={"python": 0.8, "rust": 0.2})
    assert (result.decision, result.choice, result.few) == (None, None, {"uses": 19})
    use, header, why, languages, way_out = answer_lines(result)
    assert use == "Use ast:header=stem with chunks of up to 1,260 characters without whitespace: the default."
    assert header.startswith("Each chunk begins with a header: the file's name")
    assert why.startswith(
        "Chunkers cannot be compared on this code: it has 19 queries of uses; a choice needs at least 20. "
        "The default comes from 40 python repositories, ranked by BM25. Expected loss: "
    )
    assert languages.startswith("The code is 80 % python, 20 % rust.")
    assert way_out.endswith("name more of it, or give your own queries with --queries.")
    own = concluded(runs_of(tmp_path / "own", {"a": 0.5, "b": 0.9}, queries=19), protocols=("questions",))
    assert answer_lines(own)[-1] == "To measure on your code, give more queries with --queries."
    assert setup_lines(result)[:3] == [
        "repoeval-bench: the default",
        "    from repoeval_bench import make_chunker",
        '    chunker = make_chunker("ast:max_nws=1260,header=stem")',
    ]
    assert 0 < result.default.expected_loss < 0.1
    rust = concluded(runs_of(tmp_path / "rust", {"a": 0.5, "b": 0.9}, queries=19), languages={"rust": 1.0})
    assert "The default comes from 8 rust, c, cpp repositories, ranked by BM25." in " ".join(answer_lines(rust))


def test_where_the_model_ranks_the_default_is_what_it_reads_whole(tmp_path):
    """It reads 256 tokens of a chunk."""
    few = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.9}, queries=19), retrievers=("dense",))
    use, _, why, *_ = answer_lines(few)
    assert use == "Use ast:header=stem with chunks of up to 630 characters without whitespace: the default."
    assert "ranked by the embedding model." in why


@pytest.mark.parametrize(
    ("current", "said"),
    [
        ("ast at 500", r"On these repositories ast at this size finds \d\.\d points (more|less) than the default\.$"),
        ("functions at 500", "and no other repository has scores of it.$"),
    ],
)
def test_what_cannot_be_measured_is_said_of_the_current_chunker_too(tmp_path, current, said):
    means = dict.fromkeys("abcde", 0.5)
    result = concluded(runs_of(tmp_path, means, queries=19), current=current)
    (line,) = [line for line in answer_lines(result) if line.startswith(f"{current} could not be measured either")]
    assert re.search(said, line)


@pytest.mark.parametrize(("unread", "said"), CASES["covers"])
def test_the_answer_says_what_it_covers(tmp_path, unread, said):
    """Less than a tenth of the files is not worth a line."""
    result = concluded(runs_of(tmp_path, {"a": 0.5, "b": 0.9}), unread=unread)
    assert [line for line in answer_lines(result) if line.startswith("This covers")] == ([said] if said else [])


def test_where_every_run_scores_0_there_is_no_best(tmp_path):
    """Neither the answer nor the verdict names one, nor a gain or a price."""
    runs = runs_of(tmp_path, {"a": 0.0, "b": 0.0})
    assert answer_lines(concluded(runs)) == ["No candidate retrieved a target, so none is better than another."]
    for some in (runs, runs[:1]):
        assert verdict(some).record.result is Result.NOTHING_FOUND
        assert ("target" if len(some) > 1 else "scores 0") in verdict(some).text
    result = choose(runs)
    assert choice_sentences(result) == [verdict(runs).text]
    assert "no run retrieved a target" in repr(result)
    rows = paper_table(runs, compare(runs), ["ndcg@10"]).rows
    assert not any(cell.best for row in rows for cell in row.cells if isinstance(cell, ScoreCell))


def test_without_commits_the_cost_of_an_edit_is_that_of_other_repositories(tmp_path):
    answer = concluded(runs_of(tmp_path, {"fixed": 0.4, "ast": 0.6}))
    cost = Cost(chunks=9, vector_bytes=None, edited=0.15)
    answer = answer.model_copy(update={"costs": {answer.choice.label: cost}, "edits_elsewhere": 25})
    words = " ".join(answer_lines(answer))
    assert "After an edit, about 15 % of the file is embedded again (mean of 25 other repositories" in words
    (note,) = (note for note in recommendation_table(answer).notes if note.startswith("embedded again"))
    assert note.endswith(" (- if not measured), mean over commits of 25 other repositories")
