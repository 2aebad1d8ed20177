"""Choose the packages of a shipped pack by its recipe, and build the edition from them.

    python scripts/choose_packages.py pypi-40 --edition 2026-11 --before 2026-11-01

Each candidate is looked up in the index of pip's settings, in the recipe's order, until enough of its list are taken;
why one was left out is printed. Nothing of a package is built or run, and no score is computed. The next edition is the
same command with another `--edition` and `--before`.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
from dataclasses import dataclass
from datetime import date  # noqa: TC003  # pydantic reads it
from email.parser import HeaderParser
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.build.edition import ship
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.dataset.build.pypi import open_release
from repoeval_bench.dataset.documented import documented
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.sources.index_client import open_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from repoeval_bench.dataset.sources.index_client import Index, Release

ROOT = Path(__file__).resolve().parents[1]
PACKS = ROOT / "data" / "packs"

PERMISSIVE = {
    "0BSD": "Zero-Clause BSD (0BSD)",
    "Apache-2.0": "Apache Software License",
    "BSD-2-Clause": "BSD License",
    "BSD-3-Clause": "BSD License",
    "ISC": "ISC License (ISCL)",
    "MIT": "MIT License",
    "MIT-0": "MIT No Attribution License (MIT-0)",
    "PSF-2.0": "Python Software Foundation License",
    "Python-2.0": "Python Software Foundation License",
    "Unlicense": "The Unlicense (Unlicense)",
}
"""SPDX identifier -> the classifier that says so."""

REPOEVAL = frozenset(
    {"trlx", "patchcore", "tracr", "omnivore", "lightweight-mmm", "betty-ml", "imagen-pytorch", "redframes"}
)
"""RepoEval's repositories by the names that an index may have them under."""


class Bounds(BaseModel):
    """What a package has at least and at most; see the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lines: tuple[int, int]
    files: int
    functions: int
    documented: int
    upload_days: int


class Recipe(BaseModel):
    """How a pack's packages are chosen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    tasks: int
    established: int
    new: int
    new_since: date
    domains: dict[str, list[str]]
    recent: list[str]
    bounds: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A package that met the criteria."""

    name: str
    version: str
    facts: dict[str, Any]


class LeftOutError(Exception):
    """Why a candidate was left out."""


def chosen(recipe: Recipe, edition: str, before: str) -> Iterator[Chosen]:
    """The packages of an edition, in the order of the recipe; prints each candidate that was looked up."""
    lists = [(domain, names, recipe.established, "") for domain, names in recipe.domains.items()]
    lists.append(("new", recipe.recent, recipe.new, recipe.new_since.isoformat()))
    with open_index() as index:
        for domain, names, wanted, since in lists:
            taken = 0
            for name in in_order(names, f"{recipe.name}@{edition}:"):
                if taken == wanted:
                    break
                try:
                    found = examined(index, name, recipe.bounds, before, since)
                except (LeftOutError, DatasetError) as reason:
                    print(f"  left out {name}: {reason}", flush=True)
                    continue
                taken += 1
                found.facts["domain"] = domain
                print(f"{domain}: {name}=={found.version} {found.facts}", flush=True)
                yield found
            if taken < wanted:
                sys.exit(f"{domain} has {taken} of {wanted} packages; add names to the recipe")


def in_order(names: Sequence[str], salt: str) -> list[str]:
    """The names in the order of the hash."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{salt}{name}".encode()).hexdigest())


def examined(index: Index, name: str, bounds: Bounds, before: str, since: str) -> Chosen:
    """The newest final release before a day if it meets the criteria; else a LeftOutError says which it does not."""
    if normalized(name) in own_dependencies() | REPOEVAL:
        raise LeftOutError("it is a dependency of this project, or a repository of RepoEval")
    releases = index.releases(name)
    days = sorted({day(each.uploaded) for each in releases if each.uploaded})
    if not days:
        raise LeftOutError("the index does not say when it was uploaded")
    if since and days[0] < since:
        raise LeftOutError(f"its first release is of {days[0]}")
    if since and sum(each < before for each in days) < bounds.upload_days:
        raise LeftOutError(f"it was uploaded on {sum(each < before for each in days)} days")
    release = newest(releases, before)
    with tempfile.TemporaryDirectory(prefix="choose-") as work:
        origin = open_release(index, name, release.version, Path(work))
        path = Path(work) / str(origin.facts["file"])
        licence = licence_of(path)
        files, lines, functions, asked = counted(path, Path(work) / "pack")
    if files < bounds.files:
        raise LeftOutError(f"{files} files of Python")
    if not bounds.lines[0] <= lines <= bounds.lines[1]:
        raise LeftOutError(f"{lines:,} lines of Python")
    if functions < bounds.functions:
        raise LeftOutError(f"{functions} functions that could be tasks")
    if asked < bounds.documented:
        raise LeftOutError(f"{asked} documented functions")
    facts = {"licence": licence, "first_release": days[0], "released": day(release.uploaded)}
    return Chosen(name=name, version=release.version, facts=facts)


