"""One small task under every protocol: query, judgements, scores and ceilings, each computed by hand."""

from dataclasses import replace
from math import log2

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.repoeval import OUTSIDE_THE_SIX
from repoeval_bench.metrics import score_ceilings, score_run
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.runner import plan_run
from support.written import HAND_FILE, HAND_LINES, HAND_TASK, benchmark

BENCHMARK = benchmark({"r": (HAND_FILE,)}, [HAND_TASK], name="hand")
TENS = make_chunker("window:lines=10,step=10")
ORDER = (1, 5, 3, 0, 2, 4, 6, 7, 8, 9)
"""The ten chunks [0, 10), [10, 20), … as the retriever of this page ranks them."""

MEASURES = ("ndcg@10", "recall@2", "mrr", "line_rprec", "line_recall@250", "line_recall_auc")
AUC = (250 / 2 + 11_750) / 12_000
"""All gold is read before the first budget: a triangle up to 250 nws, and 1 from there on."""


def score(protocol, ranking):
    planned = plan_run(BENCHMARK, TENS, protocol=protocol)
    chunks = planned.corpus.chunks["r"]
    judged = judge_corpus(BENCHMARK, planned.corpus, protocol, MEASURES)
    run = {"r/0": tuple((chunks[i].chunk_id, -float(rank)) for rank, i in enumerate(ranking))}
    scores = score_run(run, judged.qrels, MEASURES, judged.context)
    ceilings = score_ceilings(judged.qrels, MEASURES, judged.context, observed=scores)
    relevant = {chunk.lines.start for chunk in chunks if chunk.chunk_id in judged.qrels["r/0"]}
    return planned, relevant, scores.mean(), ceilings.mean()


def dcg(*ranks):
    return sum(1 / log2(rank + 1) for rank in ranks)


def measured(ndcg, recall, mrr, line_rprec):
    """The values of `MEASURES`; all lines are read within the first budget."""
    values = {"ndcg@10": ndcg, "recall@2": recall, "mrr": mrr, "line_rprec": line_rprec}
    return pytest.approx(values | {"line_recall@250": 1.0, "line_recall_auc": AUC})


@pytest.mark.parametrize("name", ["context", "code-chunk"])
def test_the_whole_prompt_asks_for_its_own_lines(name):
    """The gold is [4, 36) or [4, 35): the first four chunks, at ranks 1, 3, 4 and 5."""
    planned, relevant, scores, ceilings = score(Protocol.parse(name), ORDER)
    assert planned.queries[0].text == HAND_TASK.prompt
    assert relevant == {0, 10, 20, 30}
    # As many lines as the gold has: ten of chunk 1, ten of chunk 5, ten of chunk 3 (up to the gold's end), then 0, 1.
    gold, of_chunk_3 = (32, 6) if name == "context" else (31, 5)
    assert scores == measured(dcg(1, 3, 4, 5) / dcg(1, 2, 3, 4), 1 / 4, 1.0, (10 + of_chunk_3) / gold)
    # Greedy reads chunks 1 and 2, chunk 0 (six gold lines), and what is left of the budget of chunk 3.
    assert ceilings == measured(1.0, 2 / 4, 1.0, (10 + 10 + 6 + gold - 30) / gold)


def test_body_asks_for_the_lines_to_be_written():
    """The last 20 lines of the prompt ask; chunk [30, 40) alone is relevant, at rank 3."""
    planned, relevant, scores, ceilings = score(Protocol.parse("body"), ORDER)
    assert planned.queries[0].text == "\n".join(HAND_LINES[14:34]) + "\n"
    assert relevant == {30}
    # Two lines are read: of chunk 1, and at best of chunk 3, whose first two are not the gold's.
    assert scores == measured(dcg(3), 0.0, 1 / 3, 0.0)
    assert ceilings == measured(1.0, 1.0, 1.0, 0.0)


def test_coderag_has_windows_for_documents():
    """[0, 25), [0, 35), [0, 45), [5, 55), … : the first six meet [4, 35); one of the two retrieved is among them."""
    protocol = Protocol.parse("coderag")
    planned = plan_run(BENCHMARK, None, protocol=protocol)
    windows = planned.corpus.chunks["r"]
    bounds = [(0, 25), (0, 35), (0, 45), (5, 55), (15, 65), (25, 75), (35, 85)]
    assert [(w.lines.start, w.lines.end) for w in windows[:7]] == bounds
    judged = judge_corpus(BENCHMARK, planned.corpus, protocol, MEASURES)
    assert list(judged.qrels["r/0"]) == [window.chunk_id for window in windows[:6]]
    run = {"r/0": ((windows[6].chunk_id, 2.0), (windows[0].chunk_id, 1.0))}
    scores = score_run(run, judged.qrels, ["ndcg@10", "recall@5"], judged.context).mean()
    assert scores == pytest.approx({"ndcg@10": dcg(2) / dcg(1, 2, 3, 4, 5, 6), "recall@5": 1 / 6})


def test_a_protocol_whose_repositories_are_not_there_is_refused():
    """Without any of the six repositories, `six` scores nothing; the message names the available ones and the way out."""
    (name, *_) = sorted(OUTSIDE_THE_SIX)
    outside = replace(BENCHMARK, files={name: (HAND_FILE,)}, tasks=(replace(HAND_TASK, repo=name),))
    with pytest.raises(DatasetError, match=f"scores none of {name}; choose other repositories or repositories=all"):
        select(outside, Protocol.parse("code-chunk"))
    assert select(outside, Protocol.parse("context")) is outside
