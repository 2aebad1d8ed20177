"""What tests of completions share."""

import pytest

from support.completion_server import serving_completions


@pytest.fixture(scope="module")
def server():
    """A server on this machine whose model copies n-grams of its prompt."""
    with serving_completions() as server:
        yield server
