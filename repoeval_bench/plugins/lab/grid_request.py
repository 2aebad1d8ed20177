"""The request of a sensitivity grid: every chunker in every combination of the rest."""

from __future__ import annotations

from typing import Self

from repoeval_bench.runs.options import option
from repoeval_bench.runs.request import (
    DEVICE_FIELD,
    EMBEDDER_FIELD,
    PRECISION_FIELD,
    DataRequest,
    RunRequest,
    settled_device,
)


class GridRequest(DataRequest):
    """Everything that is asked of a sensitivity grid: every chunker in every combination of the rest."""

    chunkers: tuple[str, ...] = option((), "Two or more; repeat it.", "SPEC", also="-c", spelled="--chunker")
    protocols: tuple[str, ...] = option(
        ("context", "code-chunk", "body", "uses", "linemap"), "Protocols of the grid; repeat it.", spelled="--protocol"
    )
    queries: tuple[str, ...] = option(("full", "tail:20"), "Query policies of the grid; repeat it.", spelled="--query")
    relevances: tuple[str, ...] = option(
        ("overlap", "iou:0.2", "graded:levels"), "Relevance rules of the grid; repeat it.", spelled="--relevance"
    )
    retrievers: tuple[str, ...] = option(("dense", "bm25"), "Retrievers of the grid; repeat it.", spelled="--retriever")
    measures: tuple[str, ...] = option(
        ("ndcg@10", "line_recall_auc"), "Measures of the grid; repeat it.", also="-m", spelled="--measure"
    )
    match: bool = option(default=True, meaning="Compare at equal mean sizes too.", spelled="--match/--no-match")
    placebo: int = 10
    """Line offsets at which the fixed baseline is started for the placebo band; 0 for none. Python alone sets it."""
    embedder: str = EMBEDDER_FIELD
    precision: str = PRECISION_FIELD
    device: str = DEVICE_FIELD

    def requests(self) -> list[RunRequest]:
        """A request for each retriever, with what the grid says of embedder and measures."""
        return [
            RunRequest(
                retriever=retriever,
                embedder=self.embedder,
                precision=self.precision,
                device=self.device,
                measures=self.measures,
            )
            for retriever in self.retrievers
        ]

    def embedder_spec(self) -> str | None:
        """The embedder's spec with the device and the precision; None where nothing needs vectors."""
        return next((request.resolved_embedder() for request in self.requests() if request.needs_vectors), None)

    def on_this_device(self) -> Self:
        """The request with the device that `auto` means on this machine; else as it is."""
        return self.model_copy(update=settled_device(self.embedder_spec()))
