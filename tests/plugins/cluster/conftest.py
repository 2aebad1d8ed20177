"""What tests of stores share."""

import pytest


@pytest.fixture(autouse=True)
def fair_weather(monkeypatch):
    """A store does as it is told unless a test says otherwise."""
    stores = pytest.importorskip("support.stores", reason="fsspec is not installed")
    stores.WEATHER.clear()
    monkeypatch.setattr("repoeval_bench.plugins.cluster.object_store._LONGEST_PAUSE", 0.001)
