"""Choices that contradict each other are refused in words, before anything is fetched."""

import pytest

from repoeval_bench.cli.choices import check_choices
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.prepared import default_options


def told(*chunkers, **given):
    found = Gathered()
    chosen = check_choices(chunkers, default_options() | given, found)
    assert (chosen is None) == bool(found.mistakes)
    return [mistake.sentence for mistake in found.mistakes]


@pytest.mark.parametrize("own", ["fixed:header=scope", "ast:header=scope,max_nws=300"])
def test_a_header_for_all_does_not_override_a_chunkers_own(own):
    """The sentence names both, as it does for a precision and a policy for long texts; the same header is none."""
    (sentence,) = told(own, header="path")
    assert sentence.startswith("header path contradicts chunker ")
    assert "header=scope; leave one of them out" in sentence
    (sentence,) = told(own, own.partition(":")[0], header="path")  # they are not called the same besides
    assert sentence.startswith("header path contradicts chunker ")
    assert told(own, "fixed-tokens", header="scope") == []
    assert told(own, "fixed-tokens") == []


def test_a_chunker_is_named_twice_where_the_header_makes_it_so():
    """fixed and fixed:header=path are two chunkers, and with --header path one."""
    specs = ("fixed", "fixed:header=path")
    assert told(*specs) == []
    (sentence,) = told(*specs, header="path")
    assert "fixed:max_nws=1500,offset=0,header=path is named twice" in sentence
    assert len(told("fixed", "fixed", header="pth")) == 2  # the unknown header is told, and the chunker


@pytest.mark.parametrize(("given", "piece"), [
    ({"match_size": "fixed"}, "fixes its documents, so no size is matched; leave it out, or choose another protocol"),
    ({"header": "path"}, "fixes its documents and their titles, so there is no header to choose; leave it out, or"),
])  # fmt: skip
def test_documents_that_are_fixed_have_neither_sizes_nor_headers(given, piece):
    """Protocol coderag says so itself, and not that a chunker is unknown or named."""
    assert told(protocol="coderag") == []
    (sentence,) = told(protocol="coderag", **given)
    assert sentence.startswith("protocol coderag ")
    assert piece in sentence
