"""What `eval` and `compare` share: the options of a run, checked before anything is computed, and its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.cli.choices import check_choices, headed
from repoeval_bench.cli.console import at_terminal, print_tables
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.options import dataset_options, precision_option, say
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.runs.config import DEPTH, PACK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.chunkers.tools.sizes import SizeMatch
    from repoeval_bench.cli.choices import Choices
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.view import RunView


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide a run's numbers, shared by `eval` and `compare`."""
    options = [
        click.option("--chunker", "-c", "chunkers", multiple=True, metavar="SPEC",
                     help="A chunker such as ast, fixed:max_nws=800, py:module:Class, exec:COMMAND; repeat it."),
        click.option("--match-size", metavar="SPEC",
                     help="Set every chunker's size so that its realised mean is within 5 % of this one's."),
        click.option("--header", default="none", show_default=True, metavar="KIND",
                     help="none, path or scope: what is put before every chunk's text, for every chunker alike; "
                     "spans do not move."),
        click.option("--protocol", default=api.PROTOCOL, show_default=True, metavar="NAME",
                     help="What is asked and what is gold; see `list protocols`."),
        click.option("--query", metavar="POLICY", help="Override the protocol's query: full or tail:LINES."),
        click.option("--gold", metavar="SPAN", help="Override the gold: prompt, context or body."),
        click.option("--relevance", metavar="RULE",
                     help="Override the relevance: overlap, lines:N, iou:T, chunk-share:T, gold-share:T, graded:iou "
                     "or graded:levels."),
        click.option("--repositories", metavar="SET", help="Override the protocol's repositories: all or six."),
        click.option("--exclusion", "--exclude", "exclusion", metavar="POLICY",
                     help="What a query may not see of its own file: none, prompt, repocoder or body."),
        click.option("--copies", metavar="POLICY",
                     help="credited: a chunk with the same text as a relevant one counts too; distinct: it does not."),
        click.option("--embedder", default=api.EMBEDDER, show_default=True, metavar="SPEC",
                     help="minilm, st:NAME, openai:MODEL, static, lsa, …; see `list embedders`."),
        precision_option,
        click.option("--long-text", metavar="POLICY",
                     help="What is read of a text longer than the model reads: head, tail, mean or max; or apart, "
                     "queries=tail,chunks=max."),
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


def default_options() -> dict[str, Any]:
    """Every option of a run as it is where the command line names none: what `eval` alone would pass on."""

    @click.command("eval")
    @run_options
    def nothing(**_options: Any) -> None:
        pass

    return dict(nothing.make_context("eval", []).params)


class Prepared:
    """Everything that a run needs, at hand: data, models, chunkers of their final size."""

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
    def make(cls, specs: Sequence[str], options: dict[str, Any], found: Gathered | None = None) -> Prepared:
        """Check what was asked for, then fetch and locate it; `found` are mistakes that are to be told with its own."""
        found = found or Gathered()
        choices = check_choices(specs, options, found)
        found.check()
        assert choices is not None
        (prepared,) = cls.make_all([choices])
        return prepared

    @classmethod
    def make_all(cls, asked: Sequence[Choices]) -> list[Prepared]:
        """Fetch the data, which is the same for all of `asked`, once, and each model once."""
        from repoeval_bench.runs.store import check_writable

        options = asked[0].options
        check_writable(options["out"])
        say_unread([each.options for each in asked], vectors=any(each.vectors for each in asked))
        specs = dict.fromkeys(each.embedder for each in asked if each.vectors)
        # What can fail before the data is fetched is made before; what is fitted on the data, after.
        early = [spec for spec in specs if not api.needs_files(spec)]
        embedders = {spec: api.make_embedder(spec, home=options["home"], notify=say) for spec in early}
        benchmark = api.load_benchmark(
            options["source"],
            level=options["level"],
            context=options["context"],
            tokenizer=options["tokenizer"],
            repos=options["repos"],
            limit=options["limit"],
            # The first N are of what is scored, so that a small limit leaves some of it.
            without=passed_over((each.protocol for each in asked), options["level"]),
            home=options["home"],
            notify=say,
        )
        for spec in specs:
            if spec not in embedders:
                embedders[spec] = api.make_embedder(spec, home=options["home"], benchmark=benchmark, notify=say)
        matched: dict[str, list[SizeMatch]] = {}
        made = []
        for each in asked:
            chunkers = each.chunkers
            if options["match_size"]:
                name = each.protocol.name
                if name not in matched:
                    specs_of = [chunker.spec for chunker in chunkers]
                    matched[name] = api.match_sizes(benchmark, specs_of, options["match_size"], each.protocol)
                    for match in matched[name]:
                        say(str(match))
                chunkers = [api.make_parts(each.protocol, match.spec)[0] for match in matched[name]]
            embedder = embedders[each.embedder] if each.vectors else None
            chunkers = headed(chunkers, options["header"])
            made.append(cls(benchmark, chunkers, each.protocol, embedder, each.options))
        return made

    def evaluate(self, executor: Executor, *, reuse: bool = False) -> list[RunView]:
        """Make (or with `reuse` find) the run of every chunker, in their order."""
        runs = []
        for run in api.evaluate_all(
            self.benchmark,
            self.chunkers,
            protocol=self.protocol,
            embedder=self.embedder or self.options["embedder"],
            retriever=self.options["retriever"],
            k=self.options["k"],
            metrics=self.options["metrics"] or None,
            out=self.options["out"],
            skip_errors=self.options["skip_errors"],
            reuse=reuse,
            home=self.options["home"],
            pack=self.options.get("pack") or PACK,
            notify=say,
            executor=executor,
        ):
            say(f"{run.metrics.chunker} -> {run.folder}")
            runs.append(run)
        return runs


def say_unread(asked: Sequence[Mapping[str, Any]], *, vectors: bool) -> None:
    """Say which options about an embedder, in any of these sets, change nothing as no run needs vectors."""
    if vectors:
        return
    usual = default_options()
    given = [
        f"--{name.replace('_', '-')} {options[name]}"
        for name in ("embedder", "precision", "long_text")
        for options in asked
        if options.get(name, usual[name]) != usual[name]
    ]
    if given:
        say(f"mind: {', '.join(dict.fromkeys(given))}: not read, for no retriever or measure here needs an embedder")


def print_scores(runs: Sequence[RunView]) -> None:
    """The score tables of runs of one protocol and what stands under them; at a terminal the headline as bars first."""
    from repoeval_bench.report.scores import headline_table, score_tables

    if at_terminal() and (headline := headline_table(runs)):
        print_tables([headline])
    print_tables(score_tables(runs))
