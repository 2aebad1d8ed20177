"""The materials that runs over the same data share: the benchmark, loaded once, and each embedder, located once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.runs.parts import chunker_under, make_embedder, with_headers
from repoeval_bench.runs.planning import Inputs, draw, make_inputs, select
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest

if TYPE_CHECKING:
    from repoeval_bench.chunkers.tools.sizes import SizeMatch
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.embedding.registry import TextEncoder
    from repoeval_bench.runs.results import Results


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A request without its chunker, the tasks that it scores, and its embedder; None if nothing needs vectors."""

    request: RunRequest
    selected: Benchmark
    embedder: Embedder | None

    @property
    def protocol(self) -> Protocol:
        """Return the protocol with the choices that override it."""
        return self.request.resolved_protocol()

    @cached_property
    def inputs(self) -> Inputs:
        """Return the inputs that are the same for all chunkers."""
        return make_inputs(self.selected, self.protocol)

    @property
    def cut(self) -> tuple[object, ...]:
        """All that decides what is cut: a chunker has the same chunks under settings that have the same."""
        request, windows = self.request, self.protocol.documents == "windows"
        return request.match_size, request.header, request.skip_errors, windows, *self.selected.files.values()


class Materials:
    """The data of requests, `without` some repositories, and what runs over it share.

    Data is fetched on first use. A given `embedder` replaces that of every request. `placed` decides where encoders
    compute, see `make_embedder`. Vectors are shared with the store of `results`, new ones by `share`.
    """

    def __init__(
        self,
        data: DataRequest,
        *,
        without: frozenset[str],
        results: Results,
        home: Path | None = None,
        placed: Callable[[TextEncoder], TextEncoder] | None = None,
        benchmark: Benchmark | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._data, self.without, self._placed = data, without, placed
        self.results, self.home = results, home
        self._shared = results.vectors(home)
        self._benchmark = benchmark
        self._embedder = embedder
        self._embedders: dict[str, CachedEmbedder] = {}
        self._settings: dict[tuple[RunRequest, int | None], Setting] = {}

    @cached_property
    def benchmark(self) -> Benchmark:
        """Return the tasks and files."""
        if self._benchmark is not None:
            return self._benchmark
        fields = {name: getattr(self._data, name) for name in DataRequest.model_fields}
        return load_benchmark(**fields, without=self.without, home=self.home)

    def embedder(self, setting: RunRequest) -> Embedder | None:
        """Return the embedder of a setting; None if nothing needs vectors."""
        if not setting.needs_vectors:
            return None
        if self._embedder is not None:
            return self._embedder
        spec = setting.embedder
        if spec not in self._embedders:
            self._embedders[spec] = make_embedder(spec, home=self.home, placed=self._placed, cache=self._shared)
        return self._embedders[spec]

    def setting(self, request: RunRequest, sample: int | None = None) -> Setting:
        """Return the setting of a request without its chunker; at most `sample` of its tasks are drawn."""
        if (request, sample) not in self._settings:
            protocol = request.resolved_protocol()
            same = (
                setting.selected
                for (_, size), setting in self._settings.items()
                if (setting.protocol, size) == (protocol, sample)
            )
            selected = next(same, None) or draw(select(self.benchmark, protocol), protocol, sample)
            setting = Setting(request=request, selected=selected, embedder=self.embedder(request))
            self._settings[request, sample] = setting
        return self._settings[request, sample]

    def share(self) -> None:
        """Put new vectors into the store, if there is one."""
        if self._shared is not None:
            self._shared.flush()


def match_sizes(
    benchmark: Benchmark, chunkers: Sequence[str], baseline: str, protocol: Protocol, *, skip_errors: bool = False
) -> list[SizeMatch]:
    """Set each chunker's size so that its chunks' mean size is within 5 % of the baseline's on the protocol's files.

    Sizes are in non-whitespace characters. The baseline's own chunker gets the baseline's size. If a chunker fails, or
    cannot come that near, its match has the reason.
    """
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.sizes import SizeMatch, is_resized, match_size, mean_nws

    files = [file for repo_files in select(benchmark, protocol).files.values() for file in repo_files]
    cutter = make_chunker(baseline)
    target = mean_nws(cutter, files, skip_errors=skip_errors)
    named = [cutter.spec if is_resized(spec, cutter.spec) else spec for spec in chunkers]
    matches = []
    for spec in named:
        try:
            matches.append(match_size(spec, target, files, skip_errors=skip_errors))
        except ChunkError as error:  # it ends this chunker's run alone
            own = make_chunker(spec).spec
            matches.append(SizeMatch(spec=own, realised=0.0, target=target, reason=str(error)))
    return matches


def make_chunkers(benchmark: Benchmark, chunkers: Sequence[str | Chunker | None], request: RunRequest) -> list[Chunker]:
    """Return the chunkers of these specs, with the request's matched sizes and headers."""
    protocol = request.resolved_protocol()
    cutters = [chunker_under(protocol, chunker) for chunker in chunkers]
    if request.match_size:
        specs = [chunker.spec for chunker in cutters]
        matches = match_sizes(benchmark, specs, request.match_size, protocol, skip_errors=request.skip_errors)
        for match in matches:
            NOTICES.info(str(match))
        cutters = [chunker_under(protocol, match.spec) for match in matches]
    return with_headers(cutters, request.header)


def unsized(requests: Iterable[RunRequest]) -> dict[str, Chunker]:
    """Name -> chunker, with its header and before sizes are matched, of each request that does not skip errors."""
    return {
        request.chunker: with_headers([chunker_under(request.resolved_protocol(), request.chunker)], request.header)[0]
        for request in requests
        if request.chunker and not request.skip_errors
    }


def unscored_repositories(requests: Sequence[RunRequest]) -> frozenset[str]:
    """Repositories whose tasks do not count towards a limit of the first N, so that each request scores some."""
    return passed_over((request.resolved_protocol() for request in requests), requests[0].level)


def log_unread(requests: Sequence[RunRequest]) -> None:
    """Log the embedders that have no effect, as none of these runs needs vectors."""
    if any(request.needs_vectors for request in requests):
        return
    if named := dict.fromkeys(f"--embedder {request.embedder}" for request in requests if request.embedder != EMBEDDER):
        NOTICES.info(f"note: {', '.join(named)}: not read, as no retriever or measure here needs an embedder")
