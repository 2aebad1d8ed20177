"""Archives: nothing is taken from one that is broken or that means harm."""

import lzma
import stat
import tarfile
import zipfile

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.archives import read_archive, read_zip
from support import minirepo


def everything(path, **options):
    return dict(read_zip(path, lambda _: True, **options))


def with_entry(path, name, *, content=b"x", attributes=0):
    info = zipfile.ZipInfo("placeholder")
    info.filename = name  # the constructor would tidy the name
    info.external_attr = attributes
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fine.py", b"fine")
        archive.writestr(info, content)
    return path


def test_wanted_files_come_in_order_and_directories_do_not(tmp_path):
    path = minirepo.write_zip(tmp_path / "a.zip", {"b/": b"", "b/x.py": b"1", "a.txt": b"2"})
    assert list(read_zip(path, lambda name: name.endswith(".py"))) == [("b/x.py", b"1")]


def test_windows_separators_are_read_as_folders(tmp_path):
    assert "b/x.py" in everything(with_entry(tmp_path / "a.zip", "b\\x.py"))


@pytest.mark.parametrize(
    ("name", "attributes", "complaint"),
    [
        ("../evil.py", 0, "leads out of the folder"),
        ("a\\..\\..\\evil.py", 0, "leads out of the folder"),
        ("/etc/evil.py", 0, "absolute path"),
        ("C:\\evil.py", 0, "absolute path"),
        ("link.py", (stat.S_IFLNK | 0o777) << 16, "is a link"),
        ("pipe.py", (stat.S_IFIFO | 0o666) << 16, "is a link or a device"),
        ("fine.py", 0, "appears twice"),
        ("fine.py/in/a.py", 0, "'fine.py' is a file and a folder"),
        ("a/C:\\evil.py", 0, "absolute path"),
        ("ev\x1b[2Jil.py", 0, "a character that no path may hold"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_harmful_entry_refuses_the_whole_archive_before_anything_is_read(tmp_path, name, attributes, complaint):
    path = with_entry(tmp_path / "a.zip", name, attributes=attributes)
    with pytest.raises(DatasetError, match=complaint):
        next(read_zip(path, lambda name: name == "fine.py"))


def test_a_name_with_a_zero_byte_is_refused(tmp_path):
    """The library ends the name there: `fine.py` and NUL and more would be `fine.py` once more."""
    path = with_entry(tmp_path / "a.zip", "evil.pyQ.py")
    path.write_bytes(path.read_bytes().replace(b"evil.pyQ.py", b"evil.py\0.py"))
    with pytest.raises(DatasetError, match="has a zero byte in its name"):
        everything(path)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    path = minirepo.write_zip(tmp_path / "bomb.zip", {f"{n}.py": bytes(2 * 1024**2) for n in range(3)})
    assert path.stat().st_size < 20_000
    with pytest.raises(DatasetError, match="unpacks to more than 4 MiB"):
        everything(path, max_unpacked=4 * 1024**2)


def flipped(raw):
    return raw[:40] + bytes([raw[40] ^ 0xFF]) + raw[41:]


def lying(raw):
    return raw.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[:-40], lambda raw: raw[:200], flipped, lying])
def test_a_truncated_flipped_or_lying_archive_is_one_clear_error(tmp_path, damage):
    """An entry gives no more than it declares; its checksum is seen as it is read, after it was listed."""
    path = minirepo.write_zip(tmp_path / "a.zip", {"a.py": bytes(100_000), "b.py": bytes(range(256))})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DatasetError, match="truncated or corrupt"):
        everything(path)
    with pytest.raises(DatasetError, match="truncated or corrupt"):
        [entry.read() for entry in read_archive(path)]


def test_an_absent_archive_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match="does not exist"):
        everything(tmp_path / "none.zip")


def test_an_entry_without_a_name_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"has no name|truncated or corrupt"):
        everything(with_entry(tmp_path / "a.zip", ""))


def tar_header(kind, size=0, name="x"):
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def sparse_map_without_end():
    """An entry whose sparse map, in the old format of GNU tar, goes on in block after block."""
    first = bytearray(tar_header(tarfile.GNUTYPE_SPARSE))
    first[482] = 1
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first)
    return [bytes(first), *[b"1" * 20 + bytes(484) + b"\1" * 8] * 1000]


TARS = {
    "digits": ([tar_header(tarfile.XHDTYPE, 40_000), b"1" * 40_960, tar_header(tarfile.REGTYPE)], "64 digits"),
    "global": ([tar_header(tarfile.XGLTYPE, 4 << 20), bytes(4 << 20)], "headers of an entry have more than 65,536"),
    "name": ([tar_header(tarfile.GNUTYPE_LONGNAME, 700 << 20)], "headers of an entry have more than 65,536"),
    "link": ([tar_header(tarfile.GNUTYPE_LONGLINK, 700 << 20)], "headers of an entry have more than 65,536"),
    "sparse": (sparse_map_without_end(), "headers of an entry have more than 65,536"),
    "later": ([tar_header(tarfile.REGTYPE), tar_header(tarfile.GNUTYPE_LONGNAME, 700 << 20)], "headers of an entry"),
    "names": (
        [tar_header(tarfile.GNUTYPE_LONGNAME, 60_000), b"a" * 60_416, tar_header(tarfile.DIRTYPE)] * 20,
        "headers of its entries have more",
    ),
    "folders": ([tar_header(tarfile.DIRTYPE, 0, f"f{n}") for n in range(101)], "more than 100 files and folders"),
    "nested": ([tar_header(tarfile.REGTYPE, 0, "a/" * 49 + f"{n}") for n in "ab"], ""),
    "deep": ([tar_header(tarfile.REGTYPE, 0, f"{n}/" * 45 + "x") for n in "abcd"], "more than 100 files and folders"),
}


@pytest.mark.parametrize("compress", [bytes, lzma.compress], ids=["plain", "xz"])
@pytest.mark.parametrize("name", TARS)
def test_headers_and_entries_count_as_files_do(tmp_path, monkeypatch, name, compress):
    """A small archive can name any number of folders, and headers of any length."""
    monkeypatch.setattr("repoeval_bench.dataset.archives.MAX_ENTRIES", 100)
    monkeypatch.setattr("repoeval_bench.dataset.archives.MAX_HEADERS", 1_000_000)
    blocks, complaint = TARS[name]
    path = tmp_path / "a.tar"
    path.write_bytes(compress(b"".join(blocks) + bytes(1024)))
    if not complaint:
        assert len([*read_archive(path)]) == 2
        return
    with pytest.raises(DatasetError, match=f"is refused: .*{complaint}"):
        list(read_archive(path))


def test_a_zip_of_folders_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("repoeval_bench.dataset.archives.MAX_ENTRIES", 100)
    path = minirepo.write_zip(tmp_path / "a.zip", {f"{n}/": b"" for n in range(101)})
    with pytest.raises(DatasetError, match="more than 100 files and folders"):
        everything(path)
