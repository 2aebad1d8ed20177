"""`leaderboard` as a person runs it, and its page in a real browser."""

import pytest

from support.browser import OVERFLOWING, axe, chromium, console, requested, visit
from support.command import bench, one_sentence, succeed
from support.runs import write_run

HOSTILE = "</script><img src=x onerror=\"window.ran='image'\"><script>window.ran='script'</script>"


SCROLLED = """
return [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)
"""
"""Tables of which a part is out of sight."""

FIRST_CELLS = """
const seen = e => e.getBoundingClientRect().right <= window.innerWidth;
return [...document.querySelectorAll("#best thead th")].slice(1).filter(seen).map(e => e.innerText.replace(/.?[↕↑↓]/, ""));
"""
"""Columns of the index that are whole in sight, after the first."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Five runs under two protocols, one with a name that attacks the page, and one that was not finished."""
    folder = tmp_path_factory.mktemp("ranked") / "results"
    for i, (chunker, protocol) in enumerate(
        (
            ("fixed:max_nws=900", "context"),
            ("ast:max_nws=900,overlap=0", "context"),
            (HOSTILE, "context"),
            ("fixed:max_nws=900", "body"),
            ("x" * 400, "body"),
        )
    ):
        values = [0.1 * i + 0.05 * (j % 3) for j in range(9)]
        write_run(
            folder / f"run{i}",
            {"line_rprec": values, "ndcg@10": values, "recall@10": values},
            files=[f"f{j // 2}.py" for j in range(9)],
            chunker=chunker,
            protocol=protocol,
            headline_measure="line_rprec",
        )
    (folder / "half").mkdir()
    return folder


def test_mistakes_end_in_one_sentence(results, tmp_path):
    site = ("lab", "leaderboard", "--out", results, "--site")
    assert "leave out --json" in one_sentence(bench(*site, tmp_path / "site", "--json"), 2)
    (tmp_path / "file").write_text("")
    assert "choose another folder with --site" in one_sentence(bench(*site, tmp_path / "file" / "site"), 2)


@pytest.mark.slow
def test_the_pages_in_a_browser(results, tmp_path):
    """No error, no request, no foreign script, no text cut off on a phone, no accessibility fault; columns sort."""
    succeed("lab", "leaderboard", "--out", results, "--site", tmp_path / "site")
    pages = sorted((tmp_path / "site").glob("*.html"))
    assert [page.name.rpartition("-")[0] for page in pages] == ["", "made-dense-minilm"]
    with chromium() as browser:
        console(browser), requested(browser)
        for page in pages:
            for width, dark in ((1400, False), (400, True)):
                visit(browser, page, width=width, dark=dark)
                assert browser.execute_script(OVERFLOWING) == []
                assert axe(browser) == []
                assert width == 400 or browser.execute_script(SCROLLED) == []
        visit(browser, pages[0], width=400)
        assert browser.execute_script(FIRST_CELLS)[:2] == ["best", "its score, 95 % CI"]
        visit(browser, pages[1])
        assert console(browser) == []
        assert requested(browser) <= {"file", "data", "about"}
        assert browser.execute_script("return window.ran") is None
        names = browser.execute_script(
            "return [...document.querySelectorAll('#table-context th[scope=row]')].map(e => e.innerText)"
        )
        assert names[0].startswith(HOSTILE)
        visit(browser, pages[1])
        ranks = "return [...document.querySelectorAll('#table-context tbody td:first-child')].map(e => e.innerText)"
        browser.find_element("css selector", "#table-context thead th:nth-child(3) button").click()
        assert browser.execute_script(ranks) == ["1", "2", "3"]
        browser.find_element("css selector", "#table-context thead th:nth-child(3) button").click()
        assert browser.execute_script(ranks) == ["3", "2", "1"]
