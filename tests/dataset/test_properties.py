"""What holds for every text, tree and row, not only for those that somebody thought of."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.repoeval import dump_tasks, parse_tasks
from repoeval_bench.dataset.trees import decode
from support import written

names = st.text("abyzABYZ019", min_size=1, max_size=8)
texts = st.text(max_size=60)


@st.composite
def tasks(draw):
    truth = draw(st.text(min_size=1, max_size=60))
    start = draw(st.integers(0, 50))
    return written.task(
        path="/".join(draw(st.lists(names, min_size=1, max_size=3))),
        prompt=draw(texts),
        ground_truth=truth,
        body=LineSpan(start, start + len(truth.splitlines())),
        context_start=draw(st.integers(0, start)),
        function_name=draw(st.none() | names),
    )


def firm(parsed):
    """The tasks with their repositories set and their ids unique, in the order given."""
    return [replace(task, task_id=f"owner_repo/{number}", repo="owner_repo") for number, task in enumerate(parsed)]


@given(st.lists(tasks(), min_size=1, max_size=4).map(firm), st.booleans())
def test_tasks_survive_upstreams_format_with_either_line_end(parsed, windows):
    raw = dump_tasks(parsed)
    raw = raw.replace(b"\n", b"\r\n") if windows else raw
    assert list(parse_tasks(raw, name="t", level="function")) == parsed


@given(texts)
def test_line_ends_and_byte_order_marks_do_not_matter(text):
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    for end in ("\n", "\r\n", "\r"):
        for mark in (b"", b"\xef\xbb\xbf"):
            if mark or not plain.startswith("\ufeff"):
                assert decode(mark + plain.replace("\n", end).encode()) == plain


@given(st.lists(tasks(), min_size=1, max_size=4).map(firm))
def test_the_fingerprint_depends_on_content_only(parsed):
    files = {repo: (SourceFile(repo, "a.py", repo),) for repo in ("a", "b")}
    turned = dict(reversed(files.items()))
    assert fingerprint(parsed, files) == fingerprint(list(parsed), turned)
    assert fingerprint(parsed, files) != fingerprint(parsed[1:], files)
