"""Open the source that a user names: a folder, an archive, or a published package of npm or a Python package index."""

# A package is fetched by its registry's own client or settings, so that the user's registry, proxy and keys are used.

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from packaging.version import VERSION_PATTERN

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_file
from repoeval_bench.core.json_reader import JsonFaultError, parse_loose
from repoeval_bench.dataset.reading.code import Origin
from repoeval_bench.dataset.reading.origin import of_archive, open_folder, repository_name
from repoeval_bench.dataset.sources import SourceError, TamperedError
from repoeval_bench.dataset.sources.package_index import Index, open_index

_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--json")


class Npm:
    """The registry of npm's settings, asked by npm."""

    form, example = "NAME@VERSION", "zod@3.23.8"
    spec = re.compile(
        r"(?P<name>(?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~-][\w.~-]*)@(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.IGNORECASE
    )

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The tarball of a version, whose hash npm checks against the registry's."""
        before = set(work.iterdir())
        ask_npm("pack", f"{name}@{version}", f"--pack-destination={work}", of=f"{name}@{version}")
        (path,) = set(work.iterdir()) - before
        origin = of_archive(
            path,
            repository_name(f"{name.lstrip('@').replace('/', '_')}-{version}"),
            {"kind": "npm", "package": name, "version": version, "sha256": _checked_hash(path, pinned)},
        )
        # Of a pinned package the edition's own table says which files are taken.
        return origin if pinned else _without_declarations(origin)


def _without_declarations(origin: Origin) -> Origin:
    """The package without declarations outside of the outermost folders with TypeScript."""
    # A compiler wrote them of it. Of a package with declarations alone they are its own as far as anyone can tell.
    scripts = {path for path in origin.paths if re.search(r"\.[cm]?tsx?$", path)}
    declarations = {path for path in scripts if re.search(r"\.d\.[cm]?ts$", path)}
    tops = {path.partition("/")[0] for path in scripts - declarations}
    compiled = {path for path in declarations if tops and path.partition("/")[0] not in tops}
    return replace(
        origin,
        entries=lambda: (entry for entry in origin.entries() if entry.path not in compiled),
        skipped=Counter(origin.skipped) + Counter({"generated": len(compiled)}),
    )


def ask_npm(*arguments: str, of: str) -> dict[str, Any]:
    """Return what npm answers of a package as JSON; a SourceError where it fails."""
    command = ["npm", *arguments, *_OPTIONS]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError(
            f"npm is not installed, so {of} cannot be fetched; install it, or name the tarball that you have downloaded"
        ) from error
    try:
        answers = parse_loose(done.stdout or b"{}")
    except JsonFaultError:
        answers = {}
    answer = answers[-1] if isinstance(answers, list) and answers else answers  # several versions or tarballs
    if not answer or "error" in answer:
        problem = dict((answer or {}).get("error", {}))
        kind = TamperedError if problem.get("code") == "EINTEGRITY" else SourceError
        reason = problem.get("summary") or done.stderr.decode("utf-8", "replace") or "the registry has no such version"
        raise kind(f"npm could not fetch {of} ({reason.strip().splitlines()[0].rstrip('.')})")
    return dict(answer)


class PyPI:
    """The package index of pip's settings; of an sdist, which often has the tests that a wheel lacks, if `sdist`."""

    form, example = "NAME==VERSION", "click==8.1.7"
    spec = re.compile(
        rf"(?P<name>[A-Za-z0-9][\w.-]*)\s*==\s*(?P<version>{VERSION_PATTERN})", re.VERBOSE | re.IGNORECASE | re.ASCII
    )

    def __init__(self, index: Index, *, sdist: bool = False) -> None:
        self.index, self.sdist = index, sdist

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The pure-Python wheel of a version, else its sdist, or the file that was pinned."""
        path = self.index.fetch(name, version, work, file=(pinned or {}).get("file", ""), sdist=self.sdist)
        facts = {
            "kind": "wheel" if path.suffix == ".whl" else "sdist",
            "package": name,
            "version": version,
            "file": path.name,
            "sha256": _checked_hash(path, pinned),
        }
        return of_archive(path, repository_name(f"{name}-{version}"), facts)


def _checked_hash(path: Path, pinned: Mapping[str, Any] | None) -> str:
    """The SHA-256 of a fetched package; a TamperedError where another was pinned."""
    digest, expected = sha256_file(path), (pinned or {}).get("sha256")
    if expected and digest != expected:
        raise TamperedError(f"{path.name} has SHA-256 {digest}, and not {expected}; the index serves another file")
    return digest


KINDS: Mapping[str, type[Npm | PyPI]] = {"npm": Npm, "pypi": PyPI, "sdist": PyPI}
"""Kind of registry -> its class: how a source is written, and the registry itself."""

ARCHIVES = (".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".crate", ".gem")
"""Endings of the names of archives."""


def open_origin(source: str, work: Path) -> Origin:
    """Open a source, fetching it into the folder `work` where it is a package.

    UsageError: what the text names does not exist or is not of a known form. DatasetError: it cannot be fetched or
    read.
    """
    kind, colon, rest = source.partition(":")
    if colon and kind in KINDS:
        written = KINDS[kind]
        match = written.spec.fullmatch(rest.strip())
        if match is None:
            raise UsageError(
                f"the source {source!r} is not of the form {kind}:{written.form}, such as {kind}:{written.example}"
            )
        with open_registry(kind) as registry:
            return registry.open_release(match["name"], match["version"], work)
    refuse_address(source)
    path = Path(source).expanduser()
    if path.is_dir():
        return open_folder(path)
    if path.is_file():
        if not path.name.lower().endswith(ARCHIVES):
            raise UsageError(
                f"the source {source!r} is neither a folder nor an archive; archives end in {', '.join(ARCHIVES)}"
            )
        stem = path.name[: -max(len(ending) for ending in ARCHIVES if path.name.lower().endswith(ending))]
        facts = {"kind": "archive", "file": path.name, "sha256": sha256_file(path)}
        return of_archive(path, repository_name(stem), facts)
    raise UsageError(
        f"the source {source!r} does not exist; name a folder, an archive, pypi:NAME==VERSION or npm:NAME@VERSION"
    )


# The start of an address: with its scheme, in the short form of ssh, or without the scheme of a host of checkouts.
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]+://|[\w.-]+@[\w.-]+:|(?:github|gitlab|bitbucket|codeberg)\.\w+/", re.IGNORECASE
)


def refuse_address(source: str) -> None:
    """Raise a UsageError with the way out if a source is an address: nothing is cloned or fetched from one."""
    if _ADDRESS.match(source) and not Path(source).exists():
        raise UsageError(
            f"the source {source!r} is an address; clone it with git or download it, and name the folder or archive"
        )


@contextmanager
def open_registry(kind: str) -> Iterator[Npm | PyPI]:
    """The registry of a kind, `pypi`, `sdist` or `npm`, as the user's own settings name it."""
    if kind == "npm":
        yield Npm()
        return
    with open_index() as index:
        yield PyPI(index, sdist=kind == "sdist")
