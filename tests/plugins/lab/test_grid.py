"""The grid's arithmetic: intervals, verdicts, bands and flips."""

import json
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from repoeval_bench.analysis.statistics import SEED, Sample, intervals
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.repoeval import OUTSIDE_THE_SIX
from repoeval_bench.metrics import Lines
from repoeval_bench.plugins.lab.grid import (
    Cell,
    GridRequest,
    Scores,
    _Candidate,
    _Setting,
    check_grid,
    grid_problems,
    make_protocols,
    scoring_protocols,
)
from repoeval_bench.plugins.lab.report.sensitivity import sensitivity_tables
from repoeval_bench.plugins.lab.sensitivity import PairedResult, flips, paired_results, placebo_bands
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.retrieval.corpus import build_corpus
from repoeval_bench.runs.problems import Problems
from support.written import task

CELL = Cell("context", "bm25", "ndcg@10")


def result(*values):
    """A result with these fields, in their order."""
    return PairedResult(**dict(zip((field.name for field in fields(PairedResult)), values, strict=True)))


def scores(values, headline="micro", repos=None, files=None):
    n = len(values)
    return Scores(
        np.array(values, dtype=float), tuple(repos or ["r"] * n), tuple(files or map(str, range(n))), headline
    )


@pytest.mark.parametrize(
    ("difference", "ci", "band", "verdict", "of_redundancy"),
    [
        (0.2, (0.1, 0.3), None, "wins", "loses"),
        (-0.2, (-0.3, -0.1), 0.1, "loses", "wins"),
        (0.1, (0.05, 0.15), 0.1, "noise", "noise"),
        (0.1, (-0.05, 0.25), 0.0, "undecided", "undecided"),
        (0.0, (0.0, 0.0), None, "undecided", "undecided"),
        (0.4, None, None, "undecided", "undecided"),
    ],
)
def test_verdicts(difference, ci, band, verdict, of_redundancy):
    """An interval over 0 decides nothing; within the placebo band is noise; the lower mean of redundancy wins."""
    for cell, said in ((CELL, verdict), (Cell("context", "bm25", "redundancy@10"), of_redundancy)):
        contest = result("a", "b", "nominal", cell, (0.5, 0.5 - difference), difference, ci, band, 9, 3, "micro")
        assert contest.verdict == contest.as_dict()["verdict"] == said


def test_means_are_the_headlines():
    """Micro is over queries, macro over repositories."""
    assert scores([1, 0, 0], repos=["x", "y", "y"]).mean() == pytest.approx(1 / 3)
    assert scores([1, 0, 0], "macro", repos=["x", "y", "y"]).mean() == 0.5


def test_the_band_is_the_spread_of_the_means():
    """Largest minus smallest mean over offsets that should not differ; none for no offsets."""
    assert placebo_bands([{CELL: scores([0, 1])}, {CELL: scores([1, 1])}, {CELL: scores([0, 0])}]) == {CELL: 1.0}
    assert placebo_bands([]) == {}


def test_every_pair_meets_in_every_cell_and_flips_are_the_minority():
    """Three chunkers give three contests a cell; cells against a pair's majority are listed."""
    cells = [Cell("context", "bm25", name) for name in ("m1", "m2", "m3")]
    high, low = scores([0.9, 0.8] * 4), scores([0.1, 0.2, 0.1, 0.15] * 2)
    scored = {
        "a": {cells[0]: high, cells[1]: high, cells[2]: low},
        "b": {cells[0]: low, cells[1]: low, cells[2]: high},
        "c": {cells[0]: low, cells[1]: low, cells[2]: high},
    }
    actual = paired_results(scored, "nominal", {})
    assert len(actual) == 9
    assert [(c.a, c.b, c.cell.measure, c.verdict) for c in flips(actual)] == [
        ("a", "b", "m3", "loses"),
        ("a", "c", "m3", "loses"),
    ]
    draw = [c for c in actual if (c.a, c.b) == ("a", "b") and c.cell.measure != "m1"]
    assert len(flips(draw)) == 2


