"""`eval`: run chunkers, store their runs, print their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from repoeval_bench.cli.answer import print_answer, print_scores, unmade_rows
from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import details_option, refuse_unread, requests_of, run_options
from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.shipped import PROTOCOLS, edition_of, shipped_pack
from repoeval_bench.metrics import inputs_of
from repoeval_bench.report.answer import left_out_notes
from repoeval_bench.report.table import figures, make_table, spec_column
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.parts import choose_measures, choose_retriever
from repoeval_bench.runs.runner import Runner, plan_run
from repoeval_bench.runs.stages import texts_of

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Embedder, Role
    from repoeval_bench.runs.request import RunRequest
    from repoeval_bench.runs.view import RunView


@click.command("eval")
@run_options
@click.argument("more_measures", nargs=-1, metavar="")
@click.option("--dry-run", is_flag=True, help="Print what would be embedded, without computing it.")
@details_option
def evaluate_command(
    *,
    chunker: tuple[str, ...],
    more_measures: tuple[str, ...],
    out: Path,
    home: Path | None,
    as_json: bool,
    dry_run: bool,
    details: bool,
    **fields: Any,
) -> None:
    """Chunk, embed, retrieve and score with each --chunker, store the runs, and print what they show.

    With a shipped pack as --source and without --protocol, four protocols are run: uses, docstring, body and context.
    """
    # `--measure ndcg@10 recall@5`: what follows the first one arrives here.
    if more_measures and not fields["measures"]:
        raise UsageError(
            f"{more_measures[0]!r} does not belong to an option; name chunkers with --chunker {more_measures[0]}"
        )
    fields["measures"] = (*fields["measures"], *more_measures)
    requests = [
        request for protocol in _protocols(fields) for request in requests_of(chunker, fields | {"protocol": protocol})
    ]
    if dry_run:
        refuse_unread({"details"}, "with --dry-run, which makes no run")
    with ProcessPool() as pool:
        runner = Runner(requests, out=out, home=home, executor=pool)
        if dry_run:
            _dry_run(runner, runner.settings[0], as_json=as_json)
            return
        runs_by_setting = [[run for run in runner.run(setting, reuse=False) if run] for setting in runner.settings]
    if as_json:
        contents = [run.metrics.as_json() for runs in runs_by_setting for run in runs] + unmade_rows(runner)
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        _print(runner, runs_by_setting, out, details=details)
    runner.check()


def _print(runner: Runner, runs_by_setting: Sequence[Sequence[RunView]], out: Path, *, details: bool) -> None:
    """The runs of each setting, under its protocol where there are several."""
    for number, (setting, runs) in enumerate(zip(runner.settings, runs_by_setting, strict=True)):
        if len(runs_by_setting) > 1:
            echo(("\n" if number else "") + f"protocol {setting.resolved_protocol().name}\n")
        skipped, failed = runner.skipped_of(setting), len(runner.failed_of(setting))
        if details:
            print_scores(runs)
            print_lines(left_out_notes(skipped))
        else:
            print_answer(runs, out, failed=failed, skipped=skipped, remembered=False)


def _protocols(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The protocol that was asked for; without one all that suit a shipped pack, the deciding one first."""
    is_given = click.get_current_context().get_parameter_source("protocol") is not ParameterSource.DEFAULT
    shipped = edition_of(fields["pack"]) or shipped_pack(fields["source"])
    return (fields["protocol"],) if is_given or not shipped else PROTOCOLS


def _dry_run(runner: Runner, setting: RunRequest, *, as_json: bool) -> None:
    embedder = runner.embedder(setting)
    if embedder is None:
        raise UsageError(f"retriever {setting.retriever} embeds nothing; leave out --dry-run")
    needs = {
        "ranked": choose_retriever(setting.retriever).vectors,
        "measured": "vectors" in inputs_of(choose_measures(setting.measures, setting.k)),
    }
    plans = [
        plan_run(runner.benchmark, chunker, protocol=setting.resolved_protocol(), skip_errors=setting.skip_errors)
        for chunker in runner.chunkers(setting)
    ]
    rows: list[dict[str, str | int]] = []
    if needs["ranked"]:
        # They are the same for every chunker.
        queries = texts_of(plans[:1], **needs)["query"]
        rows.append({"chunker": "all", "texts": "queries", **_would_embed(queries, "query", embedder)})
    for planned in plans:
        cut = texts_of([planned], **needs)["document"]
        rows.append({"chunker": planned.chunker, "texts": "chunks", **_would_embed(cut, "document", embedder)})
    total = _cost(embedder.pending(texts_of(plans, **needs)), embedder)
    if as_json:
        record = {"dataset": runner.benchmark.label, "texts": rows, "total": total}
        print_json(record)
        return
    _, _, *counts = rows[0]
    columns = [
        *map(spec_column, ("chunker", "texts")),
        *figures(*(name.replace("_", " ") for name in counts), number=",", missing=""),
    ]
    rows.append({"texts": "in one pass", **total})
    cells = [[row.get(column) for column in rows[0]] for row in rows]
    print_table(make_table(columns, cells, title=f"would embed · {runner.benchmark.label}"))


def _would_embed(texts: Sequence[str], role: Role, embedder: Embedder) -> dict[str, int]:
    """Texts of one role; of what the model is given of them (tails and windows instead of long ones) the distinct."""
    parts = {part for pieces in embedder.parts(texts, role) for part in pieces}
    pending = embedder.pending({role: texts})
    n_pending = sum(map(len, pending.values()))
    return {
        "count": len(texts),
        "distinct": len(parts),
        "cached": len(parts) - n_pending,
        **_cost(pending, embedder),
    }


def _cost(pending: Mapping[Role, Sequence[str]], embedder: Embedder) -> dict[str, int]:
    """Count what is to be embedded, its tokens, and those that the model reads; no tokens if it reports none."""
    limit = embedder.max_tokens
    counts = [n for role, parts in pending.items() for n in embedder.count_tokens(parts, role) or ()]
    return {
        "to_embed": sum(map(len, pending.values())),
        "tokens": sum(counts),
        "tokens_read": sum(counts if limit is None else (min(n, limit) for n in counts)),
    }
