"""Defaults of a run, its configuration, and the name of its folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.spec import Spec, short_hash, slug
from repoeval_bench.runs.records import ProtocolChoices, RunConfig

if TYPE_CHECKING:
    from repoeval_bench.protocols.protocol import Protocol

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


def make_config(protocol: Protocol, **fields: Any) -> RunConfig:
    """Return the configuration of a run under a protocol; `fields` are the other fields of `RunConfig`.

    A choice that is newer than the first runs is left out at its default, so that runs keep their ids.
    """
    choices = {name: getattr(protocol, name) for name in ProtocolChoices.model_fields}
    if protocol.tasks == "completion":
        del choices["tasks"]
    return RunConfig.model_validate_json(json.dumps({**fields, "protocol": choices}, default=dict))


def id_of(config: RunConfig) -> str:
    """Return `chunker-size_protocol_retriever-hash`: readable, and one folder for each distinct configuration."""
    digest = short_hash(json.dumps(config.as_json(), sort_keys=True, ensure_ascii=False))
    chunker, retriever = Spec.parse(config.chunker), Spec.parse(config.retriever)
    size = chunker.params.get(size_option(chunker) or "", "")
    pieces = (f"{chunker.name}-{chunker.target}-{size}", config.protocol.name, f"{retriever.name}-{retriever.target}")
    return f"{'_'.join(slug(piece, 32) for piece in pieces)}-{digest}"
