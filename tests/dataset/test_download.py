"""Downloads against a real server that breaks off, stalls, sends wrong ranges or nothing at all."""

from __future__ import annotations

import json
import socket
import time

import pytest

from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.download import AbsentError, Patience, download
from support.server import Site, serve

CONTENT = bytes(range(256)) * 2000
PATIENT = Patience(read=10, attempts=3, pause=0)


@pytest.fixture
def site():
    with serve(Site(files={"a.zip": CONTENT})) as running:
        yield running


def get(site, tmp_path, patience=PATIENT):
    return download(f"{site.url}/a.zip", tmp_path / "d" / "a.zip", patience)


def left(tmp_path):
    return sorted(path.name for path in (tmp_path / "d").iterdir())


def test_a_file_arrives_whole_and_is_not_asked_for_again(site, tmp_path):
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert left(tmp_path) == ["a.zip"]
    get(site, tmp_path)
    assert site.requests == [("/a.zip", None)]


def test_a_break_in_the_middle_is_resumed_where_it_stopped(site, tmp_path):
    site.breaks = [100_000, 50_000]
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert [asked for _, asked in site.requests] == [None, "bytes=100000-", "bytes=150000-"]


def test_what_arrived_before_giving_up_is_kept_for_the_next_call(site, tmp_path):
    site.breaks = [1000, 1000, 1000]
    with pytest.raises(SourceError, match=r"broke off 3 times .* run the same command again"):
        get(site, tmp_path)
    assert left(tmp_path) == ["a.zip.part", "a.zip.part.json"]
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert site.requests[-1] == ("/a.zip", "bytes=3000-")


def test_a_server_that_falls_silent_is_left_and_asked_again(site, tmp_path):
    site.stalls = [5000]
    assert get(site, tmp_path, Patience(read=0.1, pause=0)).read_bytes() == CONTENT
    assert ("/a.zip", "bytes=5000-") in site.requests


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(site, tmp_path):
    site.breaks = [1000, 1000, 1000]
    with pytest.raises(SourceError):
        get(site, tmp_path)
    site.etag = '"second"'
    site.files["a.zip"] = CONTENT[::-1]
    assert get(site, tmp_path).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_mark_nothing_is_resumed(site, tmp_path, etag):
    site.etag = etag
    site.breaks = [1000]
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert [asked for _, asked in site.requests] == [None, None]


def test_a_server_without_ranges_sends_the_whole_again(site, tmp_path):
    site.honours_range = False
    site.breaks = [1000]
    assert get(site, tmp_path).read_bytes() == CONTENT


def test_a_range_that_was_not_asked_for_is_not_appended(site, tmp_path):
    site.breaks = [1000]
    site.wrong_range = True
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert [asked for _, asked in site.requests] == [None, "bytes=1000-", None]


def test_a_part_longer_than_the_file_is_thrown_away(site, tmp_path):
    site.breaks = [1000, 1000, 1000]
    with pytest.raises(SourceError):
        get(site, tmp_path)
    (tmp_path / "d" / "a.zip.part").write_bytes(CONTENT + b"more")
    assert get(site, tmp_path).read_bytes() == CONTENT


def test_a_part_of_another_address_or_with_a_torn_note_is_not_continued(site, tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.zip.part").write_bytes(b"wrong")
    (folder / "a.zip.part.json").write_text('{"url": "http://127.0.0.1/other", "mark": "\\"first\\""}')
    assert get(site, tmp_path).read_bytes() == CONTENT
    (folder / "a.zip").rename(folder / "a.zip.part")
    (folder / "a.zip.part.json").write_text('{"url": ')
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert [asked for _, asked in site.requests] == [None, None]


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_is_named_with_its_status(site, tmp_path, status):
    site.status = status
    with pytest.raises(SourceError, match=f"the server answers {status} for {site.url}/a.zip"):
        get(site, tmp_path)


def test_a_flood_is_stopped(site, tmp_path):
    with pytest.raises(SourceError, match="is refused: it has more than 1,000 bytes"):
        get(site, tmp_path, Patience(size=1000))


def test_a_trickle_is_stopped_and_goes_on_the_next_time(site, tmp_path):
    """Bytes that never stop coming are not a reason to wait for ever; what came is kept."""
    site.drips = ["body"]
    began = time.monotonic()
    with pytest.raises(SourceError, match="takes too long; run the same command again"):
        get(site, tmp_path, Patience(total=0.3))
    assert time.monotonic() - began < 3
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert site.requests[-1][1] not in (None, "bytes=0-")


def test_a_head_that_trickles_is_stopped_too(site, tmp_path):
    """The whole transfer has one deadline, from its first byte on."""
    site.drips = ["head"]
    began = time.monotonic()
    with pytest.raises(SourceError, match="takes too long; run the same command again"):
        get(site, tmp_path, Patience(total=0.3))
    assert time.monotonic() - began < 3
    assert get(site, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("etag", ['"é"', '"\x80"', '"a\tb"'])
def test_a_mark_that_no_header_can_carry_is_none(site, tmp_path, etag):
    """The file is fetched from its beginning after a break, this time and the next, and never refused for good."""
    site.etag = etag
    site.breaks = [100_000, 100_000, 100_000]
    with pytest.raises(SourceError, match=r"broke off 3 times"):
        get(site, tmp_path)
    site.breaks = [100_000]
    assert get(site, tmp_path).read_bytes() == CONTENT
    assert {asked for _, asked in site.requests} == {None}


def test_a_mark_that_an_earlier_version_kept_is_not_sent(site, tmp_path):
    """The part beside it is fetched again."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.zip.part").write_bytes(b"x" * 10)
    (tmp_path / "d" / "a.zip.part.json").write_text(json.dumps({"url": f"{site.url}/a.zip", "mark": '"é"'}))
    assert get(site, tmp_path).read_bytes() == CONTENT


def test_a_closed_port_is_reported_at_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(SourceError, match=r"127\.0\.0\.1 cannot be reached"):
        download(f"http://127.0.0.1:{port}/a.zip", tmp_path / "a.zip", PATIENT)
    assert time.monotonic() - began < 4


def test_a_file_that_is_absent_is_told_from_other_refusals(site, tmp_path):
    with pytest.raises(AbsentError, match="the server answers 404"):
        download(f"{site.url}/none.json", tmp_path / "none.json", PATIENT)


def test_no_password_is_shown(site, tmp_path):
    site.status = 401
    address = site.url.replace("//", "//user:secret@")
    with pytest.raises(SourceError) as caught:
        download(f"{address}/a.zip", tmp_path / "a.zip", PATIENT)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_PROXY", "socks5://127.0.0.1:1"), ("HTTP_PROXY", "nonsense://x"), ("SSL_CERT_FILE", "/none.pem")],
)
def test_settings_of_the_environment_that_cannot_be_used_are_named(site, tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match=r"settings cannot be used|cannot be reached"):
        get(site, tmp_path)
