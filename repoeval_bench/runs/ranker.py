"""What ranks as a stored run asks, the configuration that this gives here, and how near its scores have to be."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import BenchError
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.shipped import edition_of
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.metrics import inputs_of
from repoeval_bench.retrieval.dense import NAME as DENSE
from repoeval_bench.retrieval.expansion import Expansion
from repoeval_bench.retrieval.ranking import DIGITS
from repoeval_bench.runs.config import NO_EMBEDDER, PACK, make_config
from repoeval_bench.runs.parts import choose_measures, choose_retriever, make_embedder, make_retriever
from repoeval_bench.runs.problems import check_pack
from repoeval_bench.runs.stages import embed, texts_of

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.protocols.protocol import Protocol
    from repoeval_bench.retrieval.choice import ChosenRetriever
    from repoeval_bench.runs.planning import Plan
    from repoeval_bench.runs.records import RunConfig

HARMLESS = {"minilm", "hash"}
"""Embedders that neither run code of others nor ask a server."""

ROUNDED = 1.01 * 10.0**-DIGITS
"""Tolerance of scores that differ in their last bits: these may be rounded to two neighbours."""

FUSED = 3e-4
"""Tolerance where vectors decide ranks that are fused, or a model reads pairs: two neighbours that change places move
a reciprocal rank by 1/61 - 1/62."""

HALF = 3e-3
"""Tolerance in half precision: twice what bf16 moved between two sets of a processor's instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranker:
    """What ranks, and what was planned with the vectors it needs; not made where there is a `reason`."""

    planned: Plan
    retriever: ChosenRetriever
    embedder: CachedEmbedder | None = None
    reason: str = ""


def has_model(retriever: ChosenRetriever) -> bool:
    """Whether a model takes part in ranking."""
    return retriever.vectors or bool(retriever.model)


def check_names(stored: RunConfig, protocol: Protocol) -> None:
    """A UsageError for a name or an option of a request that does not exist, but for its chunker, which is made."""
    retriever = choose_retriever(stored.retriever, protocol)
    choose_measures(stored.measures, stored.k, protocol.gold)
    Expansion.parse(stored.expand)
    check_pack(stored.pack)
    if retriever.vectors and Spec.parse(stored.embedder).name != "py":
        choose_embedder(stored.embedder)


def make_ranker(
    stored: RunConfig,
    planned: Plan,
    allowed: Collection[str],
    *,
    home: Path | None,
    notify: Callable[[str], None],
) -> Ranker:
    """Return what ranks as a run asks; with a reason where a model of it may not be asked, or is not here."""
    retriever = choose_retriever(stored.retriever, planned.protocol)
    measured = "vectors" in inputs_of(stored.measures)
    reason = _not_asked(stored, retriever, allowed)
    embedder = None
    if measured or (retriever.vectors and not reason):
        try:
            embedder = make_embedder(stored.embedder, home=home, notify=notify)
            texts = texts_of([planned], ranked=retriever.vectors and not reason, measured=measured)
            (planned,) = embed([planned], embedder, texts)
        except BenchError as error:
            if measured:
                raise
            embedder, reason = None, str(error)
    if retriever.model and not reason:
        try:
            retriever = make_retriever(stored.retriever, planned.protocol, home=home, notify=notify)
        except BenchError as error:
            reason = str(error)
    return Ranker(planned=planned, retriever=retriever, embedder=embedder, reason=reason)


def config_of(stored: RunConfig, ranker: Ranker) -> RunConfig:
    """Return the configuration that a run of this request has here; what a model is that is not here is as stored."""
    planned, retriever, embedder = ranker.planned, ranker.retriever, ranker.embedder
    fields = stored.model_dump(exclude={"protocol"})
    fields |= {
        "dataset": planned.benchmark.name,
        "fingerprint": planned.benchmark.fingerprint,
        "chunker": planned.chunker,
        "retriever": retriever.spec,
        "measures": choose_measures(stored.measures, stored.k, planned.protocol.gold),
        "pack": _pack_of(stored.pack, planned.benchmark),
    }
    if embedder:
        fields |= {"embedder": embedder.spec, "embedder_identity": embedder.identity}
    elif not retriever.vectors:
        fields |= {"embedder": NO_EMBEDDER, "embedder_identity": {}}
    if retriever.scorer or not retriever.model:
        fields["retriever_identity"] = retriever.scorer.identity if retriever.scorer else {}
    return make_config(planned.protocol, **fields)


def _not_asked(stored: RunConfig, retriever: ChosenRetriever, allowed: Collection[str]) -> str:
    """Say which model or server of a stranger's choice is not asked to rank; empty where there is none."""
    models = [stored.embedder] if retriever.vectors and Spec.parse(stored.embedder).name not in HARMLESS else []
    models += [stored.retriever] if retriever.model else []
    refused = [spec for spec in models if spec not in allowed]
    return f"{', '.join(refused)} is not asked because a folder says so; name it with --allow" if refused else ""


def _pack_of(pack: str, benchmark: Benchmark) -> str:
    """Return the definition that a run over this data has: a shipped pack's is that of its own data alone."""
    edition = edition_of(pack)
    if edition is None:
        return pack
    return edition if is_of_pack(benchmark.name, edition) else PACK


def is_of_pack(name: str, edition: str) -> bool:
    """Whether data of this name is a shipped pack's."""
    return name.startswith(f"pack-{edition}-")


def tolerance_of(retriever: ChosenRetriever, config: RunConfig) -> float:
    """Return by how much a score may differ between machines; more than a step of rounding where a model takes part."""
    if not has_model(retriever):
        return ROUNDED
    if config.embedder_identity.get("precision", "fp32") != "fp32":
        return HALF
    return ROUNDED if retriever.part.row.name == DENSE else FUSED
