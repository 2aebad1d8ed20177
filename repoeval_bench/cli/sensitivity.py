"""`sensitivity`: whether a verdict on two chunkers holds when the setting changes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from repoeval_bench import api
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.options import check_data, dataset_options, precision_option, say
from repoeval_bench.cli.prepared import say_unread
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.protocols.qrels import relevance_rule
from repoeval_bench.protocols.queries import query_policy
from repoeval_bench.report.table import Column, Estimate, figures, make_table, spec_column
from repoeval_bench.runs.config import DEPTH
from repoeval_bench.runs.executors import ProcessPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.analysis.sensitivity import PairedResult
    from repoeval_bench.report.table import Table

PROTOCOLS = ("context", "code-chunk", "body", "linemap")
QUERIES = ("full", "tail:20")
RELEVANCES = ("overlap", "iou:0.2", "graded:levels")
RETRIEVERS = ("dense", "bm25")
MEASURES = ("ndcg@10", "line_recall_auc")
SHOWN = 12
"""Cells that flip a verdict are listed up to so many; --json has all."""


def _several(*names: str, default: tuple[str, ...], what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*names, multiple=True, default=default, show_default=True, help=f"{what}; repeat it.")


@click.command("sensitivity", short_help="Say in how many settings one chunker beats another.")
@click.option("--chunker", "-c", "chunkers", multiple=True, metavar="SPEC", help="Two or more; repeat it.")
@_several("--protocol", "protocols", default=PROTOCOLS, what="Protocols of the grid")
@_several("--query", "queries", default=QUERIES, what="Query policies of the grid")
@_several("--relevance", "relevances", default=RELEVANCES, what="Relevance rules of the grid")
@_several("--retriever", "retrievers", default=RETRIEVERS, what="Retrievers of the grid")
@_several("--metrics", "-m", "measures", default=MEASURES, what="Measures of the grid")
@click.option("--match/--no-match", default=True, show_default=True, help="Compare at matched realised sizes too.")
@click.option(
    "--placebo",
    type=int,
    default=10,
    show_default=True,
    metavar="N",
    help="Line offsets at which the fixed baseline is started for the placebo band; 0 for none.",
)
@click.option("--embedder", default=api.EMBEDDER, show_default=True, metavar="SPEC", help="See `list embedders`.")
@precision_option
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the cells there as JSON.")
@click.option("--out", type=click.Path(path_type=Path), default=api.RESULTS, show_default=True,
              help="Cells are kept under it, in sensitivity/, and computed once.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
@dataset_options
def sensitivity_command(
    *,
    chunkers: tuple[str, ...],
    as_json: bool,
    output: Path | None,
    source: str,
    level: str,
    context: str,
    tokenizer: str,
    home: Path | None,
    repos: tuple[str, ...] | None,
    limit: int | None,
    embedder: str,
    precision: str,
    **grid: Any,
) -> None:
    """Compare every pair of --chunkers in every cell of protocol x query x relevance x retriever x size.

    A cell is decided where the 95 % interval of the difference (BCa, files resampled) leaves out 0, and is noise where
    the difference is no larger than the spread of one and the same chunker started at other lines. Every cell is
    computed once and kept: a grid that was interrupted goes on, and one with a chunker more computes that one's cells.
    """
    given = {"embedder": embedder, "precision": precision}
    data: dict[str, Any] = {
        "source": source, "level": level, "context": context, "tokenizer": tokenizer, "home": home, "repos": repos,
    }  # fmt: skip
    if click.get_current_context().get_parameter_source("protocols") is ParameterSource.DEFAULT:
        grid["protocols"] = _scoring(grid["protocols"], repos or (), level)
    embedder, protocols = _check(chunkers, embedder, precision, grid, data)
    vectors = any(api.needs_vectors(retriever, grid["measures"]) for retriever in grid["retrievers"])
    say_unread([given], vectors=vectors)
    benchmark = api.load_benchmark(**data, limit=limit, without=passed_over(protocols, level), notify=say)
    with ProcessPool() as pool:
        found = api.sensitivity(benchmark, chunkers, **grid, embedder=embedder, home=home, notify=say, executor=pool)
    text = json.dumps([contest.as_dict() for contest in found], indent=2, ensure_ascii=False)
    if output:
        try:
            write_atomic(output, text + "\n")
        except OSError as error:
            raise ResultError(f"{output} cannot be written ({error}); choose another with --output") from error
    if as_json:
        click.echo(text)
        return
    from repoeval_bench.analysis.sensitivity import flips

    click.echo(benchmark.label)
    print_table(_summary(found))
    click.echo(_bands(found), nl=False)
    against = flips(found)
    if against:
        print_table(_cells(against[:SHOWN]))
        if len(against) > SHOWN:
            click.echo(f"and {len(against) - SHOWN} more cells against the majority; --json lists all")
    else:
        click.echo("no decided cell contradicts another of the same pair")


def _check(
    chunkers: Sequence[str], embedder: str, precision: str, grid: Mapping[str, Any], data: Mapping[str, Any]
) -> tuple[str, list[Protocol]]:
    """Check all of the grid before data is looked for; all that is wrong is told in one UsageError.

    Gives the embedder's spec with its precision, and the grid's protocols.
    """
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.placebo import placebo_problems
    from repoeval_bench.embedding.choice import choose_embedder
    from repoeval_bench.embedding.precision import with_precision
    from repoeval_bench.runs.grid import grid_problems, make_protocols

    found = Gathered()
    good: dict[str, list[Any]] = defaultdict(list)
    checks: tuple[tuple[str, Sequence[str], Callable[[str], object]], ...] = (
        ("chunkers", chunkers, make_chunker),
        ("protocols", grid["protocols"], Protocol.parse),
        ("queries", grid["queries"], query_policy),
        ("relevances", grid["relevances"], relevance_rule),
        ("retrievers", grid["retrievers"], api.choose_retriever),
        ("measures", grid["measures"], lambda name: api.choose_measures([name], DEPTH)),
    )
    for what, names, check in checks:
        for name in names:
            with found.about(what, name):
                good[what].append(check(name))
    with found.about("precision"):
        embedder = with_precision(embedder, precision)
    with found.about("embedder"):
        choose_embedder(embedder)
    check_data(data, {protocol.name: protocol for protocol in good["protocols"]}, found)
    specs = [chunker.spec for chunker in good["chunkers"]]
    for retriever in good["retrievers"]:
        for protocol in good["protocols"]:
            with found.about("retrievers"):
                api.choose_retriever(retriever.spec, protocol)
    # A chunker that is misspelt is told already: it may well be another one.
    specs += chunkers[len(specs) :]
    problems = grid_problems(specs, good["protocols"], [each.spec for each in good["retrievers"]])
    for sentence in (*problems, *placebo_problems(grid["placebo"])):
        with found.about("grid"):
            raise UsageError(sentence)
    found.check()
    return embedder, make_protocols(grid["protocols"], grid["queries"], grid["relevances"])


def _scoring(protocols: Sequence[str], repos: Sequence[str], level: str) -> list[str]:
    """Those of the usual protocols that score one of the repositories asked for; what is left out is said."""
    from repoeval_bench.dataset.repoeval import repository_name
    from repoeval_bench.protocols.protocol import check_scored

    kept = []
    for name in protocols:
        try:
            check_scored(Protocol.parse(name), map(repository_name, repos), level)
        except UsageError:
            say(f"protocol {name} scores none of {', '.join(repos)} and is left out")
        else:
            kept.append(name)
    return kept


def _summary(found: Sequence[PairedResult]) -> Table:
    verdicts, title = ["wins", "loses", "undecided"], "settings in which the chunker wins, loses, or is undecided"
    if any(contest.band is not None for contest in found):
        verdicts.append("noise")
        title = "settings in which the chunker wins, loses, is undecided, or differs within the placebo band"
    tallies: dict[tuple[str, str, str, str], Counter[str]] = {}
    for contest in found:
        key = (contest.a, contest.b, contest.sizes.partition(" ")[0], contest.cell.measure)
        tallies.setdefault(key, Counter())[contest.verdict] += 1
    names = ("chunker", "against", "sizes", "measure", "cells", *verdicts)
    rows = [(*key, tally.total(), *(tally[verdict] for verdict in verdicts)) for key, tally in tallies.items()]
    return make_table([spec_column(name, 34) for name in names], rows, title=title)


def _bands(found: Sequence[PairedResult]) -> str:
    """How wide the placebo band is, by measure, over the cells; "" where none was measured."""
    bands: dict[str, list[float]] = defaultdict(list)
    for contest in found:
        if contest.band is not None:
            bands[contest.cell.measure].append(contest.band)
    told = [
        f"{measure} {min(values):.4f} to {max(values):.4f} (median {median(values):.4f})"
        for measure, values in bands.items()
    ]
    return f"placebo band over the cells: {', '.join(told)}\n" if told else ""


def _cells(found: Sequence[PairedResult]) -> Table:
    rows = [
        (
            contest.a,
            contest.b,
            contest.sizes.partition(" ")[0],
            contest.cell.protocol,
            contest.cell.retriever,
            contest.cell.measure,
            Estimate(contest.difference, contest.ci),
            contest.band,
            contest.verdict,
        )
        for contest in found
    ]
    specs = ("chunker", "against", "sizes", "protocol", "retriever", "measure")
    columns = [*(spec_column(name, 34) for name in specs), *figures("difference", number="+.4f")]
    columns += [*figures("band", missing=""), Column(name="verdict")]
    return make_table(columns, rows, title="decided cells that contradict the majority of their pair")
