"""Make the parts of a run from their specs: chunkers, embedder, retriever, measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import OR_SKIP, LanguageError, UsageError, all_mistakes
from repoeval_bench.core.files import HASHES
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.home import data_home
from repoeval_bench.protocols.protocol import PROTOCOLS, Protocol
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS, ResolvedRetriever, choose_retriever

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.core.registry import Kind
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.embedding.registry import TextEncoder
    from repoeval_bench.embedding.storage import VectorCache

RESULTS = Path("results")
"""Folder in which run folders are written by default."""

PACKS = "packs"
"""The folder beside the runs with the packs that `recommend` makes of code."""

OF_STORE = ".store"
"""The file with a store's URL, in a folder of runs that is a cache of the store."""


def is_url(text: str) -> bool:
    """Return whether a text names a store, not a folder."""
    return "://" in text


def store_url(out: Path) -> str | None:
    """Return the URL of the store whose cache a folder of runs is; None for any other folder."""
    try:
        return (out / OF_STORE).read_text("utf-8").strip()
    except OSError:
        return None


def shown_results(out: Path) -> str:
    """Return a folder of runs as users name it: the URL of a store, else the folder."""
    return store_url(out) or str(out)


def shown_place(run: Path) -> str:
    """Return the location of a run as users name it: its folder, or its store and its name there."""
    url = store_url(run.parent)
    return f"{url} as {run.name}" if url else str(run)


@dataclass(frozen=True, slots=True)
class Parts:
    """An embedder (None if nothing needs vectors) and a retriever."""

    embedder: Embedder | None
    retriever: ResolvedRetriever
    home: Path | None

    def __reduce__(self) -> tuple[object, ...]:
        # Their specs, from which another process makes each once. It hashes no model that this one has.
        embedder = self.embedder.spec if self.embedder else None
        return _remade, (embedder, self.retriever.spec, self.home, *HASHES.items())


def _remade(embedder: str | None, retriever: str, home: Path | None, *hashes: Any) -> Parts:
    HASHES.update(hashes)
    return _made(embedder, retriever, home)


@cache
def _made(embedder: str | None, retriever: str, home: Path | None) -> Parts:
    model = make_embedder(embedder, home=home) if embedder else None
    return Parts(model, make_retriever(retriever, home=home), home)


def vectors_folder(home: Path | None = None) -> Path:
    """Return the folder of the vector cache in `home`."""
    return data_home(home) / "vectors"


def make_embedder(
    spec: str,
    *,
    home: Path | None = None,
    placed: Callable[[TextEncoder], TextEncoder] | None = None,
    cache: VectorCache | None = None,
) -> CachedEmbedder:
    """Return the embedder that a spec names, with the vector cache in `home`.

    `encode(texts, role)` gives float32 (n, dim) with unit rows, in the order of the texts; `role` is `query` or
    `document`. `placed` replaces the encoder by one that computes the same vectors in another process; `cache` replaces
    the one in `home`. UsageError: an unknown name or option, or a package that is not installed.
    """
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.embedding.choice import choose_embedder, find_encoder
    from repoeval_bench.embedding.storage import VectorCache

    model, policies = choose_embedder(spec)
    encoder = find_encoder(str(model))
    if encoder.limit is None and set(policies.values()) != {"head"}:  # the limit is known only now
        raise UsageError(
            f"{encoder.spec} is given every text whole, so a policy for long texts changes nothing; leave it out"
        )
    if placed is not None:
        encoder = placed(encoder)
    return CachedEmbedder(encoder, cache or VectorCache(vectors_folder(home)), policies)


def kinds() -> dict[str, Kind[Any]]:
    """Return every kind of part by its name."""
    from repoeval_bench.chunkers.registry import CHUNKERS
    from repoeval_bench.embedding.registry import EMBEDDERS
    from repoeval_bench.metrics.definition import MEASURES

    listed: tuple[Kind[Any], ...] = (CHUNKERS, EMBEDDERS, RETRIEVERS, RERANKERS, PROTOCOLS, MEASURES)
    return {kind.name: kind for kind in listed}


def installed(kind: str, specs: Sequence[str]) -> tuple[str, ...]:
    """Return the specs whose packages are installed; a notice says what each of the others needs."""
    from repoeval_bench.chunkers.registry import split_header

    present = []
    for spec in specs:
        try:
            # A header is no option of a chunker's own class.
            named = split_header(Spec.parse(spec))[0] if kind == "chunker" else spec
            kinds()[kind].choose(named).check_installed()
        except UsageError as error:
            NOTICES.info(f"left out: {error}")
        else:
            present.append(spec)
    return tuple(present)


