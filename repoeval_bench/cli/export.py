"""`export` and `report`: stored runs in the formats that other programs and papers read, and as one HTML page."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.records import Comparison
from repoeval_bench.cli import options
from repoeval_bench.cli.compare import baseline_of, labelled
from repoeval_bench.cli.console import echo, print_json
from repoeval_bench.cli.options import note
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.report.comparison import comparison_csv, comparison_tables, paper_table
from repoeval_bench.report.figure import figures, write
from repoeval_bench.report.formats import latex, markdown
from repoeval_bench.report.scores import chunk_sizes, score_tables, scores_csv, unanswered_notes
from repoeval_bench.report.table import Table, with_notes
from repoeval_bench.runs.naming import compared_runs, find_run, find_runs
from repoeval_bench.runs.records import QRELS
from repoeval_bench.runs.request import DataRequest
from repoeval_bench.runs.view import RunView

_PAPER = ("markdown", "latex")
ENDINGS = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".trec": "trec"}


@click.command("runs")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice([*ENDINGS.values()]),
    help="Format to write; by default that of FILE's ending, else markdown. --plots alone writes no text.",
)
@click.option(
    "-o", "--output", type=options.OUTPUT, metavar="FILE", help="Where to write; standard output if not given."
)
@click.option("--plots", type=options.OUTPUT_FOLDER, metavar="DIR", help="Write every figure there as SVG and PNG.")
@options.measures_option("Write one table for a paper, with these measures: markdown and latex. May be repeated.")
@click.option("--baseline", metavar="RUN|SPEC", help="Run to compare with; without it every pair is compared.")
@options.name_option
@options.runs_folder
def export_command(
    *,
    runs: tuple[str, ...],
    form: str | None,
    output: Path | None,
    plots: Path | None,
    measures: tuple[str, ...],
    baseline: str | None,
    names: tuple[str, ...],
    out: Path,
) -> None:
    """Export RUNs (folders, ids, or parts of an id); of several runs the differences too.

    `csv` writes the scores to FILE and the differences beside it. `trec` writes the ranking to FILE and the judgements
    to FILE.qrels. With --measure, `markdown` and `latex` are one table of short names, the best in bold. Letters name
    the runs that a mean is significantly better than.
    """
    if form is None and output is not None and output.suffix:
        form = options.form_of(output, ENDINGS)
    elif form is None and (plots is None or output is not None):
        form = "markdown"
    if measures and form not in _PAPER:
        raise UsageError(f"--measure chooses for {' and '.join(_PAPER)}; {form or 'a plot'} has every measure")
    stored = find_runs(dict.fromkeys(runs), out)
    for run in stored:
        _ = run.scores  # reading the scores checks the stored means against them
    stored, base = labelled(stored, baseline_of(stored, baseline, out), names, out)
    for line in unanswered_notes(stored if base is None or base in stored else [base, *stored]):
        note(f"note: {line}")
    if plots is not None:
        for path in write(figures(stored), plots):
            note(f"wrote {path}")
    if form is None:
        return
    files = _files(stored, base, form, output or Path(form), measures)
    if output is None:
        echo(next(iter(files.values())), nl=False)
        for path in list(files)[1:]:
            note(f"{path.suffixes[0][1:]} not printed: -o FILE writes it beside FILE")
        return
    for path, content in files.items():
        options.write_and_say(path, content, "another file with -o")


def _files(
    stored: Sequence[RunView], base: RunView | None, form: str, output: Path, measures: Sequence[str]
) -> dict[Path, str]:
    """Return path -> content: first the file that was asked for, then those that are written beside it."""
    if form == "trec":
        if len(stored) > 1:
            raise UsageError(f"a TREC file holds one ranking, not {len(stored)}; export the runs one by one")
        return {output: stored[0].trec_run(), output.with_name(output.name + ".qrels"): stored[0].text(QRELS)}
    compared = stored if base is None or base in stored else [base, *stored]
    comparisons = compare(stored, baseline=base, measures=measures) if len(compared) > 1 else []
    if form == "csv":
        files = {output: scores_csv(stored)}
        if comparisons:
            sizes = dict(zip(run_names(compared), map(chunk_sizes, compared), strict=True))
            files[output.with_name(f"{output.stem}.differences.csv")] = comparison_csv(comparisons, sizes)
        return files
    tables = [paper_table(compared, comparisons, measures)] if measures else _tables(stored, comparisons)
    tables = with_notes(tables, unanswered_notes(compared))
    return {output: markdown(tables) if form == "markdown" else latex(tables)}


def _tables(stored: Sequence[RunView], comparisons: Sequence[Comparison]) -> list[Table]:
    """Return the tables that `eval` and `compare` print; an imported run has none of its own."""
    imported = [run.run_id for run in stored if run.metrics.imported]
    if imported and not comparisons:
        raise UsageError(f"{imported[0]} was imported, without the sizes that its table prints; take --format csv")
    scores = [] if imported else score_tables(stored)
    return [*scores, *comparison_tables(comparisons)]


@click.command("beir")
@click.argument("run", metavar="RUN")
@click.option(
    "-o",
    "--output",
    type=options.OUTPUT_FOLDER,
    required=True,
    metavar="FOLDER",
    help="Where to write: a data set for each repository, in a folder of its name.",
)
@options.runs_folder
@options.json_option
@options.request_options(DataRequest, only=["source", "questions"])
@options.home_option
def export_beir_command(*, run: str, output: Path, out: Path, as_json: bool, **location: Any) -> None:
    """Write corpus.jsonl, queries.jsonl, qrels and README.md for the documents of a RUN.

    A query sees only its own repository, so each repository is a data set, and a subset of FOLDER. Runs store no texts,
    so the chunks are made again from the data.
    """
    from repoeval_bench.runs.beir import export_beir
    from repoeval_bench.runs.replay import data_of

    stored = find_run(run, out)
    done = export_beir(stored, data_of(stored, **location), output)
    note(f"wrote {count(len(done.sets), 'data set')} into {output}")
    note(f"{count(done.documents, 'document')}; {done.scored:,} of {count(done.queries, 'query')} with a relevant one")
    if done.restricted:
        restricted = count(done.restricted, "query")
        note(f"note: {restricted} may not see every document: MTEB reads top_ranked.jsonl, BEIR does not")
    if done.left_out:
        skipped = count(len(done.left_out), "repository")
        note(f"left out: {skipped} without a relevant document: {', '.join(done.left_out)}")
    if as_json:
        print_json({"written": str(output), "run": stored.run_id, **asdict(done)})


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "-o",
    "--output",
    type=options.OUTPUT,
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write the page.",
)
@options.no_text_option
@options.name_option
@options.runs_folder
def report_command(*, runs: tuple[str, ...], output: Path, no_text: bool, names: tuple[str, ...], out: Path) -> None:
    """Write a page about one RUN or several; without RUN, about the last recommendation or comparison.

    The page is one file that needs no network.
    """
    from repoeval_bench.own.recommend.recommendation import recommended
    from repoeval_bench.report.html.report import check_page, report_page

    check_page()
    answer = None if runs else recommended(out)
    shown = [*answer.evidence[0].runs.values()] if answer else [*dict.fromkeys(runs)]
    stored = find_runs(shown, out) if shown else compared_runs(out)
    stored, _ = labelled(stored, None, names, out)
    note(f"making a page about {count(len(stored), 'run')}")
    page = report_page(stored, str(output), answer=answer, text=not no_text)
    options.write_and_say(output, page, "another file with -o")