def test_intervals_are_those_of_compare():
    """Each cell's is the interval of its differences alone, signs of files flipped, whatever other cells there are."""
    rng = np.random.default_rng(5)
    files = [f"f{i // 3}" for i in range(60)]
    repos = ["x" if i < 30 else "y" for i in range(60)]
    cells = [Cell("context", "bm25", "m"), Cell("code-chunk", "bm25", "m")]
    means = dict(zip(cells, ("micro", "macro"), strict=True))
    scored = {
        name: {cell: scores(rng.uniform(size=60), mean, repos, files) for cell, mean in means.items()} for name in "ab"
    }
    for contest, make in zip(paired_results(scored, "nominal", {}), (Sample.micro, Sample.macro), strict=True):
        ours, theirs = scored["a"][contest.cell], scored["b"][contest.cell]
        groups = [repos] if contest.headline == "macro" else []
        sample = make(ours.values - theirs.values, files, *groups)
        assert [contest.ci] == intervals(sample, np.random.default_rng(SEED))
        assert contest.difference == pytest.approx(ours.mean() - theirs.mean())
        assert contest.means == (ours.mean(), theirs.mean())
        assert (contest.n_queries, contest.n_files) == (60, 20)


def test_a_cell_says_everything_that_a_reader_groups_by():
    """Protocol, its choices, retriever, measure, both means, interval, band, verdict: plain values."""
    cell = Cell("body+query=full+relevance=iou:0.2", "bm25", "ndcg@10")
    record = result("a", "b", "nominal", cell, (0.75, 0.5), 0.25, None, None, 9, 3, "micro").as_dict()
    assert json.loads(json.dumps(record)) == record
    plain = {"base_protocol": "body", "query": "full", "gold": "body", "relevance": "iou:0.2"}
    assert record.items() >= (plain | {"mean_a": 0.75, "mean_b": 0.5}).items()
    page = (Path(__file__).resolve().parents[3] / "docs" / "protocols.md").read_text()
    assert [key for key in record if f"`{key}`" not in page] == []


def wrong(**options):
    """The sentences about a grid; nothing is fetched before it."""
    actual = Problems()
    check_grid(GridRequest.of(options), None, actual)
    return list(dict.fromkeys(problem.sentence for problem in actual.mistakes))


NAMES = {
    "chunkers": ["asst", "fixed:max_nsw=1"],
    "embedder": "minilmm",
    "protocols": ["bdy"],
    "queries": ["tail"],
    "relevances": ["iou:2"],
    "retrievers": ["bm26"],
    "measures": ["ndgc@10"],
    "placebo": 1,
}
PARTS = {
    "chunkers": ["ast", "ast:max_nws=1500"],
    "embedder": "hash:dim=8",
    "measures": ["mrr"],
    "protocols": ["coderag", "code-chunk+scope=pooled"],
    "queries": ["full"],
    "relevances": ["overlap"],
    "retrievers": ["oracle", "rerank:overlap"],
    "placebo": 0,
}
CANNOT = (
    *("two different chunkers", "coderag cannot be in a grid", "scope=pooled cannot be in a grid"),
    "knows the answers",
)


@pytest.mark.parametrize(
    ("options", "n", "pieces"),
    [
        (NAMES, 9, ("'ast'", "'max_nws'", "'body'", "'tail'", "iou:2", "'bm25'", "'ndcg'", "'minilm'", "2 to 20")),
        # One chunker under two names, fixed documents, another scope, one that cheats.
        (PARTS, 4, CANNOT),
    ],
    ids=["names", "parts"],
)
def test_all_that_is_wrong_with_a_grid_is_reported_at_once(options, n, pieces):
    actual = wrong(**options)
    assert len(actual) == n
    assert [piece for piece in pieces if not any(piece in sentence for sentence in actual)] == []


def test_what_is_wrong_with_the_data_is_reported_with_the_rest():
    """Unknown repositories beside an unknown protocol; every protocol that scores none of the repositories."""
    grid = {"chunkers": ["ast", "fixed"], "retrievers": ["bm25"], "measures": ["mrr"], "protocols": ["q"]}
    # Of a level that does not exist the repositories are not known.
    assert len(wrong(**grid, repos=["nope", "nein"], level="fn")) == 2
    actual = wrong(**grid, repos=["nope", "nein"])
    for piece in ("protocol 'q'", "repository 'nope'", "repository 'nein'"):
        assert [sentence for sentence in actual if piece in sentence], piece
    grid["protocols"] = ["code-chunk", "context"]
    none = "protocol {} scores none of leopard-ai_betty; choose other repositories or repositories=all"
    assert wrong(**grid, repos=["leopard-ai/betty"]) == [none.format("code-chunk")]


