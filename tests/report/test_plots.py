"""Figures: their numbers are the stored ones, their SVG is safe to inline, their colours can be told apart."""

import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from repoeval_bench.analysis.means import over_ranks
from repoeval_bench.core.errors import ResultError
from repoeval_bench.report.plots import css, figures, png, svg, write
from repoeval_bench.report.plots.theme import DARK_PAPER, DARK_SERIES, PAPER, SERIES, looks
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


def test_inlined_svgs_do_not_reach_out_of_themselves(drawn):
    """No style sheet, no script, no address; every id is unique on the page and every reference finds its own."""
    pages = [svg(figure, themed=True) for figure in drawn]
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


def test_a_hostile_name_is_text_and_no_formula(drawn):
    """It is in the legend letter for letter, except control characters, and closes no element."""
    page = svg(drawn[0], themed=True)
    texts = ["".join(element.itertext()) for element in ET.fromstring(page).iter(SVG + "text")]
    assert elided(HOSTILE) in texts
    assert "<img" not in page


def test_the_colours_follow_the_page(drawn):
    """Inlined, every colour of the palette is a property that css() gives in light, dark and print; in a file it is plain."""
    for figure in drawn:
        used = set(re.findall(r"var\((--[\w-]+),", svg(figure, themed=True)))
        assert {"--plot-ink", "--plot-muted"} <= used
        assert all(css().count(f"{name}: #") == 3 for name in used)
        assert "var(" not in svg(figure)


def test_the_same_runs_give_the_same_bytes(runs, drawn):
    again = figures(runs)
    assert [svg(figure) for figure in again[:3]] == [svg(figure) for figure in drawn[:3]]
    assert png(again[0]) == png(drawn[0])


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


# Machado, Oliveira & Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "common": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    share = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    xyz /= [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a, b):
    low, high = sorted(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("palette", "paper"), [(SERIES, PAPER), (DARK_SERIES, DARK_PAPER)])
def test_colours_are_told_apart(palette, paper, vision):
    """CIE76 distances of at least 12 between any two under each kind of colour vision; contrast 3:1 with the paper."""
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in palette]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 12
    assert min(contrast(colour, paper) for colour in palette) >= 3
