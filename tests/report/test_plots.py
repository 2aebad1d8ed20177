"""Figures: their numbers are the stored ones, their SVG is safe to inline, their colours can be told apart."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from repoeval_bench.analysis.means import over_ranks
from repoeval_bench.core.errors import ResultError
from repoeval_bench.report.figure import LABEL, css, figures, looks, png, svg, write
from repoeval_bench.report.text import elided
from support.runs import write_run

SVG = "{http://www.w3.org/2000/svg}"

HOSTILE = '</script><img onerror=x>$x^2$ & "q"\x07'


def stored_run(folder, chunker, shift=0.0, **more):
    """A run of twelve queries in six files of two repositories, with line recall at two budgets."""
    base = np.linspace(0.1, 0.7, 12) + shift
    return write_run(
        folder,
        {"line_rprec": base, "line_recall@500": base / 2, "line_recall@1500": base, "recall@5": base},
        repos=["one"] * 6 + ["two"] * 6,
        files=[f"f{i // 2}.py" for i in range(12)],
        chunker=chunker,
        headline_measure="line_rprec",
        ceilings={"micro": {"line_recall@500": 0.6, "line_recall@1500": 0.9}},
        **more,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two built-in chunkers and one of another's, with a name that means harm."""
    folder = tmp_path_factory.mktemp("runs")
    chunkers = {"fixed:max_nws=900": 900, "ast:max_nws=900": 700, HOSTILE: 1500}
    return [
        stored_run(folder / str(i), chunker, i / 20, chunk_nws={"mean": float(mean), "median": mean, "p95": 2 * mean})
        for i, (chunker, mean) in enumerate(chunkers.items())
    ]


@pytest.fixture(scope="module")
def drawn(runs):
    return figures(runs)


@pytest.fixture(scope="module")
def pages(drawn):
    """The figures as they are inlined."""
    return [svg(figure, themed=True) for figure in drawn]


def test_a_curve_is_the_mean_of_the_stored_ranking(tmp_path):
    """Recall and nDCG at every k by hand; a query id with a blank finds its judgements."""
    topk = {"q 1": ["x", "a", "b"], "q2": ["c", "y", "z"]}
    qrels = {"q 1": {"a": 1.0, "b": 1.0}, "q2": {"c": 1.0}}
    run = write_run(tmp_path / "run", {"mrr": [0.5, 1.0]}, query_ids=list(topk), topk=topk, qrels=qrels, k=3)
    curves = over_ranks(run, ["recall", "ndcg"])
    assert curves["recall"].positions == (1, 2, 3)
    assert curves["recall"].means == pytest.approx([0.5, 0.75, 1.0])
    log = np.log2
    second = (1 / log(3)) / (1 + 1 / log(3)), (1 / log(3) + 1 / log(4)) / (1 + 1 / log(3))
    assert curves["ndcg"].means == pytest.approx([0.5, (1 + second[0]) / 2, (1 + second[1]) / 2])


def test_inlined_svgs_do_not_reach_out_of_themselves(drawn, pages):
    """No style sheet, no script, no address; every id is unique on the page and every reference finds its own."""
    ids = [result for page in pages for result in re.findall(r'\bid="([^"]+)"', page)]
    assert len(set(ids)) == len(ids)
    for figure, page in zip(drawn, pages, strict=True):
        root = ET.fromstring(page)
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "path", "defs", "use", "clipPath", "rect", "text", "tspan"}, tags
        own = {element.get("id") for element in root.iter()}
        used = re.findall(r'href="([^"]*)"|url\(([^)]*)\)', page)
        assert used
        assert all((a or b).startswith("#") and (a or b)[1:] in own for a, b in used)
        assert re.findall(r"https?://[^\"]+", page) == ["http://www.w3.org/2000/svg"]
        assert root.get("role") == "img"
        assert root.get("aria-labelledby").split() == [f"{figure.name}-title", f"{figure.name}-desc"]
        assert [root[0].text, root[1].text] == [figure.title, figure.description]
        assert len(page) < 60_000


def test_a_hostile_name_is_text_and_no_formula(pages):
    """It is in the legend letter for letter, except control characters, and closes no element."""
    texts = ["".join(element.itertext()) for element in ET.fromstring(pages[0]).iter(SVG + "text")]
    assert elided(HOSTILE, LABEL) in texts
    assert "<img" not in pages[0]


def test_the_colours_follow_the_page(drawn, pages):
    """Inlined, every colour of the palette is a property that css() gives in light, dark and print; in a file it is plain."""
    for figure, page in zip(drawn, pages, strict=True):
        used = set(re.findall(r"var\((--[\w-]+),", page))
        assert {"--plot-ink", "--plot-muted"} <= used
        assert all(css().count(f"{name}: #") == 3 for name in used)
        assert "var(" not in svg(figure)


def test_the_same_runs_give_the_same_bytes(runs, drawn, pages):
    again = figures(runs)
    assert [svg(figure, themed=True) for figure in again[:3]] == pages[:3]
    assert png(again[0]) == png(drawn[0])


def test_some_of_the_runs_keep_their_names_and_colours(runs):
    """A page that draws few of its runs names them as its tables do, in the colours that they have there."""
    for figure in figures(runs, ["one", "two", "three"], [2, 0]):
        page = svg(figure)
        shown = ["".join(element.itertext()) for element in ET.fromstring(page).iter(SVG + "text")]
        assert [text for text in shown if text in {"one", "two", "three"}] == ["three", "one"]
        assert [looks(runs)[i].colour in page for i in (0, 1, 2)] == [True, False, True]


def test_writing_gives_svg_and_png(drawn, tmp_path):
    paths = write(drawn[:2], tmp_path / "plots")
    assert [path.name for path in paths] == [f"{f.name}.{ending}" for f in drawn[:2] for ending in ("svg", "png")]
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="choose another folder"):
        write(drawn[:1], tmp_path / "file")


def test_a_chunker_keeps_its_colour(runs):
    """The built-in ones in whatever company, and no two of up to eight runs share one."""
    assert looks(runs)[:2] == [looks([run])[0] for run in runs[:2]]
    company = looks([runs[2], runs[1], runs[1], runs[0]])
    assert company[1] == looks(runs)[1]
    assert company[3] == looks(runs)[0]
    assert len({look.colour for look in company}) == 4
    many = looks([runs[0]] * 20)
    assert len({look.colour for look in many[:8]}) == 8
    assert len({(look.colour, look.marker, str(look.dash)) for look in many}) == 20
