"""Measures that are scored by default."""

from __future__ import annotations

from repoeval_bench.metrics.reading import BUDGETS

_CUTOFFS = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5", "precision@10", "hit@5", "hit@10")
DEFAULT_MEASURES = (*_CUTOFFS, "mrr")
"""The default measures when only a ranking and its judgements are available."""

LINE_MEASURES = ("line_rprec", "line_recall_auc", *(f"line_recall@{budget}" for budget in BUDGETS))
"""The first measures of a comparison of chunkers: lines are the same documents for all of them."""

TARGET_MEASURES = ("target_ndcg@10",)
"""Measures that come first where the gold is whole files."""

DEFINITION_MEASURES = ("definition_recall_auc", *(f"definition_recall@{budget}" for budget in BUDGETS))
"""Measures that come first where the gold is definitions."""

EVAL_MEASURES = (*LINE_MEASURES, *DEFAULT_MEASURES)
"""The default measures of an evaluation, which also has the files' lines."""
