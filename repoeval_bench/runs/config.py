"""Defaults of a run, its configuration, and the name of its folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.spec import Spec, short_hash, slug
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.runs.records import ProtocolChoices, RunConfig

if TYPE_CHECKING:
    from repoeval_bench.protocols.protocol import Protocol

CUTOFFS = (5, 10)
"""The tables' cut-offs k."""

DEPTH = 100
"""Depth to which a ranking is stored by default."""

NO_EMBEDDER = "none"
"""In place of an embedder's spec where nothing was embedded."""

PACK = "repoeval@chunking-v1"
"""The benchmark as it is defined here: which tasks, how a query, a gold span and relevance are made.

The part behind the @ changes whenever that definition does, so that runs of two definitions are never compared.
"""


def make_config(protocol: Protocol, *, expand: str = NOTHING, **fields: Any) -> RunConfig:
    """Return the configuration of a run under a protocol, of the other fields of `RunConfig`.

    What is as in runs from before there was a choice is left out, so that such runs keep their ids.
    """
    choices = {name: getattr(protocol, name) for name in ProtocolChoices.model_fields}
    if protocol.tasks == "completion":
        del choices["tasks"]
    content = {**fields, "protocol": choices} | ({} if expand == NOTHING else {"expand": expand})
    return RunConfig.model_validate_json(json.dumps(content, default=dict))


def id_of(config: RunConfig) -> str:
    """`chunker-size_protocol_retriever-hash`: readable, and one folder per distinct configuration."""
    digest = short_hash(json.dumps(config.as_json(), sort_keys=True, ensure_ascii=False))
    chunker, retriever = Spec.parse(config.chunker), Spec.parse(config.retriever)
    size = chunker.params.get(size_option(chunker) or "", "")
    ranked = f"{retriever.name}-{retriever.target}" + (f"+expand={config.expand}" if config.expand != NOTHING else "")
    pieces = (f"{chunker.name}-{chunker.target}-{size}", config.protocol.name, ranked)
    return f"{'_'.join(slug(piece, 32) for piece in pieces)}-{digest}"
