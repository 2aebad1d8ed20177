"""The retriever that a run names, and how it is built over a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.parts import Embedder, PairScorer, Retriever
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.retrieval.registry import RETRIEVERS

if TYPE_CHECKING:
    from repoeval_bench.core.registry import ResolvedSpec
    from repoeval_bench.retrieval.scope import Chunks


@dataclass(frozen=True, slots=True)
class ResolvedRetriever:
    """A retriever with all options resolved. If it has a `model`, `scorer` must be set before `build`."""

    part: ResolvedSpec
    scorer: PairScorer | None = None

    @property
    def spec(self) -> str:
        """The spec that rebuilds it, every option printed."""
        return self.part.spec

    @property
    def first(self) -> ResolvedRetriever | None:
        """The first stage of a reranker, whose best `k_raw` results are reranked; None for other retrievers."""
        return choose_first(self.part.options["first"]) if self.part.inner else None

    @property
    def k_raw(self) -> int | None:
        """Number of results of the first stage that are reranked; None for other retrievers."""
        k_raw: int | None = self.part.options["k_raw"] if self.part.inner else None
        return k_raw

    @property
    def around(self) -> str:
        """The rule of what is read with each hit: an option of `grep`, and `none` for other retrievers."""
        return str(self.part.options["around"]) if self.part.row.name == "grep" else NOTHING

    @property
    def vectors(self) -> bool:
        """Return whether this retriever or its first stage compares vectors."""
        return self.part.row.vectors or (self.first is not None and self.first.vectors)

    @property
    def model(self) -> str:
        """The spec of its cross-encoder; "" where there is none."""
        inner = self.part.inner
        return format_spec("st", inner.options, inner.target) if inner and inner.row.target else ""

    def check_installed(self) -> None:
        """Raise a UsageError where a package is missing that it, or its first stage, needs."""
        try:
            for stage in (self, self.first):
                if stage is not None:
                    stage.part.check_installed()
        except UsageError as error:
            raise UsageError(f"{error}, or choose bm25, which needs no extra") from error

    def build(
        self,
        chunks: Chunks,
        own: Chunks | None = None,
        *,
        embedder: Embedder | None = None,
        ideal: Callable[[], Mapping[str, Sequence[str]]] = dict,
    ) -> Retriever:
        """Return the retriever over `chunks` (repository -> its chunks).

        own: query_id -> chunks that this query alone sees. embedder: None without vectors. ideal: gives query_id -> the
        ids of the relevant chunks, best first; only a retriever that is meant to cheat calls it.
        """
        built: Retriever = self.part.make(
            chunks=chunks, own=own or {}, embedder=embedder, ideal=ideal, scorer=self.scorer
        )
        return built


def read_first(text: str) -> str:
    """Return the spec of a first stage with every option, joined by +, as in `bm25+k1=0.9+b=0.75+tokenizer=code`."""
    row = RETRIEVERS.known(text.partition("+")[0])
    first = None if row is not None and row.final else choose_first(text)
    if first is None or first.around != NOTHING:
        raise ValueError(
            f"first={text} is not possible; first is dense, bm25, hybrid, jaccard, grep (without around) or random, "
            "with options such as bm25+k1=0.9"
        )
    spec = Spec.parse(first.spec)
    named = f"py:{spec.target}" if spec.name == "py" else spec.name
    return "+".join([named, *(f"{key}={value}" for key, value in spec.params.items())])


def choose_retriever(text: str) -> ResolvedRetriever:
    """Return the retriever that a spec such as `bm25:b=0.5` names; a SpecError for an impossible one."""
    return ResolvedRetriever(RETRIEVERS.choose(text))


def choose_first(text: str) -> ResolvedRetriever:
    """Return the retriever that a first stage names, its options joined by `+`."""
    name, *options = text.split("+")
    return choose_retriever(":".join([name, ",".join(options)] if options else [name]))
