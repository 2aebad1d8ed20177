"""The documentation site: it builds without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import unquote, urlsplit

import pytest

import repoeval_bench
from support.command import python

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


@pytest.mark.slow
def test_the_site_is_built_with_its_notebooks_run(tmp_path):
    """Links lead to a page and an anchor, nothing is loaded from elsewhere, and every public name has its heading."""
    pytest.importorskip("mkdocs", reason="mkdocs builds the site; it comes with the extra 'docs'")
    words = ("-m", "mkdocs", "build", "--strict", "-d", tmp_path)
    done = python(*words, cwd=ROOT, NO_MKDOCS_2_WARNING="1", PYTHONPATH=str(ROOT))
    assert done.code == 0, done.err[-3000:]
    assert "WARNING -" not in done.err
    texts = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    pages = {path: Page(text) for path, text in texts.items()}
    for path, page in pages.items():
        assert not [link for link in page.loaded if urlsplit(link).scheme in {"http", "https"}], path.name
        if path.name == "404.html":  # it is shown under any address, so its links begin at the root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme in {"http", "https", "mailto", "data"}, link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{path.name}: {link}"
    assert {f"repoeval_bench.{name}" for name in repoeval_bench.__all__} <= pages[tmp_path / "api.html"].ids
    # What a notebook prints of its temporary folder would be another text each time.
    built = [text for path, text in texts.items() if path.parent.name == "notebooks"]
    assert len(built) == len(NOTEBOOKS)
    assert not any(place in text for text in built for place in (str(ROOT), f"{gettempdir()}/"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    """What they print is made when the site is built, on the machine that builds it."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_every_page_is_in_the_navigation_and_begins_with_what_the_reader_gets():
    """At most 16 pages beside the index; each begins with a paragraph, before any table, list or code."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in {".md", ".ipynb"}
    }
    assert sorted(re.findall(r"[\w./-]+\.(?:md|ipynb)", navigation)) == sorted(pages)
    documents = {name: text for name, text in pages.items() if name.endswith(".md")}
    assert len(documents.keys() - {"index.md"}) <= 16
    for name, text in documents.items():
        assert text.split("\n\n")[1][0].isupper(), name
