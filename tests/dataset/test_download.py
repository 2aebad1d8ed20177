"""Downloads against a real server that breaks off, stalls, or sends nothing at all."""

import socket

import pytest

from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.archived import ATTEMPTS, download
from support.server import Site, serve

CONTENT = bytes(range(256)) * 2000


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr("repoeval_bench.dataset.sources.archived.PAUSE", 0)
    with serve(Site(files={"a.zip": CONTENT})) as running:
        yield running


def get(site, tmp_path):
    target = tmp_path / "d" / "a.zip"
    download(f"{site.url}/a.zip", target)
    return target


def left(tmp_path):
    return sorted(path.name for path in tmp_path.glob("d/*"))


def test_a_file_arrives_whole(site, tmp_path):
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert left(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("fault", ["breaks", "stalls"])
def test_a_break_or_silence_in_the_middle_is_tried_again(site, tmp_path, monkeypatch, fault):
    monkeypatch.setattr("repoeval_bench.dataset.sources.archived.TIMEOUT", 0.1)
    setattr(site, fault, [100_000, 50_000])
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert len(site.requests) == 3
    assert left(tmp_path) == ["a.zip"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"breaks": [1000] * ATTEMPTS}, "a.zip cannot be fetched .* try again"),
        ({"status": 500}, "the server answers 500 for http://.*/a.zip"),
        ({"files": {}}, "the server answers 404 for http://.*/a.zip"),
        ({"files": {"a.zip": CONTENT[:1001]}}, "is refused: it has more than 1,000 bytes"),
    ],
)
def test_a_refusal_is_named_and_nothing_is_left(site, tmp_path, monkeypatch, fault, message):
    """A flood is stopped."""
    if "bytes" in message:
        monkeypatch.setattr("repoeval_bench.dataset.sources.archived.LARGEST", 1000)
    for name, value in fault.items():
        setattr(site, name, value)
    with pytest.raises(SourceError, match=message):
        get(site, tmp_path)
    assert left(tmp_path) == []


def test_a_closed_port_is_reported(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:\d+/a.zip cannot be fetched"):
        download(f"http://127.0.0.1:{port}/a.zip", tmp_path / "a.zip")


def test_no_password_is_shown(site, tmp_path):
    site.status = 401
    address = site.url.replace("//", "//user:secret@")
    with pytest.raises(SourceError) as caught:
        download(f"{address}/a.zip", tmp_path / "a.zip")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_PROXY", "socks5://127.0.0.1:1"), ("HTTP_PROXY", "nonsense://x"), ("SSL_CERT_FILE", "/none.pem")],
)
def test_settings_of_the_environment_that_cannot_be_used_are_named(site, tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match="cannot be fetched"):
        get(site, tmp_path)
