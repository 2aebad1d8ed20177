"""Protocol prose: which paragraphs of documents ask, what they link, and what is masked and left out."""

import random
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.dataset import asking
from repoeval_bench.dataset.build import code
from repoeval_bench.dataset.build.code import MAX_LINE
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.dataset.build.plain import load_folder
from repoeval_bench.dataset.documented import LEAST, count_words
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.prose import questions_of_prose
from repoeval_bench.dataset.repoeval import DEFAULT
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.planning import select
from support import written
from support.codebase import write_files
from support.command import succeed
from support.ledger import LEDGER
from support.written import gold_text

CODE = f"""{LEDGER}def read(path):
    return path.open().close()
"""
GUIDE = """Guide with a `parse_entry` in its title line
============================================

To see who has to pay whom, call :meth:`~ledger.Ledger.settle_debts`
once; settle_debts gives nobody twice. See `the site <https://example.org/debts>`_.

- A line of text has fields between commas: `parse_entry()`.
* Open files again with :py:func:`reading a file <shop.ledger.read>` after that.

.. note:: The directive about :class:`Ledger` is no paragraph that asks.

Too short: :class:`Ledger`

A `read` and a `close` are words, and :ref:`parse_entry` is a label somewhere else.

Literal blocks are code::

    parse(`Ledger`) and more words than five in all

.. code-block:: python

    words of `parse_entry` that are code of this language

    and a second part of it, with `parse_entry` again

..
   A comment about `parse_entry` that nobody but its author reads.

Heading of `parse_entry` in so many words
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Between two such headings is one more question: `parse_entry`.

Another one of `Ledger` with enough words
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~

There is no such thing as :func:`nothing_of_ours` in this code of ours.
"""
FILES = {"shop/ledger.py": CODE, "tests/test_ledger.py": "def parse_other(text):\n    return text\n"}
DOCUMENTS = {
    "docs/guide.rst": GUIDE,
    "CHANGELOG.md": "- Fix commas in the last field of a line: `parse_entry`.\n",
    "tests/README.md": "What tests say about many things of `parse_entry` asks nothing.\n",
}


def benchmark(documents=DOCUMENTS, files=FILES):
    return written.benchmark({"r": written.sources(files)}, documents={"r": written.sources(documents)})


def test_a_paragraph_asks_for_what_it_links_without_the_links_texts():
    """Roles and backticks link; titles, directives, fences, labels, changes and the documents of tests ask nothing."""
    questions = questions_of_prose(benchmark())
    assert [(task.function_name, task.prompt) for task in questions.tasks] == [
        ("docs/guide.rst::4", "To see who has to pay whom, call once; gives nobody twice. See the site _."),
        ("docs/guide.rst::7", "A line of text has fields between commas: ."),
        ("docs/guide.rst::8", "Open files again with after that."),
        ("docs/guide.rst::31", "Between two such headings is one more question: ."),
    ]
    assert [gold_text(questions, task).partition("(")[0].strip() for task in questions.tasks] == [
        "def settle_debts", "def parse_entry", "def read", "def parse_entry",
    ]  # fmt: skip
    assert questions.unscored == 1


def test_names_can_be_left_in_and_the_same_paragraphs_ask():
    masked, named = questions_of_prose(benchmark()), questions_of_prose(benchmark(), named=True)
    assert [task.places for task in masked.tasks] == [task.places for task in named.tasks]
    assert [task.prompt for task in named.tasks][1:3] == [
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
        ("`read(path)`", False),
        ("`read`", False),
        (":doc:`Ledger`", False),
    ],
)
def test_what_links_a_definition(link, asks):
    documents = {"README.md": f"Some words that say what it is for: {link} does it.\n"}
    with nullcontext() if asks else pytest.raises(DatasetError, match="sdist:NAME==VERSION"):
        assert len(questions_of_prose(benchmark(documents)).tasks) == 1


def test_a_name_that_several_definitions_have_is_no_link():
    again = {**FILES, "shop/other.py": "def parse_entry(text):\n    return text\n"}
    questions = questions_of_prose(
        benchmark({"README.md": GUIDE + "\nOne of them is this one: `ledger.parse_entry`.\n"}, again)
    )
    assert [task.prompt for task in questions.tasks if "between" in task.prompt] == []
    assert questions.tasks[-1].prompt == "One of them is this one: ."


def test_what_most_paragraphs_link_is_no_gold(monkeypatch):
    monkeypatch.setattr(asking, "COMMON_ASKERS", 1)
    documents = {"a.md": "".join(f"Words of paragraph number {i} about `parse_entry`.\n\n" for i in range(3)) + GUIDE}
    questions = questions_of_prose(benchmark(documents))
    assert [task.prompt.split()[0] for task in questions.tasks] == ["To", "Open"]


