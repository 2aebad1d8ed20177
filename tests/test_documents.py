"""The documents and workflows name only what exists: files, headings, commands, make targets, tests and scripts."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.cli import app
from support.leaves import LOST, is_of_a_lost_leaf

ROOT = Path(__file__).resolve().parents[1]

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^```.*?^```", flags=re.MULTILINE | re.DOTALL)

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", flags=re.MULTILINE | re.DOTALL)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings: lower case, punctuation removed, blanks as hyphens."""
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code(document: Path) -> str:
    """All code of a document, fenced and inline."""
    return "\n".join(CODE.findall(document.read_text(encoding="utf-8")))


@every_document
def test_every_relative_link_leads_to_a_file_and_a_heading(document):
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_extra_that_is_to_be_installed_exists():
    named = {
        extra
        for document in [*DOCUMENTS, *(ROOT / "docs").rglob("*.ipynb")]
        for extras in re.findall(r"['.]\[([a-z-]+(?:,[a-z-]+)*)\]'", document.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }
    assert named - PROJECT["optional-dependencies"].keys() == set()
    assert {"frames", "parquet"} <= named


def test_every_file_that_contributing_names_exists():
    rooms = [ROOT, ROOT / "repoeval_bench", ROOT / "repoeval_bench" / "plugins", ROOT / "tests"]
    for path in re.findall(r"`([\w.\-]+/[\w/.\-]+\.\w+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        assert any((room / path).exists() for room in rooms), path


@every_document
def test_every_command_exists(document):
    named = re.findall(r"\brepoeval-bench +([a-z][a-z-]*)(?![\w-])", code(document))
    assert set(named) <= LOST | set(app.list_commands(click.Context(app)))


@every_document
def test_every_make_target_exists(document):
    named = re.findall(r"(?:^|`)make ([a-z]+)\b(?!=)", code(document), flags=re.MULTILINE)
    assert set(named) <= TARGETS


@every_document
def test_every_test_script_and_module_exists(document):
    text = code(document)
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(re.findall(r"`(?:tests/[\w/]+/)?(test_\w+\.py)`", text)) <= tests
    for path in re.findall(r"\b(?:scripts|chunkers|repoeval_bench)/[\w/]+\.\w+", text):
        assert (ROOT / path).exists(), path


@every_document
def test_every_name_of_the_python_reference_exists(document):
    """The site's build fails on one that does not."""
    for name in re.findall(r"^::: (\S+)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if not is_of_a_lost_leaf(name):
            resolve_name(name)


def test_every_chunker_has_its_row_with_its_defaults():
    """Its own table has every option and its default; the sizes in tokens that many share are told below it."""
    text = (ROOT / "docs" / "chunkers.md").read_text(encoding="utf-8")
    described = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    stated = {
        line.split("`")[1]: dict(re.findall(r"`(\w+)(?:=([^`]*))?`", line.split(" | ")[-1]))
        for line in text[text.index("| spec | cuts |") :].partition("\n\n")[0].splitlines()[2:]
    }
    for row in CHUNKERS:
        if row.target or not row.where.startswith("repoeval_bench."):
            continue
        assert row.name in described
        defaults = {name: str(option.default) for name, option in CHUNKERS.options(row).items()}
        options = {name: value for name, value in stated.get(row.name, defaults).items() if value or name in defaults}
        assert options == {name: value and defaults.get(name) for name, value in options.items()}
        assert defaults.keys() - options.keys() <= {"max_tokens", "tokenizer"}
        assert {defaults[name] for name, value in options.items() if not value} <= {"0", "None", "False"}


def test_every_script_of_a_workflow_exists():
    """What a step runs is in the checkout."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for script in re.findall(r"\bscripts/\w+\.py", path.read_text(encoding="utf-8")):
            assert (ROOT / script).is_file(), f"{path.name}: {script}"
