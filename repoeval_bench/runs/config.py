"""What a run is: the protocol's choices and the specs of the parts.

Nothing here computes. Two runs with the same `RunConfig` give the same numbers; its hash names the folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import Spec, short_hash, slug
from repoeval_bench.retrieval.expansion import NOTHING

if TYPE_CHECKING:
    from repoeval_bench.protocols.protocol import Protocol

CUTOFFS = (5, 10)
"""The tables' cut-offs k."""

DEPTH = 100
"""How deep a ranking is stored unless asked otherwise."""

NO_EMBEDDER = "none"
"""In place of an embedder's spec where nothing was embedded."""

PACK = "repoeval@chunking-v1"
"""The benchmark as it is defined here: which tasks, how a query, a gold span and relevance are made.

The part behind the @ changes whenever that definition does, so that runs of two definitions are never compared.
"""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides a run's numbers.

    `embedder_identity` is what decides a vector (model, weights, maximum length, pooling, precision),
    `retriever_identity` what decides a reranker's score. `k` is the depth that is ranked and stored. `pack` is the
    identity of the benchmark's definition, `name@version`. `few_gold` decides no number, but whether there are any: it
    lets a run pass in which most queries have no relevant chunk. `expand` is what a hit brings beside its own lines.
    """

    dataset: str
    fingerprint: str
    protocol: Protocol
    chunker: str
    embedder: str
    embedder_identity: Mapping[str, Any]
    retriever: str
    k: int
    measures: tuple[str, ...]
    skip_errors: bool = False
    pack: str = PACK
    retriever_identity: Mapping[str, Any] = field(default_factory=dict)
    few_gold: bool = False
    expand: str = NOTHING

    def __post_init__(self) -> None:
        self.check_depth(self.k)

    @staticmethod
    def check_depth(k: int) -> None:
        """A depth below 1 is a UsageError."""
        if k < 1:
            raise UsageError(f"--k={k} ranks nothing; give a depth of 1 or more, {DEPTH} is usual")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they are in the manifest and in metrics.json."""
        content = asdict(self)
        # A protocol's description is not part of what it does.
        del content["protocol"]["users"], content["few_gold"]
        if self.expand == NOTHING:  # as in runs from before there was another, which keep their ids
            del content["expand"]
        if self.protocol.tasks == "completion":  # as in runs from before there were others, which keep their ids
            del content["protocol"]["tasks"]
        content["embedder_identity"] = dict(self.embedder_identity)
        content["retriever_identity"] = dict(self.retriever_identity)
        content["measures"] = list(self.measures)
        return content

    @property
    def run_id(self) -> str:
        """`chunker-size_protocol_retriever-hash`: readable, and one folder per distinct configuration."""
        digest = short_hash(json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=False))
        chunker, retriever = Spec.parse(self.chunker), Spec.parse(self.retriever)
        size = chunker.params.get(size_option(chunker) or "", "")
        ranked = f"{retriever.name}-{retriever.target}" + (f"+expand={self.expand}" if self.expand != NOTHING else "")
        pieces = (f"{chunker.name}-{chunker.target}-{size}", self.protocol.name, ranked)
        return f"{'_'.join(slug(piece, 32) for piece in pieces)}-{digest}"
