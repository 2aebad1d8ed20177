"""Runs of grep whose hits bring more than themselves: the same ranking, other lines read, a run of its own."""

import ast
from dataclasses import replace

import pytest

from repoeval_bench import compare
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics.judged_run import as_read
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.runner import evaluate, plan_run

MEASURES = ("ndcg@10", "line_recall@500", "line_recall@12000", "line_rprec")


def run(benchmark, out, **options):
    usual = {"measures": MEASURES, "allow_sparse_qrels": True, "protocol": "body"}
    return evaluate(benchmark, "fixed:max_nws=150", out=out, **{**usual, **options})


def test_ranking_and_judgements_are_those_of_the_run_without(benchmark, tmp_path):
    plain, wide = run(benchmark, tmp_path, retriever="grep"), run(benchmark, tmp_path, retriever="grep:around=lines:5")
    for name in ("qrels.trec.gz", "chunks.jsonl.gz"):
        assert plain.text(name).replace(plain.run_id, "") == wide.text(name).replace(wide.run_id, "")
    assert wide.metrics.micro["ndcg@10"] == plain.metrics.micro["ndcg@10"]
    assert wide.metrics.micro["line_recall@500"] != plain.metrics.micro["line_recall@500"]
    # Lines that are brought are paid for in the ceiling too.
    assert 0 < wide.metrics.ceilings.micro["line_rprec"] < plain.metrics.ceilings.micro["line_rprec"]
    assert (plain.metrics.around, wide.metrics.around) == ("", "lines:5")


HIDDEN = {
    "prompt": lambda task, file: LineSpan(task.context_start, task.body.start),
    "hidden": lambda task, file: LineSpan(task.context_start, task.body.end),
    "repocoder": lambda task, file: LineSpan(max(0, task.body.start - 20), file.n_lines),
}


@pytest.mark.parametrize("exclusion", HIDDEN)
@pytest.mark.parametrize("rule", ["lines:1000", "definition"])
def test_no_hit_brings_what_the_query_may_not_see(benchmark, exclusion, rule):
    """Of every chunk that a query may see, what it brings ends where the hidden lines begin."""
    protocol = replace(Protocol.parse("context"), exclusion=exclusion)
    planned = plan_run(benchmark, "fixed:max_nws=60", protocol=protocol)
    judged = judge_corpus(planned.benchmark, planned.corpus, protocol, (), around=rule)
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
    assert clipped or rule == "definition"


@pytest.mark.parametrize("exclusion", ["body", "free"])
def test_a_hit_behind_a_hole_brings_the_definition_that_is_around_its_lines(benchmark, exclusion):
    """A query's own chunks are of a copy with blank lines; the smallest definition is found anew with Python's ast."""
    protocol = replace(Protocol.parse("context"), exclusion=exclusion)
    planned = plan_run(benchmark, "fixed:max_nws=60", protocol=protocol)
    judged = judge_corpus(planned.benchmark, planned.corpus, protocol, (), around="definition")
    behind = 0
    for task in planned.benchmark.tasks:
        text = benchmark.by_name[task.file].text
        nodes = [item for item in ast.walk(ast.parse(text)) if isinstance(item, ast.FunctionDef | ast.ClassDef)]
        spans = [
            LineSpan(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1, node.end_lineno)
            for node in nodes
        ]
        assert not any(text.splitlines()[span.start - 1].lstrip().startswith("#") for span in spans)
        for chunk in planned.corpus.own[task.task_id]:
            filled = [at for at, line in zip(chunk.lines, chunk.text.splitlines(), strict=True) if line.strip()]
            holding = [span for span in spans if span.start <= filled[0] and filled[-1] < span.end]
            whole = min(holding, key=len, default=chunk.lines)
            expected = LineSpan(min(whole.start, chunk.lines.start), max(whole.end, chunk.lines.end))
            assert judged.context.brought[chunk.chunk_id] == expected
            behind += chunk.lines.start >= task.body.end and expected != chunk.lines
    assert behind > 10


def test_runs_are_compared_by_what_their_hits_bring(benchmark, tmp_path):
    plain, wide = (run(benchmark, tmp_path, retriever=f"grep:around={rule}") for rule in ("none", "definition"))
    (result,) = compare([plain, wide], measures="line_rprec")
    assert (result.baseline, result.treatment) == tuple(
        f"grep:keywords=8,hits=200,around={rule},read=0" for rule in ("none", "definition")
    )
