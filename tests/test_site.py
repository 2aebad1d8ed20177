"""The documentation site: it builds without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import repoeval_bench
from support.command import python
from support.once import made_once

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


class Page(HTMLParser):
    """The links, ids and loaded resources of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        result = dict(attrs)
        self.ids |= {result[name] for name in ("id", "name") if result.get(name)}
        if tag == "a" and result.get("href"):
            self.links.append(result["href"])
        if tag in {"script", "img", "iframe", "source"} and result.get("src"):
            self.loaded.append(result["src"])
        if tag == "link" and result.get("rel") in {"stylesheet", "icon", "preload", "modulepreload"}:
            self.loaded.append(result["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; its notebooks are run by the build."""
    pytest.importorskip("mkdocs", reason="mkdocs builds the site; it comes with the extra 'docs'")
    return made_once(tmp_path_factory, "site", build)


def build(folder):
    """`mkdocs build`, which runs the notebooks."""
    words = ("-m", "mkdocs", "build", "--strict", "-d", folder)
    done = python(*words, cwd=ROOT, NO_MKDOCS_2_WARNING="1", PYTHONPATH=str(ROOT))
    assert done.code == 0, done.err[-3000:]
    assert "WARNING -" not in done.err


@pytest.mark.slow
def test_every_link_leads_to_a_page_and_an_anchor(site):
    """Addresses outside the site are whole ones; nothing is fetched to find out."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 20
    for path, page in pages.items():
        if path.name == "404.html":  # it is shown under any address, so its links begin at the root
            continue
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme in {"http", "https", "mailto", "data"}, link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{path.name}: {link}"


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site):
    """The site can be read without network."""
    for path in site.rglob("*.html"):
        outside = [
            address
            for address in Page(path.read_text(encoding="utf-8")).loaded
            if urlsplit(address).scheme in {"http", "https"}
        ]
        assert not outside, path.name


@pytest.mark.slow
def test_the_notebooks_were_run_and_show_what_they_promise(site):
    """Tables, a figure, LaTeX with marks, and a folder that does not hold."""
    chunker = (site / "notebooks" / "is-my-chunker-better.html").read_text(encoding="utf-8")
    assert "paired differences, query by query" in chunker
    assert 'data-mime-type="image/svg+xml"' in chunker
    paper = (site / "notebooks" / "a-table-for-a-paper.html").read_text(encoding="utf-8")
    for shown in ("\\textbf", "\\toprule", "mean ndcg@10 (micro)", "(True, "):
        assert shown in paper, shown


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    """With its heading, so that it can be linked to."""
    ids = Page((site / "plug-ins.html").read_text(encoding="utf-8")).ids
    assert {f"repoeval_bench.{name}" for name in repoeval_bench.__all__} <= ids


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    """What they print is made when the site is built, on the machine that builds it."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_every_page_is_in_the_navigation_and_begins_with_its_question():
    """At most twenty pages, and one beside them that other pages link to."""
    named, _, beside = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnot_in_nav:")
    pages = {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in {".md", ".ipynb"}
    }
    in_navigation = re.findall(r"[\w./-]+\.(?:md|ipynb)", named)
    assert sorted([*in_navigation, beside.strip()]) == sorted(pages)
    assert len(in_navigation) <= 20
    for name, text in pages.items():
        if name.endswith(".ipynb"):
            text = "".join(json.loads(text)["cells"][0]["source"])
        assert "?" in text.split("\n\n")[1], name


def test_the_workflow_builds_the_site_as_make_does():
    """Its install line names extras that exist, and only main is deployed."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8"))["jobs"]
    lines = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert any(line.endswith("mkdocs build") for line in lines)
    extras = next(re.search(r"\[([\w,]+)\]", line)[1] for line in lines if "pip install" in line).split(",")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", project, flags=re.MULTILINE) for extra in extras)
    assert jobs["deploy"]["if"] == "github.ref == 'refs/heads/main'"


@pytest.mark.slow
def test_no_notebook_shows_a_path_of_the_machine_that_built_it(site):
    """They work in a temporary folder, and what they print of it would be another one each time."""
    pages = [path.read_text(encoding="utf-8") for path in (site / "notebooks").rglob("*.html")]
    assert len(pages) == len(NOTEBOOKS)
    assert not any(place in page for page in pages for place in (str(ROOT), f"{gettempdir()}/"))
