"""Archives: nothing is taken from one that is broken or that means harm."""

import stat
import zipfile

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset import archives
from repoeval_bench.dataset.archives import read_archive, read_zip
from support import minirepo
from support.cases import cases

CASES = cases(__file__)


def everything(path):
    return dict(read_zip(path, lambda _: True))


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


def test_a_link_is_not_followed(tmp_path):
    assert list(everything(with_entry(tmp_path / "a.zip", "link.py", attributes=(stat.S_IFLNK | 0o777) << 16))) == [
        "fine.py"
    ]


def test_windows_separators_are_read_as_folders(tmp_path):
    assert "b/x.py" in everything(with_entry(tmp_path / "a.zip", "b\\x.py"))


@pytest.mark.parametrize(("name", "complaint"), CASES["harmful names"])
def test_a_harmful_entry_refuses_the_whole_archive_before_anything_is_read(tmp_path, name, complaint):
    path = with_entry(tmp_path / "a.zip", name)
    with pytest.raises(DatasetError, match=complaint):
        next(read_zip(path, lambda name: name == "fine.py"))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 4 * 1024**2)
    path = minirepo.write_zip(tmp_path / "bomb.zip", {f"{n}.py": bytes(2 * 1024**2) for n in range(3)})
    assert path.stat().st_size < 20_000
    with pytest.raises(DatasetError, match="unpacks to more than"):
        everything(path)


def flipped(raw):
    return raw[:40] + bytes([raw[40] ^ 0xFF]) + raw[41:]


def lying(raw):
    return raw.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[:-40], lambda raw: raw[:200], flipped, lying])
def test_a_truncated_flipped_or_lying_archive_is_one_clear_error(tmp_path, damage):
    """An entry gives no more than it declares; its checksum is seen as it is read, after it was listed."""
    path = minirepo.write_zip(tmp_path / "a.zip", {"a.py": bytes(100_000), "b.py": bytes(range(256))})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DatasetError, match="cannot be read"):
        everything(path)
    with pytest.raises(DatasetError, match="cannot be read"):
        [entry.read() for entry in read_archive(path)]


def test_an_absent_archive_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read .*No such file"):
        everything(tmp_path / "none.zip")


def test_an_entry_without_a_name_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"has no name|cannot be read"):
        everything(with_entry(tmp_path / "a.zip", ""))