def usual_measures(gold: str) -> tuple[str, ...]:
    """Return the default measures for a gold; those of definitions or of whole files come first where it is these."""
    from repoeval_bench.metrics import DEFINITION_MEASURES, EVAL_MEASURES, TARGET_MEASURES

    if gold == "files":
        return (*TARGET_MEASURES, *EVAL_MEASURES)
    return (*DEFINITION_MEASURES, *EVAL_MEASURES) if gold == "uses" else EVAL_MEASURES


def choose_measures(names: Sequence[str] | None, k: int, gold: str = "") -> tuple[str, ...]:
    """Return the measures' canonical names, each once; without names, the default measures of the gold.

    UsageError if one looks deeper than the `k` results that are ranked.
    """
    from repoeval_bench.metrics import Measure

    measures = [Measure.parse(name) for name in names or usual_measures(gold)]
    if written := [str(measure) for measure in measures if "written" in measure.definition.needs]:
        raise UsageError(
            f"{', '.join(written)}: of completions, not of rankings; score a stored run by it with repoeval-bench "
            "complete run"
        )
    for measure in measures:
        # Its value would be that of another measure.
        if measure.k is not None and measure.definition.unit == "rank" and measure.k > k:
            raise UsageError(
                f"k={k} ranks fewer chunks than {measure} reads; raise k to {measure.k} or name other measures"
            )
    return tuple(dict.fromkeys(map(str, measures)))


def needs_vectors(retriever: str, measures: Sequence[str] | None = None) -> bool:
    """Return whether a run embeds anything: its retriever or one of its measures may need vectors."""
    from repoeval_bench.metrics import inputs_of

    return choose_retriever(retriever).vectors or "vectors" in inputs_of(measures or ())


def make_retriever(spec: str, *, home: Path | None = None) -> ResolvedRetriever:
    """Return the retriever that a spec names, with the model of a reranker located and verified.

    The scores of pairs are stored in the vector cache in `home`.
    """
    retriever = choose_retriever(spec)
    if not retriever.model:
        return retriever
    from repoeval_bench.embedding.cross_encoder import CachedScorer, find_cross_encoder
    from repoeval_bench.embedding.storage import VectorCache

    scorer = find_cross_encoder(retriever.model)
    return replace(retriever, scorer=CachedScorer(scorer, VectorCache(vectors_folder(home))))


def chunker_under(protocol: Protocol, chunker: str | Chunker | None) -> Chunker:
    """Return the chunker of a run under a protocol.

    UsageError for a chunker under a protocol whose documents are fixed, and for no chunker under any other.
    """
    from repoeval_bench.chunkers.registry import as_chunker, make_chunker

    if protocol.documents == "windows":
        from repoeval_bench.protocols.registry import CoderagWindows

        if chunker is None or isinstance(chunker, CoderagWindows):
            return CoderagWindows()
        raise UsageError(f"protocol {protocol.name} fixes its documents; name no chunker, or choose another protocol")
    if chunker is None:
        raise UsageError(
            "no chunker was named; name one such as ast (--chunker ast, or chunkers: [ast] in a file), or see "
            "repoeval-bench list chunkers"
        )
    return make_chunker(chunker) if isinstance(chunker, str) else as_chunker(chunker)


def skipped_for_language(
    benchmark: Benchmark, chunkers: Mapping[str, Chunker], *, skippable: bool = True
) -> dict[str, str]:
    """Name -> the reason why a chunker is skipped: it does not know the language of a file.

    If none would be left, the reasons are a LanguageError. They offer to leave out files unless `skippable` is False.
    """
    from repoeval_bench.chunkers._adapters import unknown_language

    files = [file for repo_files in benchmark.files.values() for file in repo_files]
    reasons = {name: str(error) for name, chunker in chunkers.items() if (error := unknown_language(chunker, files))}
    if not skippable:
        reasons = {name: reason.removesuffix(OR_SKIP) for name, reason in reasons.items()}
    if reasons and len(reasons) == len(chunkers):
        raise LanguageError(all_mistakes(reasons.values()))
    return reasons


def skipped_line(chunker: str, reason: str) -> str:
    """Return the notice about a skipped chunker."""
    return f"left out: {chunker}: {reason}"
