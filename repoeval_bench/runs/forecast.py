"""What runs would send to embedding servers and what that would cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.registry import find, is_outside
from repoeval_bench.core.spec import Spec
from repoeval_bench.metrics import inputs_of
from repoeval_bench.runs.materials import Materials
from repoeval_bench.runs.parts import (
    choose_measures,
    choose_retriever,
    left_out_for_language,
    left_out_line,
    make_chunkers,
    make_parts,
    unsized,
)
from repoeval_bench.runs.planning import plan_all, select
from repoeval_bench.runs.request import RunRequest, by_setting
from repoeval_bench.runs.stages import texts_of

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Role
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.embedding.text_encoder import Sending


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Texts that are not cached, each in the first run that needs it, and their tokens and cost.

    `exact`: the tokens are counted by the server's tokenizer, else they are at most so many. The cost is None without
    a price; `unpriced` are the texts that have none.
    """

    texts: int
    tokens: int
    exact: bool
    cost: float | None
    unpriced: int = 0

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"texts": self.texts, "tokens": self.tokens, "tokens_are_exact": self.exact, "cost": self.cost}

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        cost = "" if self.cost is None else f", cost {most}{self.cost:,.4f}"
        unpriced = f" and what {self.unpriced:,} texts without a price cost" if self.cost and self.unpriced else ""
        return f"{self.texts:,} texts to send, {most}{self.tokens:,} tokens{cost}{unpriced}"


def total(forecasts: Iterable[Forecast]) -> Forecast:
    """All of them together; the cost is that of those with a price, None where none has one."""
    each = list(forecasts)
    costs = [one.cost for one in each if one.cost is not None]
    return Forecast(
        texts=sum(one.texts for one in each),
        tokens=sum(one.tokens for one in each),
        exact=all(one.exact for one in each),
        cost=sum(costs) if costs else None,
        unpriced=sum(one.unpriced for one in each),
    )


def forecast(
    requests: Sequence[RunRequest], *, home: Path | None, notify: Callable[[str], None], without: frozenset[str]
) -> dict[RunRequest, Forecast]:
    """Request -> what its run would send, for the requests whose embedder asks a server; the others are not in it.

    The texts of chunks and queries are counted that the vector cache lacks, each in the first run that needs it: how
    many they are, their tokens, and what these cost at the embedder's price. The data is fetched, read and chunked;
    nothing is sent. `notify` is told of chunkers that are left out, not knowing a language of the data, of costs that
    may exceed the embedder's `cost_limit`, and of plug-ins that do not say what they send. A BenchError in one
    sentence where the data cannot be had, a chunker fails, or the cache cannot be read.
    """
    found: dict[RunRequest, Forecast] = {}
    embedders = dict.fromkeys(each.embedder for each in requests if each.needs_vectors)
    asked = {embedder for embedder in embedders if _says_what_it_sends(embedder, notify)}
    asking = [each for each in requests if each.needs_vectors and each.embedder in asked]
    if not asking:
        return found
    materials = Materials(asking[0], without=without, home=home, notify=notify)
    counted: set[tuple[str, str, str]] = set()
    told: set[str] = set()
    costs: dict[str, float] = {}
    limits: dict[str, float | None] = {}
    for setting, members in by_setting(asking).items():
        embedder = materials.embedder(setting)
        assert embedder is not None
        protocol = setting.resolved_protocol()
        left_out = left_out_for_language(materials.benchmark, unsized(members), least=0)
        for name in sorted(left_out.keys() - told):
            notify(left_out_line(name, left_out[name]))
        told |= left_out.keys()
        kept = [each for each in members if each.chunker not in left_out]
        if not kept:
            continue
        cutters = make_chunkers(materials.benchmark, [each.chunker for each in kept], setting, notify)
        _, plans = plan_all(
            select(materials.benchmark, protocol),
            [make_parts(protocol, cutter) for cutter in cutters],
            protocol,
            skip_errors=setting.skip_errors,
            corpora=materials.corpora,
        )
        ranked = choose_retriever(setting.retriever).vectors
        measured = "vectors" in inputs_of(choose_measures(setting.measures, setting.k, protocol.gold))
        for request, planned in zip(kept, plans, strict=True):
            texts = texts_of([planned], ranked=ranked, measured=measured)
            found[request] = made = _forecast_of(embedder, texts, counted)
            costs[setting.embedder] = costs.get(setting.embedder, 0.0) + (made.cost or 0.0)
            limits[setting.embedder] = getattr(embedder.encoder, "cost_limit", None)
    for spec, limit in limits.items():
        if limit is not None and costs[spec] > limit:
            notify(f"note: {spec}: this may cost {costs[spec]:,.4f}; its cost_limit may end the command earlier")
    return found


def _forecast_of(
    embedder: CachedEmbedder, texts: Mapping[Role, Iterable[str]], counted: set[tuple[str, str, str]]
) -> Forecast:
    """What a run would send of its texts; those `counted` are in an earlier run, and its own are added to them."""
    encoder: Any = embedder.encoder
    sent: list[Sending] = []
    n_texts = 0
    for role, missing in embedder.pending(texts).items():
        new = [text for text in missing if (embedder.spec, encoder.prompt(role), text) not in counted]
        counted |= {(embedder.spec, encoder.prompt(role), text) for text in new}
        n_texts += len(new)
        sent.append(encoder.sends(new, role))
    priced = [each.cost for each in sent if each.cost is not None]
    cost = sum(priced) if len(priced) == len(sent) else None
    return Forecast(
        texts=n_texts,
        tokens=sum(each.tokens for each in sent),
        exact=all(each.exact for each in sent),
        cost=cost,
        unpriced=n_texts if cost is None else 0,
    )


def _says_what_it_sends(embedder: str, notify: Callable[[str], None]) -> bool:
    """Whether an embedder asks a server, as far as is known without making it: of built-in ones `openai` does."""
    spec = Spec.parse(embedder)
    if not is_outside("embedder", embedder):
        return spec.name == "openai"
    if hasattr(find("embedder", spec.name, spec.target).load(), "sends"):
        return True
    notify(
        f"note: embedder {embedder} does not say what it sends; if it asks a server, its tokens and cost are not in "
        "this list (see docs/plug-ins.md)"
    )
    return False