def test_code_and_comments_of_markdown_ask_nothing():
    """Fences of any length, blocks indented by four outside of lists, and comments; what is behind them asks."""
    text = """Heading about `parse_entry` in so many words
---
Words right below the heading that ask for `parse_entry`.

````text
A fence around `parse_entry` and more words is code.
```
~~~~
```` is no end of it, and `parse_entry` is still code
`````

~~~ info `parse_entry` of a fence may have the other mark
A fence around `parse_entry` and more words is code.
~~~

``` `parse_entry` ``` is no fence but a paragraph: `parse_entry`.

    indented code with `parse_entry` and more words

    and another part of it with `parse_entry`, and a mark
    ```

<!-- A comment about `parse_entry` with words enough.

It goes on about `parse_entry` for one more paragraph. -->

1. An item that says more:

    It goes on to ask for `parse_entry` below.

!!! note

    The text of a note asks for `parse_entry` as well.

The last paragraph asks <!-- with a comment --> for `parse_entry` too.
"""
    questions = questions_of_prose(benchmark({"a.md": text}))
    assert [task.function_name for task in questions.tasks] == [f"a.md::{line}" for line in (3, 16, 29, 33, 35)]
    assert questions.tasks[-1].prompt == "The last paragraph asks for too."


CHANGES = ("CHANGES.rst", "changelog.md", "release-notes.md", "v2_migration.txt", "what's-new3.md", "NEWS.md")


def test_a_list_of_changes_asks_nothing_and_is_known_by_whole_words_of_its_name():
    for name in CHANGES:
        with pytest.raises(DatasetError):
            questions_of_prose(benchmark({f"docs/{name}": GUIDE}))
    for name in ("exchange.md", "newsletter.md", "prehistory.md", "renews.rst", "guide.md"):
        assert questions_of_prose(benchmark({f"docs/{name}": GUIDE})).tasks


PARTS = ("`", "](", ":a", " ", "<", "<!--", "```x", "`a", "](a", ".. code", "~", ":: ", "[](x(", ":func:`x <", "``` ")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["a.md", "a.rst"])
def test_no_text_takes_time_in_proportion_to_its_square(part, name):
    """In one line or many, and within a role: this test would not end. A line above the limit asks nothing."""
    asks = "\n\nFive words are in here `parse_entry` \n\n"
    line = part * (MAX_LINE // len(part))
    texts = [line, f":func:`{line}` `parse_entry`", f"`parse_entry` {part * 20_000}", "\n".join([line] * 20)]
    questions = questions_of_prose(benchmark({f"{i}{name}": asks + text for i, text in enumerate(texts)}))
    assert questions.tasks


def test_documents_that_are_large_or_many_or_no_text_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "MAX_DOCUMENT_BYTES", 3000)
    monkeypatch.setattr(code, "MAX_DOCUMENTS_BYTES", 4000)
    (tmp_path / "ledger.py").write_text(CODE, "utf-8")
    for name, size in {"a.md": 3001, "b.md": 3000, "c.md": 1001, "d.md": 999, "e.md": 2}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    (tmp_path / "0.md").write_bytes(b"\0")
    loaded = load_folder(str(tmp_path), DEFAULT)
    assert [file.path for file in loaded.documents[tmp_path.name]] == ["b.md", "d.md"]


def test_documents_stay_behind_once_they_have_asked():
    described = CODE.replace("owed.", "owed by each one of these names.")
    loaded = benchmark(files={"shop/ledger.py": described})
    for protocol in ("prose", "docstring"):
        assert loaded.documents
        assert not select(loaded, Protocol.parse(protocol)).documents


@given(st.randoms(use_true_random=False), st.integers(0, 400))
def test_no_document_breaks_it_or_tells_a_name_that_it_asks_for(rng: random.Random, length):
    """Whatever the order of its marks, a question has enough words and none is the name of its gold."""
    links = ("`", "``", ":func:", "~", "parse_entry", "Ledger.settle_debts", "<", ">")
    marks = (*links, "\n", "\n\n", "- ", "```\n", "word ")
    text = "Five words are in here `parse_entry` \n\n" + "".join(rng.choices(marks, k=length))
    questions = questions_of_prose(benchmark({"a.rst": text, "a.md": text}))
    for task in questions.tasks:
        assert count_words(task.prompt) >= LEAST
        gold = gold_text(questions, task)
        assert not any(f"def {word}(" in gold for word in task.prompt.split())


def test_a_pack_keeps_documents_and_a_folder_is_asked_what_they_ask(tmp_path):
    """Both ask the same of the same code; queries are clustered by document, and other protocols see the code alone."""
    task = {"shop/pay.py": "def pay(a):\n    b = a\n    b += 1\n    return b\n"}
    write_files(tmp_path / "shop", {**FILES, **DOCUMENTS, **task})
    pack = build_pack(BuildRequest(sources=(str(tmp_path / "shop"),), resolve="no"), tmp_path / "pack")
    folder = load_benchmark(tmp_path / "shop", home=tmp_path / "home")
    packed = load_benchmark(pack.root, home=tmp_path / "home")
    assert folder.files == packed.files
    assert questions_of_prose(folder).tasks == questions_of_prose(packed).tasks
    call = ("eval", "-c", "fixed:max_nws=100", "--protocol", "prose", "--retriever", "bm25")
    done = succeed(*call, "--source", tmp_path / "shop", "--out", tmp_path / "runs", home=tmp_path / "home")
    assert "4 of 4 tasks" in done.out
    (run,) = find_runs(["latest"], tmp_path / "runs")
    assert run.counts.tasks_unscored == 1
    assert (run.scores.clustered_by, set(run.scores.clusters)) == ("document", {"shop/docs/guide.rst"})
