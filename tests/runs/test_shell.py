"""A request as a shell line: the words, read back by the command line's own parser, are the request."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.cli.evaluate import evaluate_command
from repoeval_bench.cli.options import requests_of
from repoeval_bench.runs.request import RunRequest, eval_line

TEXTS = st.text("ab -'\"$`\\\n\t=,:;*!#~&|<>(){}é\u2028\U0001f600", min_size=1, max_size=9).filter(str.strip)
"""Characters that a shell, or the reader of a list, takes for more than themselves."""
REPOS = st.from_regex(r"[a-z_.-]{1,9}", fullmatch=True)
FIELDS = {
    "chunker": st.none() | TEXTS,
    "protocol": TEXTS,
    "query": st.none() | TEXTS,
    "retriever": TEXTS,
    "embedder": TEXTS,
    "match_size": st.none() | TEXTS,
    "exclusion": st.none() | TEXTS,
    "source": TEXTS,
    "k": st.integers(1, 10**6),
    "limit": st.none() | st.integers(1, 10**6),
    "skip_errors": st.booleans(),
    "allow_sparse_qrels": st.booleans(),
    "measures": st.lists(TEXTS, max_size=3, unique=True).map(tuple),
    "repos": st.none() | st.lists(REPOS, min_size=1, max_size=3, unique=True).map(tuple),
}


@pytest.fixture(autouse=True, scope="module")
def nothing_from_outside():
    """No option takes its default from the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REPOEVAL_SOURCE", raising=False)
        yield


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_the_line_reads_back_as_the_request(given):
    """Whatever the values hold: blanks, quotes, dollars, a leading hyphen."""
    request = RunRequest(**given)
    program, command, *words = shlex.split(eval_line(request, out=Path("a b"), home=Path("~/x")))
    assert (program, command) == ("repoeval-bench", "eval")
    options = evaluate_command.make_context("eval", words).params
    assert (options["out"], options["home"]) == (Path("a b"), Path("~/x"))
    chunkers = options.pop("chunker")
    fields = {name: options[name] for name in RunRequest.model_fields if name in options}
    assert requests_of(chunkers, fields) == [request]


def test_what_is_usual_is_not_written():
    assert eval_line(RunRequest(chunker="ast")) == "repoeval-bench eval -c ast"
