"""Defaults of a run."""

CUTOFFS = (5, 10)
"""The cut-offs k in tables."""

DEPTH = 100
"""Depth to which a ranking is stored by default."""

NO_EMBEDDER = "none"
"""Stands for the embedder's spec if nothing was embedded."""

PACK = "repoeval@chunking-v1"
"""The definition of the benchmark: its tasks, queries, gold spans and relevance.

The version after the @ changes with the definition, so that runs of two definitions are never compared.
"""
