"""What a run is asked for, parsed and checked as a whole: every mistake is told, before anything is fetched."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench import api
from repoeval_bench.cli.options import check_data
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import Spec, nearest
from repoeval_bench.protocols.protocol import CHOICES, Protocol, check_choice
from repoeval_bench.runs.config import NO_EMBEDDER, RunConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.cli.gathered import Gathered
    from repoeval_bench.core.parts import Chunker

_OTHERWISE = "leave it out, or choose another protocol"


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for, parsed: nothing of it was fetched, located or computed yet.

    `options` are all options of a run by name, as `run_options` passes them on; `embedder` is the full spec.
    """

    protocol: Protocol
    chunkers: Sequence[Chunker]
    embedder: str
    options: dict[str, Any]

    @property
    def vectors(self) -> bool:
        """Whether the embedder takes part: a retriever or a measure asks for vectors."""
        return api.needs_vectors(self.options["retriever"], self.options["metrics"])

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """These options as they were asked for; the embedder is `none` where it takes no part."""
        return {name: self.options[name] for name in names} | (
            {} if self.vectors or "embedder" not in names else {"embedder": NO_EMBEDDER}
        )


def check_choices(specs: Sequence[str], options: dict[str, Any], found: Gathered) -> Choices | None:  # noqa: PLR0915
    """Parse everything that can be parsed without data or model; every mistake is kept in `found`.

    None where there is one. So all typing errors are told at once, and before a download starts.
    """
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.embedding.choice import choose_embedder
    from repoeval_bench.embedding.long_text import with_long_text
    from repoeval_bench.embedding.precision import with_precision
    from repoeval_bench.protocols.qrels import relevance_rule
    from repoeval_bench.protocols.queries import query_policy

    before = len(found.mistakes)
    protocol: Protocol | None = None
    chunkers: list[Chunker] = []
    embedder = options["embedder"]
    with found.about("k"):
        RunConfig.check_depth(options["k"])
    choices: dict[str, str | None] = {}
    for choice in CHOICES:
        with found.about(choice):
            check_choice(choice, options[choice])
            choices[choice] = options[choice]
    with found.about("protocol", options["protocol"]):
        protocol = Protocol.parse(options["protocol"]).override(**choices)
    with found.about("query"):
        query_policy(protocol.query if protocol else options["query"] or "full")
    with found.about("relevance"):
        relevance_rule(protocol.relevance if protocol else options["relevance"] or "overlap")
    with found.about("header"):
        if options["header"] != "none":
            from repoeval_bench.chunkers.headers import KINDS  # it reads syntax trees, which no other chunk needs

            if options["header"] not in KINDS:
                raise UsageError(nearest("header", options["header"], KINDS))
    for name in options["metrics"]:
        with found.about("metrics", name):
            # A depth that is impossible is told already: it says nothing about the measures.
            api.choose_measures([name], options["k"] if options["k"] > 0 else sys.maxsize)
    if not options["metrics"] and options["k"] > 0:
        with found.about("k"):
            api.choose_measures(None, options["k"])
    with found.about("retriever", options["retriever"]):
        api.choose_retriever(options["retriever"], protocol)
    with found.about("precision"):
        embedder = with_precision(embedder, options["precision"])
    with found.about("long_text"):
        embedder = with_long_text(embedder, options["long_text"])
    with found.about("embedder", options["embedder"]):
        choose_embedder(embedder)
    check_data(options, {options["protocol"]: protocol} if protocol else {}, found)
    # Where the protocol does not exist nobody can say whether it wants a chunker; a wrong one is wrong anyway.
    for spec in specs or ((None,) if protocol else ()):
        with found.about("chunkers", spec):
            chunkers.append(api.make_parts(protocol or Protocol.parse(api.PROTOCOL), spec)[0])
    _check_headers(chunkers, options["header"], protocol, found)
    with found.about("chunkers"):
        named = [chunker.spec for chunker in headed(chunkers, options["header"])]
        repeated = {spec for spec in named if named.count(spec) > 1}
        if repeated:
            raise UsageError(f"{', '.join(sorted(repeated))} is named twice; name each chunker once")
    if options["match_size"]:
        with found.about("match_size"):
            make_chunker(options["match_size"])
        with found.about("match_size"):
            if protocol and protocol.documents == "windows":
                raise UsageError(f"protocol {protocol.name} fixes its documents, so no size is matched; {_OTHERWISE}")
    if protocol is None or len(found.mistakes) > before:
        return None
    return Choices(protocol, chunkers, embedder, options)


def _check_headers(chunkers: Sequence[Chunker], header: str, protocol: Protocol | None, found: Gathered) -> None:
    """Keep in `found` where a header for all chunkers has none to go with, or contradicts a chunker's own."""
    if header == "none":
        return
    if protocol and protocol.documents == "windows":
        with found.about("header"):
            raise UsageError(
                f"protocol {protocol.name} fixes its documents and their titles, so there is no header to choose; "
                f"{_OTHERWISE}"
            )
        return
    for chunker in chunkers:
        with found.about("header"):
            if _contradicts(chunker, header):
                raise UsageError(f"header {header} contradicts chunker {chunker.spec}; leave one of them out")


def headed(chunkers: Sequence[Chunker], header: str) -> Sequence[Chunker]:
    """The chunkers with headers of a kind; as they are where it is no kind, or where they have another of their own."""
    if header == "none":
        return chunkers
    from repoeval_bench.chunkers.headers import KINDS, HeadedChunker

    return [
        chunker if header not in KINDS or _contradicts(chunker, header) else HeadedChunker(chunker, header)
        for chunker in chunkers
    ]


def _contradicts(chunker: Chunker, header: str) -> bool:
    """Whether a chunker's spec has a header of another kind."""
    return Spec.parse(chunker.spec).params.get("header", header) != header
