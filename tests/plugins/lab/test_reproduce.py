"""Verdicts on published numbers, and the page they are on."""

import pytest

from repoeval_bench.core.errors import SpecError
from repoeval_bench.plugins.lab.reproduction import (
    EXPECTED,
    MEASURES,
    PublishedRow,
    Status,
    format_page,
    judge,
    reproduce,
)


def row(table, setting, system, measure, published=None, status=Status.NOT_PUBLISHED, reason=""):
    command = f"repoeval-bench eval -c {system}"
    numbers = {"published": published, "measured": 0.5, "low": 0.4, "high": 0.6}
    return PublishedRow(table, setting, system, measure, **numbers, status=status, reason=reason, command=command)


def test_a_number_is_reproduced_within_its_tolerance():
    """Its bound is within."""
    assert judge(0.78, 0.82, 0.05) is judge(0.77, 0.82, 0.05) is Status.REPRODUCED
    assert judge(0.63, 0.82, 0.05) is Status.NOT_REPRODUCED


def test_the_page_has_every_row_its_verdict_and_the_commands():
    """Expected cells are counted; a skipped row says why; commands are under each table, once."""
    results = [
        row("expected", p, c, m, 0.8, judge(0.5, 0.8, 0.05))
        for p in ("context", "code-chunk")
        for c in EXPECTED
        for m in MEASURES
    ]
    results += [row("causes", "base", c, m) for c in EXPECTED for m in MEASURES]
    results.append(row("coderag", "coderag", "BM25", "ndcg@10", 0.5, Status.REPRODUCED))
    results.append(PublishedRow("coderag", "coderag", "far/model", "ndcg@10", status=Status.SKIPPED, reason="not here"))
    page = format_page("mini", results, 6)
    assert "0 of 16 cells are" in page
    assert page.count("not reproduced (-0.300)") == 16
    assert "| far/model |  | |  | skipped: not here |" in page
    assert page.count("repoeval-bench eval -c ast\n") == 2


def test_a_model_that_no_embedder_is_called_is_told_before_anything_is_measured(tmp_path):
    """The name is read before the data is looked at, and nothing is written."""
    with pytest.raises(SpecError, match="unknown embedder 'tf'"):
        reproduce(None, tmp_path / "out", embedders=["st:some/model", "tf:x"])
    assert not list(tmp_path.iterdir())


def test_a_part_of_the_benchmark_is_not_judged():
    """The page says how much there is, claims nothing, and counts repositories as they are."""
    why_not = (Status.NOT_JUDGED, "170 of 455 tasks")
    results = [
        row("expected", p, c, m, 0.8, *why_not) for p in ("context", "code-chunk") for c in EXPECTED for m in MEASURES
    ]
    reason = "not judged: 170 of 455 tasks"
    page = format_page("mini", results, 2)
    assert f"reproduced within 0.05: {reason}." in page
    assert page.count(f"| {reason} |") == 16
    assert "macro over 2 repositories" in page
    assert "cells are" not in page
