"""Measures over a run and qrels: pure functions, equal to trec_eval's where it has them.

`score_run(rankings, qrels, ["ndcg@10"])` scores a run, `score_query` one ranking. `Measure.parse` reads a name,
`MEASURES` has a row for each measure. `score_items` is for items that carry their own relevance.
"""

from repoeval_bench.metrics.ceiling import ideal_rankings, score_ceilings, with_ceiling
from repoeval_bench.metrics.definition import MEASURES
from repoeval_bench.metrics.judged_run import ChunkPlace, Context, WrittenCompletion
from repoeval_bench.metrics.measure import (
    CEILING,
    DEFAULT_MEASURES,
    DEFINITION_MEASURES,
    EVAL_MEASURES,
    LINE_MEASURES,
    SHARE,
    TARGET_MEASURES,
    Measure,
    explain,
    inputs_of,
    lower_is_better,
    measure_of,
)
from repoeval_bench.metrics.reading import BUDGETS, Lines
from repoeval_bench.metrics.relevance import (
    ExplicitRelevance,
    Item,
    Passage,
    RuleRelevance,
    TokenF1Relevance,
    score_items,
)
from repoeval_bench.metrics.scoring import RunScores, score_query, score_run
from repoeval_bench.metrics.texts import TEXT_MEASURES
