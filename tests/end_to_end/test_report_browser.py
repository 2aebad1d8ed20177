"""The report in a real browser: what it says, what it lets one do, and what hostile source does not make it do."""

import json

import pytest

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.report.html.report import report_page
from repoeval_bench.runs.parts import make_embedder
from repoeval_bench.runs.runner import evaluate
from support import minirepo
from support.browser import OVERFLOWING, axe, chromium, console, requested, unfold, visit
from support.command import succeed
from support.history import checkout

pytestmark = pytest.mark.slow

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400", "fixed:max_nws=150")
MARKUP = "</script><img src=x onerror=\"window.ran='image'\"><script>window.ran='script'</script>"
HOSTILE = f'''"""{MARKUP}"""

LONG = "{"x" * 1_000_000}"


def escape(text):
    """{MARKUP} \U0001f600 and after it."""
    # {MARKUP}
    return text.replace("<", "&lt;")
'''


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three chunkers on the mini benchmark with a file that attacks the page; a model that reads 24 tokens."""
    with pytest.MonkeyPatch.context() as patch:
        repositories = {repo: dict(files) for repo, files in minirepo.REPOSITORIES.items()}
        repositories["acme_inventory"]["inventory/hostile.py"] = HOSTILE
        patch.setattr(minirepo, "REPOSITORIES", repositories)
        mirror = minirepo.build_mirror(tmp_path_factory.mktemp("mirror"))
    home = tmp_path_factory.mktemp("home")
    benchmark = load_benchmark(mirror, home=home)
    out = tmp_path_factory.mktemp("results")
    embedder = make_embedder("minilm:max_length=24", home=home)
    evaluate(benchmark, CHUNKERS[0], retriever="bm25", out=out)
    return [evaluate(benchmark, chunker, embedder=embedder, out=out) for chunker in CHUNKERS]


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(runs, "report.html"), encoding="utf-8")
    return path


def values_of(browser, selector, what):
    """A value of each element, as JavaScript says it."""
    script = f"return [...document.querySelectorAll(arguments[0])].map((e) => {what})"
    return browser.execute_script(script, selector)


def texts(browser, selector):
    return values_of(browser, selector, "e.innerText")


def test_it_opens_without_an_error_or_a_request(browser, page):
    """From disk: nothing in the console, no address of any host."""
    console(browser), requested(browser)
    visit(browser, page)
    assert console(browser) == []
    assert requested(browser) <= {"file", "data", "blob", "about"}


def test_numbers_are_those_of_metrics_json(browser, page, runs):
    """Every cell of the headline table whose measure was stored holds the stored mean, to the last bit."""
    visit(browser, page)
    unfold(browser)
    pairs = "[...e.querySelectorAll('td')].map((cell) => [cell.dataset.column, [cell.dataset.value, cell.innerText]])"
    cells = values_of(browser, "#scores tbody tr", f"Object.fromEntries({pairs})")
    best_first = sorted(runs, key=lambda run: run.metrics.micro["line_recall_auc"], reverse=True)
    for run, row in zip(best_first, cells, strict=True):
        stored = json.loads((run.folder / "metrics.json").read_text())["micro"]
        shared = row.keys() & stored.keys()
        assert shared >= {"line_recall_auc", "line_recall@1500", "ndcg@5", "ndcg@10", "recall@5", "recall@10", "mrr"}
        for measure in shared:
            value, text = row[measure]
            assert float(value) == stored[measure]
            assert text.startswith(f"{stored[measure]:.3f}")
        assert "share" in row


def test_queries_are_searched_filtered_and_ordered(browser, page, runs):
    """Search, repository and winner narrow the list; the worst come first; the counts are said."""
    from selenium.webdriver.support.ui import Select

    visit(browser, page)
    unfold(browser)
    scored = [run.scores for run in runs]
    values = [run.values["line_recall_auc"] for run in scored]
    worst = min(map(sum, zip(*values, strict=True)))
    ids = values_of(browser, "#q-list button", "e.dataset.query")
    assert len(ids) == len(scored[0])
    assert sum(column[scored[0].query_ids.index(ids[0])] for column in values) == worst
    Select(browser.find_element("id", "q-repo")).select_by_value("northwind_textkit")
    n_there = scored[0].repos.count("northwind_textkit")
    assert browser.find_element("id", "q-count").text == f"{n_there} of {len(ids)} queries"
    Select(browser.find_element("id", "q-repo")).select_by_value("")
    Select(browser.find_element("id", "q-wins")).select_by_value("1")
    won = [
        query_id
        for i, query_id in enumerate(scored[0].query_ids)
        if round(values[1][i], 4) > max(round(values[0][i], 4), round(values[2][i], 4))
    ]
    assert sorted(values_of(browser, "#q-list button", "e.dataset.query")) == sorted(won)
    Select(browser.find_element("id", "q-wins")).select_by_value("")
    browser.find_element("id", "q-search").send_keys("wrap.py paragraph")
    assert 0 < len(texts(browser, "#q-list button")) < len(ids)
    assert all("wrap.py" in text for text in texts(browser, "#q-list button"))


def test_a_query_shows_gold_chunks_ranks_and_what_was_cut(browser, page, runs):
    """Gold lines are the protocol's, every lane has the chunker's chunks, ranks are the log's, the cut is struck out."""
    inside = runs[1].inspection
    query = next(q for q in inside.queries.values() if q.file.endswith("stock.py") and q.gold[0][2] - q.gold[0][1] > 20)
    visit(browser, page, part=f"#query={query.query_id.replace('/', '%2F')}")
    assert browser.find_element("css selector", "#q-detail h3").text == query.query_id
    gold = values_of(browser, "#q-detail .lines .gold .no", "Number(e.textContent)")
    assert gold == [line + 1 for line in range(*query.gold[0][1:])]
    shown = values_of(browser, "#q-detail .lines .l", "e.textContent.slice(e.firstChild.textContent.length)")
    assert shown == inside.sources[query.file].text.splitlines()
    ranked = runs[1].ranked_ids()[query.query_id]
    expected = [
        f"lines {chunk.lines.start + 1}\u2013{chunk.lines.end}, "
        + (f"rank {ranked.index(chunk.chunk_id) + 1}" if chunk.chunk_id in ranked else "not retrieved")
        + (", relevant" if chunk.chunk_id in runs[1].qrels()[query.query_id] else "")
        for chunk in inside.chunks[query.file]
    ]
    titles = values_of(browser, "#q-detail .lane:nth-child(2) .chunk", "e.title")
    assert [title.partition(": ")[2] for title in titles] == expected
    text = {row.query_id: row.query for row in runs[1].log_rows()}[query.query_id]
    assert values_of(browser, "#q-detail del", "e.textContent") == [text[query.read[1] :]]
    assert values_of(browser, "#q-detail .query-text", "e.textContent") == [text]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_overflows_and_axe_finds_nothing_serious(browser, page, width, dark):
    """On a phone and on a wide screen, in both colour schemes."""
    visit(browser, page, width=width, dark=dark)
    for folded in (True, False):
        if not folded:
            unfold(browser)
        assert browser.execute_script(OVERFLOWING) == []
        assert axe(browser) == []


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The page of a recommendation whose questions are commits."""
    top = tmp_path_factory.mktemp("answered")
    code = checkout(top / "shop", 70)
    page = top / "page.html"
    now = "langchain:chunk_size=4000,chunk_overlap=200"
    narrow = ["--for", "search", "--retriever", "bm25", "-c", "ast", "-c", "window:lines=20,step=10", "--sizes", "300"]
    narrow += ["--current", now]
    succeed("recommend", code, *narrow, "--report", page, "--out", top / "out", home=top / "home")
    return page


@pytest.mark.parametrize("width", [400, 1400])
def test_the_questions_come_a_few_at_a_time_and_open_in_the_inspector(browser, answered, width):
    visit(browser, answered, width=width, part="#asked")
    unfold(browser)
    assert browser.execute_script(OVERFLOWING) == []
    assert axe(browser) == []
    rows = "#asked-table tbody tr"
    assert len(texts(browser, rows)) == 25
    browser.execute_script("document.getElementById('asked-more').click()")
    assert len(texts(browser, rows)) == 50
    first = texts(browser, rows)[0]
    assert "of every order" in first
    assert "shop/part" in first
    browser.execute_script("document.querySelector('#asked-table tbody a').click()")
    assert "subject of commit" in texts(browser, "#q-detail")[0]
    assert texts(browser, "#q-detail h3:focus")  # from which the tab key goes on


@pytest.mark.parametrize("width", [400, 1400])
def test_the_first_screen_has_the_candidate_used_now_and_breaks_no_name(browser, answered, width):
    """In the headline, the plot and the table; a line ends after punctuation, and not at `_` or `=`."""
    visit(browser, answered, width=width)
    assert "chunk_overlap=200" in texts(browser, "#h-answer")[0]
    assert any("chunk_overlap=200" in text for text in texts(browser, "#ranking tbody th"))
    assert "chunk_overlap=200" in browser.find_element("id", "ranking-plot-desc").get_attribute("textContent")
    lines = (
        "const words = document.querySelector('#h-answer').childNodes; const found = [];"
        "for (const node of words) if (node.nodeType === 3) for (const match of node.data.matchAll(/[\\w=]+/g)) {"
        "  const range = document.createRange(); range.setStart(node, match.index);"
        "  range.setEnd(node, match.index + match[0].length);"
        "  if (range.getClientRects().length > 1) found.push(match[0]); } return found;"
    )
    assert browser.execute_script(lines) == []


def test_the_first_screen_is_a_sentence_a_plot_and_a_table(browser, page):
    """On a wide screen all three end above its edge, every other part is folded, and a link to one unfolds it."""
    visit(browser, page)
    ends = browser.execute_script(
        "return ['#h-answer', '#ranking-plot', '#ranking', '#verdict > summary']"
        ".map((part) => document.querySelector(part).getBoundingClientRect().bottom)"
    )
    assert max(ends) < 900
    folded = (
        "return [...document.querySelectorAll('main > details')].filter((part) => !part.open).map((part) => part.id)"
    )
    parts = browser.execute_script(folded)
    assert {"verdict", "all-scores", "curves", "queries", "misses", "made"} == set(parts)
    browser.find_element("css selector", "nav a[href='#curves']").click()
    assert browser.execute_script(folded) == [part for part in parts if part != "curves"]
    visit(browser, page, part="#verdict")
    assert "verdict" not in browser.execute_script(folded)


def test_hostile_source_is_shown_and_does_not_run(browser, page, runs):
    """Markup in source and prompt is text; a line of a megabyte is cut, and neither swells nor breaks the page."""
    query = next(q for q in runs[0].inspection.queries.values() if q.file.endswith("hostile.py"))
    console(browser)
    visit(browser, page, part=f"#query={query.query_id.replace('/', '%2F')}")
    assert browser.execute_script("return window.ran ?? null") is None
    assert console(browser) == []
    assert MARKUP in browser.find_element("css selector", "#q-detail .lines").get_attribute("textContent")
    assert "1,000,009 characters" in browser.find_element("css selector", "#q-detail .lines").text
    assert browser.find_elements("css selector", "#q-detail img, main script") == []
    assert browser.execute_script(OVERFLOWING) == []
    assert page.stat().st_size < 400_000
