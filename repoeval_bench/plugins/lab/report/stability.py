"""The cost of an update of code for an index, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.extras import install_command
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import CHARACTERS_NOTE

if TYPE_CHECKING:
    from repoeval_bench.plugins.lab.stability import Stability


def stability_table(measured: Sequence[Stability]) -> Table:
    """A row for each chunker: the texts of both versions, those to embed again, and their shares."""
    heads = (
        *figures("texts before", "texts now", "to embed again", number=","),
        *figures("share", "of characters", "of tokens", number=".1%"),
    )
    rows = [
        (
            result.spec,
            result.old_texts,
            result.texts,
            result.new_texts,
            result.share,
            result.nws_share,
            result.tokens_share,
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
