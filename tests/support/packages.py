"""Packages as registries have them: archives, pages about them, and settings by which pip and npm ask a test's server."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile

from repoeval_bench.dataset.sources import package_index


def wheel(files, info, metadata):
    """Return a wheel whose folder of metadata is `info`; the same content gives the same bytes."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, content in {**files, f"{info}.dist-info/METADATA": metadata}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return raw.getvalue()


def tarball(files, *, mode="w:gz", links=()):
    """Return a tar archive; `links` are pairs of a name and what it leads to."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return raw.getvalue()


def npm_page(name, version, url, raw):
    """Return what npm's registry says of a package whose tarball has these bytes."""
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(raw).digest()).decode()}"
    dist = {"tarball": url, "integrity": integrity}
    row = {"name": name, "version": version, "license": "MIT", "dist": dist}
    return json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: row}}).encode()


def ask_pip(patch, url):
    """Let pip ask this index alone, whatever the user's settings are.

    pip itself is asked for its settings by `dataset/test_package_index.py` alone: that takes a process each time.
    """
    patch.setattr(package_index, "pip_settings", lambda: {"index-url": url})
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT"):
        patch.delenv(name, raising=False)
    patch.setenv("PIP_CONFIG_FILE", "/dev/null")
    patch.setenv("PIP_INDEX_URL", url)


def ask_npm(patch, url, folder):
    """Let npm ask this registry alone, once, with a cache and settings in `folder`."""
    for name, value in {"registry": url, "cache": folder, "userconfig": folder / "npmrc", "fetch_retries": 0}.items():
        patch.setenv(f"npm_config_{name}", str(value))
