"""What `eval` and `compare` share: the options of a run, checked before anything is computed, and its table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.options import dataset_options, say
from repoeval_bench.config import CHOICES, DEPTH, Protocol, RunConfig
from repoeval_bench.errors import UsageError
from repoeval_bench.spec import Spec, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.store import StoredRun
    from repoeval_bench.types import Benchmark, Chunker, Embedder


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide a run's numbers, shared by `eval` and `compare`."""
    options = [
        click.option("--chunker", "-c", "chunkers", multiple=True, metavar="SPEC",
                     help="A chunker such as ast, fixed:max_nws=800, py:module:Class, exec:COMMAND; repeat it."),
        click.option("--match-size", metavar="SPEC",
                     help="Set every chunker's size so that its realised mean is within 5 % of this one's."),
        click.option("--header", type=click.Choice(["none", "path", "scope"]), default="none", show_default=True,
                     help="What is put before every chunk's text, for every chunker alike; spans do not move."),
        click.option("--protocol", default=api.PROTOCOL, show_default=True, metavar="NAME",
                     help="What is asked and what is gold; see `list protocols`."),
        click.option("--query", metavar="POLICY", help="Override the protocol's query: full or tail:LINES."),
        click.option("--gold", metavar="SPAN", help="Override the gold: prompt, context or body."),
        click.option("--relevance", metavar="RULE",
                     help="Override the relevance: overlap, lines:N, iou:T, chunk-share:T, gold-share:T, graded:iou "
                     "or graded:levels."),
        click.option("--repositories", metavar="SET", help="Override the protocol's repositories: all or six."),
        click.option("--exclude", metavar="POLICY",
                     help="What a query may not see of its own file: none, prompt, repocoder or body."),
        click.option("--copies", metavar="POLICY",
                     help="credited: a chunk with the same text as a relevant one counts too; distinct: it does not."),
        click.option("--embedder", default=api.EMBEDDER, show_default=True, metavar="SPEC",
                     help="minilm, or st:NAME for any sentence-transformers model or folder."),
        click.option("--long-text", metavar="POLICY",
                     help="What is read of a text longer than the model reads: head, tail or mean; or apart, "
                     "queries=tail,chunks=mean."),
        click.option("--retriever", default=api.RETRIEVER, show_default=True, metavar="SPEC",
                     help="How to rank: dense, bm25, hybrid, jaccard, rerank:MODEL, …; see `list retrievers`."),
        click.option("--scope", metavar="WHERE",
                     help="Where a query searches: repository (its own), or pooled (all of them in one index)."),
        click.option("--k", type=int, default=DEPTH, show_default=True, help="Depth that is ranked and stored."),
        click.option("--metrics", "-m", multiple=True, metavar="NAME",
                     help="A measure such as ndcg@10 in place of the default ones; repeat it."),
        click.option("--out", type=click.Path(path_type=Path), default=api.RESULTS,
                     show_default=True, help="Where run folders are written."),
        click.option("--skip-errors", is_flag=True, help="Leave out files the chunker fails on, and count them."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return dataset_options(command)


class Prepared:
    """Everything a command was asked for, checked before anything is computed."""

    def __init__(
        self,
        benchmark: Benchmark,
        chunkers: Sequence[Chunker],
        protocol: Protocol,
        embedder: Embedder | None,
        options: dict[str, Any],
    ) -> None:
        self.benchmark = benchmark
        self.chunkers = chunkers
        self.protocol = protocol
        self.embedder = embedder
        self.options = options

    @classmethod
    def make(cls, specs: Sequence[str], options: dict[str, Any]) -> Prepared:
        """Parse the cheap things first, so that a typing error is told before a download starts."""
        from chunkers.headed import HeadedChunker
        from repoeval_bench.qrels import relevance_rule
        from repoeval_bench.queries import query_policy
        from repoeval_bench.store import check_writable

        found = Gathered()
        protocol: Protocol | None = None
        chunkers: list[Chunker] = []
        with found:
            RunConfig.check_depth(options["k"])
        with found:
            protocol = Protocol.parse(options["protocol"]).override(**{choice: options[choice] for choice in CHOICES})
        with found:
            query_policy(protocol.query if protocol else options["query"] or "full")
        with found:
            relevance_rule(protocol.relevance if protocol else options["relevance"] or "overlap")
        with found:
            # A depth that is impossible is told already: it says nothing about the measures.
            api.choose_measures(options["metrics"], options["k"] if options["k"] > 0 else sys.maxsize)
        with found:
            api.make_retriever(options["retriever"], protocol)
        # Where the protocol does not exist nobody can say whether it wants a chunker; a wrong one is wrong anyway.
        for spec in specs or ((None,) if protocol else ()):
            with found:
                chunkers.append(api.make_parts(protocol or Protocol.parse(api.PROTOCOL), spec)[0])
        with found:
            repeated = {c.spec for c in chunkers if [d.spec for d in chunkers].count(c.spec) > 1}
            if repeated:
                raise UsageError(f"{', '.join(sorted(repeated))} is named twice; name each chunker once")
        found.check()
        assert protocol is not None
        check_writable(options["out"])
        embedder = None
        if api.needs_vectors(options["retriever"], options["metrics"]):
            embedder = api.make_embedder(
                with_long_text(options["embedder"], options["long_text"]), home=options["home"]
            )
        benchmark = api.load_benchmark(
            options["source"],
            level=options["level"],
            context=options["context"],
            tokenizer=options["tokenizer"],
            repos=options["repos"],
            limit=options["limit"],
            home=options["home"],
            notify=say,
        )
        if options["match_size"]:
            matches = api.match_sizes(benchmark, [c.spec for c in chunkers], options["match_size"], protocol)
            for match in matches:
                say(str(match))
            chunkers = [api.make_parts(protocol, match.spec)[0] for match in matches]
        if options["header"] != "none":
            chunkers = [HeadedChunker(chunker, options["header"]) for chunker in chunkers]
        return cls(benchmark, chunkers, protocol, embedder, options)

    def evaluate(self, chunker: Chunker, *, reuse: bool = False) -> StoredRun:
        """Make (or with `reuse` find) the run of one chunker."""
        run = api.evaluate(
            self.benchmark,
            chunker,
            protocol=self.protocol,
            embedder=self.embedder or self.options["embedder"],
            retriever=self.options["retriever"],
            k=self.options["k"],
            metrics=self.options["metrics"] or None,
            out=self.options["out"],
            skip_errors=self.options["skip_errors"],
            reuse=reuse,
            home=self.options["home"],
        )
        say(f"{run.metrics['chunker']} -> {run.folder}")
        return run


def with_long_text(embedder: str, policy: str | None) -> str:
    """The embedder's spec with a --long-text policy: one for queries and chunks, or `queries=…,chunks=…`."""
    if not policy:
        return embedder
    spec = Spec.parse(embedder)
    chosen = {"queries": policy, "chunks": policy}
    if "=" in policy:
        chosen = Spec.parse(f"long-text:{policy}").params
    for what, value in chosen.items():
        if what not in ("queries", "chunks"):
            raise UsageError(f"--long-text {policy}: {nearest('kind of text', what, ('queries', 'chunks'))}")
        if spec.params.get(f"long_{what}", value) != value:
            raise UsageError(f"--long-text {policy} contradicts --embedder {embedder}; leave one of them out")
        spec.params[f"long_{what}"] = value
    return str(spec)


def print_scores(runs: Sequence[StoredRun]) -> None:
    """The score tables of runs of one protocol, lines first, and what stands under them."""
    from repoeval_bench.report.tables import footnotes, score_tables

    for table in score_tables(runs, per_repo=len(runs) == 1):
        print_table(table)
    for run in runs:
        for line in footnotes(run):
            click.echo(line)
    click.echo(f"mind: {Protocol.parse(runs[0].metrics['protocol']).caution}")