def newest(releases: Sequence[Release], before: str) -> Release:
    """The newest final release that was uploaded before a day."""
    found = next((each for each in releases if each.is_final and each.uploaded and day(each.uploaded) < before), None)
    if found is None:
        raise LeftOutError(f"it has no final release before {before}")
    return found


def day(when: datetime | None) -> str:
    """The day of an upload."""
    return when.date().isoformat() if when else ""


def licence_of(path: Path) -> str:
    """The permissive licence of the package by its own metadata; a LeftOutError where it states none, or another."""
    headers = HeaderParser().parsestr(metadata(path))
    stated = headers["License-Expression"]
    if stated:
        if any(each not in PERMISSIVE for each in re.findall(r"[\w.+-]+", re.sub(r"\b(AND|OR)\b", " ", stated))):
            raise LeftOutError(f"its licence is {stated}")
        return str(stated)
    known = {classifier: spdx for spdx, classifier in reversed(PERMISSIVE.items())}
    classifiers = [each.rpartition(" :: ")[2] for each in headers.get_all("Classifier", []) if "License ::" in each]
    if not classifiers or any(each not in known for each in classifiers):
        raise LeftOutError(f"its licence is not among the permissive ones ({', '.join(classifiers) or 'not stated'})")
    return " AND ".join("BSD" if each == "BSD License" else known[each] for each in classifiers)


def metadata(path: Path) -> str:
    """The metadata of a wheel or an sdist."""
    for member in read_archive(path):
        parts = member.name.split("/")
        outermost = len(parts) == 2 and (parts[0].endswith(".dist-info") or path.suffix != ".whl")
        if outermost and parts[1] in {"METADATA", "PKG-INFO"}:
            return member.read().decode("utf-8", "replace")
    raise LeftOutError("it has no metadata")


def counted(path: Path, folder: Path) -> tuple[int, int, int, int]:
    """Files and lines of Python, candidates for function tasks, and documented functions of a package."""
    request = BuildRequest(sources=(str(path),), languages=("python",), tasks=20, resolve="no")
    pack = build_pack(request, folder)
    (source,) = pack.content.sources
    functions = pack.content.levels["function"].candidates
    if not functions:
        raise LeftOutError("no function that could be a task")
    asked = len(documented(load_benchmark(folder)).tasks)
    return source.files["python"], source.lines["python"], functions, asked


def own_dependencies() -> frozenset[str]:
    """Names of what this project depends on by itself, with all its extras."""
    stated = requires("repoeval-bench") or []
    return frozenset(normalized(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in stated)


def normalized(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Choose, build, and write what ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", help="a recipe of data/packs, such as pypi-40")
    parser.add_argument("--edition", required=True, metavar="YYYY-MM")
    parser.add_argument("--before", required=True, metavar="YYYY-MM-DD", help="take releases from before this day")
    parser.add_argument("--keep", type=Path, help="keep the whole pack, with its sources, in this new folder")
    asked = parser.parse_args()
    recipe = Recipe.model_validate(yaml.safe_load((PACKS / f"{asked.pack}.yaml").read_text("utf-8")))
    taken = list(chosen(recipe, asked.edition, asked.before))
    name = f"{recipe.name}@{asked.edition}"
    request = BuildRequest(
        sources=tuple(f"pypi:{each.name}=={each.version}" for each in taken),
        tasks=recipe.tasks,
        languages=("python",),
        name=name,
    )
    with tempfile.TemporaryDirectory(prefix="edition-") as work:
        pack = build_pack(request, asked.keep or Path(work) / "pack", notify=print)
        ship(pack, PACKS / name, [each.facts for each in taken])
    print(f"{name}: {len(taken)} packages, in {PACKS / name}")


if __name__ == "__main__":
    main()
