"""Which chunks of its own file a query may not see."""

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.protocols.exclusion import POLICIES, excluded_chunks, hidden_lines
from support.written import task

FILES = {f"r/{name}": SourceFile("r", name, "".join(f"x{i}\n" for i in range(60))) for name in ("p.py", "q.py")}


def by_definition(start, body, policy):
    """The lines that a policy's sentence names, as a set."""
    lines = {
        "none": range(0),
        "prompt": range(start, body.start),
        "repocoder": range(max(0, body.start - 20), 60),
        "hidden": range(start, body.end),
        "body": range(60),
        "free": range(60),
    }
    return set(lines[policy])


@given(data=st.data())
def test_chunks_that_share_a_line_with_what_a_policy_names_are_excluded(data):
    """Chunks may overlap and the prompt may be empty; no chunk of another file is excluded."""
    start = data.draw(st.integers(0, 50))
    first = data.draw(st.integers(start, 58))
    body = LineSpan(first, data.draw(st.integers(first + 1, 60)))
    cuts = data.draw(st.lists(st.tuples(st.integers(0, 59), st.integers(1, 30)), min_size=1, max_size=8, unique=True))
    chunks = {
        name: [Chunk.cut(file, file.chars_of(LineSpan(at, min(60, at + n)))) for at, n in cuts]
        for name, file in FILES.items()
    }
    own = task(body=body, context_start=start)
    for policy in POLICIES:
        named = by_definition(start, body, policy)
        expected = {chunk.chunk_id for chunk in chunks["r/p.py"] if named & set(chunk.lines)}
        assert excluded_chunks([own], chunks, policy) == ({own.task_id: expected} if expected else {}), policy
        places = hidden_lines([own], FILES, policy)
        lines = {i for place in places.values() for i in place.lines}
        assert lines == (set() if policy in ("body", "free") else named), policy  # the query has chunks of its own
        assert {place.file for place in places.values()} <= {"r/p.py"}
