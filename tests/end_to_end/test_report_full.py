"""The report of three chunkers on all 455 tasks: one small file that a browser shows whole."""

import pytest

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.report.html.report import report_page
from repoeval_bench.runs.runner import evaluate
from support.browser import OVERFLOWING, chromium, console, unfold, visit

pytestmark = [pytest.mark.full_data, pytest.mark.slow]


def test_three_chunkers_on_every_task(real_source, tmp_path):
    """Under 5 MB, with every query in its list, and fit for a phone."""
    benchmark = load_benchmark(real_source, home=tmp_path / "home")
    out = tmp_path / "results"
    runs = [evaluate(benchmark, chunker, retriever="bm25", out=out) for chunker in ("ast", "fixed", "chonkie")]
    path = tmp_path / "report.html"
    path.write_text(report_page(runs, "report.html"), encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    with chromium() as browser:
        visit(browser, path)
        assert len(browser.find_elements("css selector", "#q-list button")) == 455
        for width in (400, 1400):
            visit(browser, path, width=width)
            unfold(browser)
            assert browser.execute_script(OVERFLOWING) == []
        assert console(browser) == []
