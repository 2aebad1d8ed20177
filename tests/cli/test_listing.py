"""`list --help` names what there is to list."""

import re

from click.testing import CliRunner

from repoeval_bench.cli import app
from repoeval_bench.cli.listing import LISTS
from repoeval_bench.embedding.registry import EMBEDDERS
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS


def test_every_option_is_listed():
    """An option without a default is listed too, so the list has what an error offers."""
    for what, table in (("embedders", EMBEDDERS), ("retrievers", RETRIEVERS), ("rerankers", RERANKERS)):
        names, options, _ = zip(*(row.cells for row in LISTS[what]().rows), strict=True)
        listed = {
            name: [item.partition("=")[0] for item in text.split(", ") if item]
            for name, text in zip(names, options, strict=True)
        }
        assert listed == {row.label: list(table.options(row)) for row in table} | {"py:MODULE:NAME": []}
    assert "max_length" in listed["MODEL"]


def test_help_names_every_list_in_whole_words():
    """On a narrow terminal too: a line ends between two names and not within one."""
    shown = CliRunner().invoke(app, ["list", "--help"], terminal_width=60).output
    assert set(LISTS) <= set(re.findall(r"\w+", shown))
