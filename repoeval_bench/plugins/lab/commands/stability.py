"""`lab stability`: measure which share of a new version of some code must be embedded again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import note
from repoeval_bench.core.errors import OR_SKIP, of_each
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.words import count
from repoeval_bench.dataset.reading.plain import read_code
from repoeval_bench.plugins.lab.stability import Stability, stability
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import CHARACTERS_NOTE
from repoeval_bench.runs.problems import check_distinct


@click.command("stability")
@click.argument("old")
@click.argument("new")
@click.option("--chunker", "-c", "specs", multiple=True, metavar="SPEC", help="A chunker; repeat it to compare.")
@click.option("--skip-errors", is_flag=True, help="Skip files that the chunker fails on, and count them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line per chunker.")
def stability_command(*, old: str, new: str, specs: tuple[str, ...], skip_errors: bool, as_json: bool) -> None:
    """Count the texts of NEW that are not in OLD, with their characters and tokens.

    Each is a folder, an archive, pypi:NAME==VERSION or npm:NAME@VERSION.
    """
    chunkers = of_each(make_chunker, specs or ("ast",))
    check_distinct(chunkers)
    before, after = (read_code(source) for source in (old, new))
    if before.kind != after.kind:
        note(f"note: {before.name} is a {before.kind} and {after.name} a {after.kind}, which can hold other files")
    results = [stability(chunker, before.files, after.files, skip_errors=skip_errors) for chunker in chunkers]
    for result in results:
        for code, skipped in zip((before, after), result.skipped, strict=True):
            if skipped:
                first = skipped[0].removesuffix(OR_SKIP)
                files = f"{count(len(skipped), 'file')} of {code.name}"
                note(f"skipped: {files} that {result.spec} failed on; the first: {first}")
    if not as_json:
        print_table(stability_table(results))
        return
    versions = {
        role: {"name": code.name, "fingerprint": code.fingerprint, "language": code.language}
        for role, code in (("old", before), ("new", after))
    }
    for result in results:
        shares = {"share": result.share, "nws_share": result.nws_share, "tokens_share": result.tokens_share}
        echo(json.dumps(versions | asdict(result) | shares, ensure_ascii=False))


def stability_table(measured: Sequence[Stability]) -> Table:
    """Tabulate for each chunker the texts of both versions, those to embed again, and their shares."""
    heads = (
        *figures("texts before", "texts now", "to embed again", number=","),
        *figures("share", "of characters", "of tokens", number=".1%"),
    )
    rows = [
        (
            result.spec,
            *(result.old_texts, result.texts, result.new_texts),
            *(result.share, result.nws_share, result.tokens_share),
        )
        for result in measured
    ]
    notes = [
        "texts are distinct embedded texts; those to embed again were not in the old version, in any of its files",
        CHARACTERS_NOTE,
    ]
    if any(result.tokens is None for result in measured):
        notes.append(f"tokens are not counted; {install_command('dense')} installs the tokenizer")
    return make_table([spec_column("chunker"), *heads], rows, notes=notes)