def test_a_limit_passes_over_what_one_of_the_protocols_does_not_score():
    """With a protocol of the six, the first tasks are of the six; another level does not have the six."""
    every, six = Protocol.parse("context"), Protocol.parse("code-chunk")
    assert passed_over([every, six], "function") == passed_over([six], "function") == OUTSIDE_THE_SIX
    assert passed_over([every], "function") == passed_over([six], "line") == frozenset()


def test_the_grid_has_each_protocol_once():
    """Overriding a choice by what it is anyway gives the protocol itself, not a second one."""
    names = [p.name for p in make_protocols(["context", "body"], ["full", "tail:20"], ["overlap"])]
    assert names == ["context", "context+query=tail:20", "body+query=full", "body"]
    with pytest.raises(UsageError, match="did you mean 'body'"):
        make_protocols(["bdy"], ["full"], ["overlap"])


@pytest.mark.parametrize("name", ["context+query=tail:5", "body+relevance=lines:3"])
def test_what_the_grid_sets_is_not_set_by_a_protocol(name):
    """A query policy or a relevance rule in a protocol's name would be overwritten: it is refused."""
    (sentence,) = grid_problems(["ast", "fixed"], [Protocol.parse("context"), Protocol.parse(name)], ["bm25"])
    assert sentence == f"protocol {name}: the grid sets every query and relevance; give --query and --relevance"


def test_each_choice_of_a_protocol_is_judged_apart():
    """Two protocols share their judgements only where no choice that judging reads differs: the gold does."""
    text = "".join(f"line{i} = {i}\n" for i in range(20))
    files = {"r": (SourceFile("r", "a.py", text), SourceFile("r", "b.py", text))}
    options = task(path="a.py", prompt="line5 = 5", body=LineSpan(9, 10), context_start=5)
    benchmark = SimpleNamespace(tasks=(options,), files=files)
    candidate = _Candidate(benchmark, build_corpus(files, make_chunker("window:lines=1,step=1")), None, "none")
    relevant = {
        protocol.name: set(candidate.judge(_Setting(protocol, ("mrr",), benchmark), Lines({})).qrels["r/0"])
        for protocol in make_protocols(["context", "context+gold=body"], ["full", "tail:20"], ["overlap"])
    }
    assert len(relevant) == 4
    assert {len(actual) for name, actual in relevant.items() if "body" in name} == {1}
    assert {len(actual) for name, actual in relevant.items() if "body" not in name} == {5}


def test_usual_protocols_that_score_nothing_are_left_out_and_named(notices):
    """Of the repositories outside the six only `context`, `body` and `uses` are scored."""
    assert scoring_protocols(GridRequest(repos=("CarperAI_trlx",))) == ("context", "body", "uses")
    assert "protocol code-chunk scores none of CarperAI_trlx and is left out" in notices
    assert scoring_protocols(GridRequest()) == GridRequest().protocols
    assert len(notices) == 1


def test_noise_is_spoken_of_where_it_was_measured():
    """A column, the title, and smallest, largest and median width over the cells; nothing without a placebo band."""
    cells = [
        result("a", "b", "nominal", CELL, (0.5, 0.3), 0.2, (0.1, 0.3), band, 9, 3, "micro") for band in (0.1, 0.2, 0.6)
    ]
    bare = replace(cells[0], band=None)
    for table, measured in ((sensitivity_tables(cells)[0], True), (sensitivity_tables([bare])[0], False)):
        assert ("noise" in [column.name for column in table.columns]) == measured
        assert ("placebo" in " ".join(table.title)) == measured
        width = "placebo band over the cells: nDCG@10 0.1000 to 0.6000 (median 0.2000)"
        assert table.notes[0] == (width if measured else "no decided cell contradicts another of the same pair")
