"""Protocol prose: which paragraphs of documents ask, what they link, and what is masked and left out."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset import asking
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.prose import questions_of_prose
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.naming import find_runs
from support.command import bench

CODE = '''class Ledger:
    """Who owes whom."""

    limit = 3

    def settle_debts(self, names):
        """Return what is owed."""
        return [name for name in names if name]

    def close(self):
        return self.limit


def parse_entry(text):
    fields = text.split(",")
    return fields


def read(path):
    return path.open().close()
'''
GUIDE = """Guide with a `parse_entry` in its title line
============================================

To see who has to pay whom, call :meth:`~ledger.Ledger.settle_debts`
once; settle_debts gives nobody twice. See `the site <https://example.org/debts>`_.

- A line of text has fields between commas: `parse_entry()`.
* Open files again with :py:func:`reading a file <shop.ledger.read>` after that.

.. note:: The directive about :class:`Ledger` is no paragraph that asks.

Too short: :class:`Ledger`

A `read` and a `close` are words, and :ref:`parse_entry` is a label somewhere else.

```
A fence around `parse_entry` and more words is code.
```

There is no such thing as :func:`nothing_of_ours` in this code of ours.
"""
FILES = {"shop/ledger.py": CODE, "tests/test_ledger.py": "def parse_other(text):\n    return text\n"}
DOCUMENTS = {
    "docs/guide.rst": GUIDE,
    "CHANGELOG.md": "- Fix commas in the last field of a line: `parse_entry`.\n",
    "tests/README.md": "What tests say about many things of `parse_entry` asks nothing.\n",
}


def sources(texts):
    return {"r": tuple(SourceFile("r", path, text) for path, text in texts.items())}


def benchmark(documents=DOCUMENTS, files=FILES):
    return Benchmark(
        name="b", fingerprint="0" * 12, level="function", tasks=(), files=sources(files), documents=sources(documents),
        source="s", whole_tasks=0, whole_repos=1,
    )  # fmt: skip


def gold_text(asked, task):
    files = {file.name: file for file in asked.files["r"]}
    return "".join(files[place.file].line_text(place.lines) for place in task.places)


def test_a_paragraph_asks_for_what_it_links_without_the_links_texts():
    """Roles and backticks link; titles, directives, fences, labels, changes and the documents of tests ask nothing."""
    asked = questions_of_prose(benchmark())
    assert [(task.function_name, task.prompt) for task in asked.tasks] == [
        ("docs/guide.rst::4", "To see who has to pay whom, call once; gives nobody twice. See the site _."),
        ("docs/guide.rst::7", "A line of text has fields between commas: ."),
        ("docs/guide.rst::8", "Open files again with after that."),
    ]
    assert [gold_text(asked, task).partition("(")[0].strip() for task in asked.tasks] == [
        "def settle_debts", "def parse_entry", "def read",
    ]  # fmt: skip
    assert asked.unscored == 1


def test_names_can_be_left_in_and_the_same_paragraphs_ask():
    masked, named = questions_of_prose(benchmark()), questions_of_prose(benchmark(), named=True)
    assert [task.places for task in masked.tasks] == [task.places for task in named.tasks]
    assert [task.prompt for task in named.tasks][1:] == [
        "A line of text has fields between commas: parse_entry().",
        "Open files again with reading a file after that.",
    ]
    assert named.tasks[0].prompt.startswith("To see who has to pay whom, call settle_debts once; settle_debts gives")
    assert Protocol.parse("prose+query=named").query == "named"
    with pytest.raises(UsageError):
        Protocol.parse("prose+query=tail:2")


def test_neither_documents_nor_tests_are_searched():
    (files,) = questions_of_prose(benchmark()).files.values()
    assert [file.path for file in files] == ["shop/ledger.py"]


@pytest.mark.parametrize(
    ("link", "asks"),
    [
        ("`Ledger`", True),
        ("``Ledger.settle_debts``", True),
        ("`shop.ledger.read`", True),
        (":func:`read`", True),
        (":func:`!read`", True),
        (":attr:`Ledger.limit`", False),  # a variable
        ("`other.read`", False),
        ("`ledger.shop.read`", False),  # not in this order
        ("`read(path)`", False),
        ("`read`", False),
        (":doc:`Ledger`", False),
    ],
)
def test_what_links_a_definition(link, asks):
    documents = {"README.md": f"Some words that say what it is for: {link} does it.\n"}
    if asks:
        assert len(questions_of_prose(benchmark(documents)).tasks) == 1
    else:
        with pytest.raises(DatasetError, match="sdist:NAME==VERSION"):
            questions_of_prose(benchmark(documents))


def test_a_name_that_several_definitions_have_is_no_link():
    again = {**FILES, "shop/other.py": "def parse_entry(text):\n    return text\n"}
    asked = questions_of_prose(
        benchmark({"README.md": GUIDE + "\nOne of them is this one: `ledger.parse_entry`.\n"}, again)
    )
    assert [task.prompt for task in asked.tasks if "between" in task.prompt] == []
    assert asked.tasks[-1].prompt == "One of them is this one: ."


def test_what_most_paragraphs_link_is_no_gold(monkeypatch):
    monkeypatch.setattr(asking, "COMMON_ASKERS", 1)
    documents = {"a.md": "".join(f"Words of paragraph number {i} about `parse_entry`.\n\n" for i in range(3)) + GUIDE}
    asked = questions_of_prose(benchmark(documents))
    assert [task.prompt.split()[0] for task in asked.tasks] == ["To", "Open"]


@given(st.randoms(use_true_random=False), st.integers(0, 400))
def test_no_document_breaks_it_or_tells_a_name_that_it_asks_for(rng: random.Random, length):
    """Whatever the order of its marks, a question has enough words and none is the name of its gold."""
    marks = [
        "`",
        "``",
        ":func:",
        "~",
        "parse_entry",
        "Ledger.settle_debts",
        "\n",
        "\n\n",
        "- ",
        "<",
        ">",
        "```\n",
        "word ",
    ]
    text = "Five words are in here `parse_entry` \n\n" + "".join(rng.choices(marks, k=length))
    asked = questions_of_prose(benchmark({"a.rst": text}))
    for task in asked.tasks:
        assert len(task.prompt.split()) >= 3
        gold = gold_text(asked, task)
        assert not any(f"def {word}(" in gold for word in task.prompt.split())


def test_a_pack_keeps_documents_and_a_folder_is_asked_what_they_ask(tmp_path):
    """Both ask the same of the same code; queries are resampled by document, and other protocols see the code alone."""
    for path, text in {**FILES, **DOCUMENTS}.items():
        (tmp_path / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / path).write_text(text, "utf-8")
    pack = build_pack(BuildRequest(sources=(str(tmp_path / "shop"),), resolve="no"), tmp_path / "pack")
    folder = load_benchmark(tmp_path / "shop", home=tmp_path / "home")
    packed = load_benchmark(pack.root, level="line", home=tmp_path / "home")
    assert folder.files == packed.files
    assert questions_of_prose(folder).tasks == questions_of_prose(packed).tasks
    call = ("eval", "-c", "fixed:max_nws=100", "--protocol", "prose", "--retriever", "bm25")
    done = bench(*call, "--source", tmp_path / "shop", "--out", tmp_path / "runs", home=tmp_path / "home")
    assert done.code == 0, done.err
    assert "3 of 3 tasks" in done.out
    (run,) = find_runs(["latest"], tmp_path / "runs")
    assert run.counts.tasks_unscored == 1
    assert (run.scores.clustered_by, set(run.scores.clusters)) == ("document", {"shop/docs/guide.rst"})
