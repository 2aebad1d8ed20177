"""Runs whose hits bring more than themselves: the same ranking, other lines read, a run of its own."""

import json
from dataclasses import replace

import pytest

from repoeval_bench import compare
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.places import Place
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.metrics.context import as_read
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.completion.fragments import fragments_of
from repoeval_bench.runs.experiment import evaluate, plan_run
from repoeval_bench.runs.judgements import judge_corpus
from support.command import bench
from support.minirepo import build_mirror

MEASURES = ("ndcg@10", "line_recall@500", "line_recall@12000", "line_rprec")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expand")
    return load_benchmark(str(build_mirror(folder / "mirror")), home=folder / "home")


def run(benchmark, out, **asked):
    usual = {"retriever": "bm25", "measures": MEASURES, "few_gold": True, "protocol": "body"}
    return evaluate(benchmark, "fixed:max_nws=150", out=out, **{**usual, **asked})


def test_ranking_and_judgements_are_those_of_the_run_without(benchmark, tmp_path):
    plain, wide = run(benchmark, tmp_path), run(benchmark, tmp_path, expand="lines:5")
    for name in ("run.trec", "qrels.trec", "chunks.jsonl.gz"):
        assert (plain.folder / name).read_bytes().replace(plain.run_id.encode(), b"") == (
            wide.folder / name
        ).read_bytes().replace(wide.run_id.encode(), b"")
    assert wide.metrics.micro["ndcg@10"] == plain.metrics.micro["ndcg@10"]
    assert wide.metrics.micro["line_recall@500"] != plain.metrics.micro["line_recall@500"]
    assert wide.run_id != plain.run_id
    assert (plain.metrics.expand, wide.metrics.expand) == (None, "lines:5")
    assert "expand" not in json.loads((plain.folder / "manifest.json").read_text())["config"]


@pytest.mark.parametrize("rule", ["lines:3", "parent"])
def test_a_share_of_the_ceiling_is_at_most_one(benchmark, tmp_path, rule):
    """The greedy choice reads what hits bring too."""
    found = run(benchmark, tmp_path, expand=rule)
    assert all(0 < share <= 1 for share in found.metrics.shares_of_ceiling.values())


HIDDEN = {
    "prompt": lambda task, file: LineSpan(task.context_start, task.body.start),
    "hidden": lambda task, file: LineSpan(task.context_start, task.body.end),
    "repocoder": lambda task, file: LineSpan(max(0, task.body.start - 20), file.n_lines),
}


@pytest.mark.parametrize("exclusion", HIDDEN)
@pytest.mark.parametrize("rule", ["lines:1000", "parent"])
def test_no_hit_brings_what_the_query_may_not_see(benchmark, exclusion, rule):
    """Of every chunk that a query may see, what it brings ends where the hidden lines begin."""
    protocol = replace(Protocol.parse("context"), exclusion=exclusion)
    planned = plan_run(benchmark, "fixed:max_nws=60", protocol=protocol)
    judged = judge_corpus(planned.benchmark, planned.corpus, protocol, (), expand=rule)
    seen = clipped = 0
    for task in planned.benchmark.tasks:
        file = benchmark.by_name[task.file]
        hidden = Place(task.file, HIDDEN[exclusion](task, file))
        for chunk in planned.corpus:
            if chunk.chunk_id in judged.excluded.get(task.task_id, ()):
                continue
            place = as_read(judged.context, task.task_id, chunk.chunk_id, judged.context.places[chunk.chunk_id])
            assert place.lines.contains(chunk.lines)
            assert not place.overlap(hidden)
            seen += place.lines != chunk.lines
            clipped += place.lines != judged.context.brought[chunk.chunk_id]
    assert seen
    assert clipped or rule == "parent"


def test_runs_are_compared_by_what_their_hits_bring(benchmark, tmp_path):
    plain, wide = run(benchmark, tmp_path), run(benchmark, tmp_path, expand="parent")
    (found,) = compare([plain, wide], measures="line_rprec")
    assert (found.baseline, found.treatment) == ("expand none", "expand parent")


@pytest.mark.parametrize("protocol", ["coderag", "linemap"])
def test_where_documents_are_given_nothing_is_added(protocol):
    done = bench("eval", "-c", "fixed", "--protocol", protocol, "--expand", "parent", "--retriever", "bm25")
    assert done.code == 2
    assert f"protocol {protocol} fixes its documents, so nothing is added to a hit" in done.err


def test_completions_do_not_leave_out_what_hits_bring(benchmark, tmp_path):
    wide = run(benchmark, tmp_path, expand="parent")
    with pytest.raises(UsageError, match="complete a run without --expand"):
        fragments_of(wide, benchmark.tasks, "retrieved")
