"""Make the next edition of a shipped pack: choose packages by its recipe, build the pack, write its facts to a folder.

Run it as python scripts/refresh_pack.py npm-12 --edition 2027-06 --before 2027-06-01; PACK may be a recipe's file too.
The folder has names, hashes and lines of tasks, and no code; it can be a --source.

A recipe is a file of names and criteria, written by hand. Each candidate is looked up in the user's own registry, in
the recipe's order, until its list has enough. Nothing of a package is built or run, and no score is computed.
"""

import argparse
import hashlib
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from importlib.metadata import requires
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from _listing import SOURCES, Release, licence, releases
from _shipping import ship
from packaging.utils import canonicalize_name
from pydantic import Field

from repoeval_bench.core.errors import BenchError, DatasetError, UsageError, all_mistakes, nearest
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.notices import NOTICES, show_notices
from repoeval_bench.core.strict_yaml import Strict, read_yaml
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import PackFile, new_folder, new_target
from repoeval_bench.dataset.reading.code import Origin
from repoeval_bench.dataset.reading.opening import Npm, PyPI, open_registry
from repoeval_bench.own.packs.pack import build_pack
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.own.questions.documented import documented

_Whole = Annotated[int, Field(ge=0)]


class Bounds(Strict):
    """Bounds of a package: the fewest and the most `lines`; the other fields are minima.

    Lines and files are of code in the recipe's languages. `functions` are candidates for function tasks, `documented`
    those of them for `docstring`. `upload_days` are the days on which a new package was uploaded.
    """

    lines: Annotated[list[_Whole], Field(min_length=2, max_length=2)]
    files: _Whole
    functions: _Whole
    documented: _Whole
    upload_days: _Whole = 0


class Recipe(Strict):
    """Names by domain, of which `established` are taken from each, and `recent` names, of which `new` are taken.

    `tasks` are those of the whole pack. A recent one counts as new if its first upload is on `new_since` or later.
    """

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    registry: Literal["pypi", "npm"]
    languages: Annotated[list[str], Field(min_length=1)]
    tasks: Annotated[int, Field(ge=1)]
    established: _Whole
    domains: dict[str, list[str]]
    bounds: Bounds
    new: _Whole = 0
    new_since: str = ""
    recent: list[str] = Field(default_factory=list)


def read_recipe(pack: str) -> Recipe:
    """Read the recipe of a shipped pack, or of a file; a UsageError names every mistake."""
    known = {path.stem: path for path in (shipped("packs") or Path()).glob("*.yaml")}
    path = known.get(pack) or Path(pack).expanduser()
    if not path.is_file():
        raise UsageError(f"{nearest('pack', pack, known)} (a recipe's file is one too)")
    recipe = read_yaml(path, "write it as data/packs/pypi-40.yaml is written").read(Recipe)
    if unknown := [language for language in recipe.languages if language not in LANGUAGES]:
        raise UsageError(f"{path}: {all_mistakes(nearest('language', name, LANGUAGES) for name in unknown)}")
    return recipe


PERMISSIVE = frozenset(
    {"0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Python-2.0"}
    | {"Unlicense"}
)
"""SPDX identifiers; the classifier BSD stands for either BSD licence."""

REPOEVAL = frozenset(
    {"trlx", "patchcore", "tracr", "omnivore", "lightweight-mmm", "betty-ml", "imagen-pytorch", "redframes"}
)
"""Names that RepoEval's repositories may have in an index."""

TAKEN_BEFORE = frozenset({"packaging"})
"""Packages that were in an edition before this project depended on them; the next edition may have them too."""


class ChosenPackage(NamedTuple):
    """A package that met the criteria, with the facts that the pack states on it."""

    name: str
    version: str
    facts: dict[str, Any]


class LeftOutError(Exception):
    """The reason why a candidate was left out."""


def refresh_pack(recipe: Recipe, version: str, before: str, out: Path | str) -> PackFile:
    """Write the facts of a new edition to the folder `out`, which must not exist yet or be empty; return its manifest.

    A `version` is a year and a month such as `2027-06`; releases before the day `before` (`2027-06-01`) are taken.
    The folder is a `--source`, like a shipped pack. A notice names each candidate that was looked up. DatasetError: a
    list has too few packages that meet the criteria. After an error nothing is written.
    """
    target = new_target(out, "edition")
    with open_registry(recipe.registry) as registry:
        chosen = list(choose_packages(recipe, version, before, registry))
    sources = tuple(SOURCES[recipe.registry].format(package.name, package.version) for package in chosen)
    languages, name = tuple(recipe.languages), f"{recipe.name}@{version}"
    build = BuildRequest(sources=sources, tasks=recipe.tasks, languages=languages, name=name)
    with new_folder(target) as folder, tempfile.TemporaryDirectory(prefix="edition-") as work:
        pack = build_pack(build, Path(work) / "pack")
        return ship(pack, folder, [release.facts for release in chosen])


def choose_packages(recipe: Recipe, version: str, before: str, registry: Npm | PyPI) -> Iterator[ChosenPackage]:
    """Yield the packages of an edition, in the order of the recipe; a DatasetError if a list has too few."""
    lists = [(domain, names, recipe.established, "") for domain, names in recipe.domains.items()]
    lists.append(("new", recipe.recent, recipe.new, recipe.new_since))
    for domain, names, number, since in lists:
        n_chosen = 0
        for name in in_order(names, f"{recipe.name}@{version}:"):
            if n_chosen == number:
                break
            try:
                release = examined(registry, name, recipe, before, since)
            except (LeftOutError, DatasetError) as reason:
                NOTICES.info(f"left out {name}: {reason}")
                continue
            n_chosen += 1
            facts = ", ".join(f"{key} {value}" for key, value in release.facts.items())
            NOTICES.info(f"{domain}: {name} {release.version}, {facts}")
            yield release._replace(facts=release.facts | {"domain": domain})
        if n_chosen < number:
            raise DatasetError(
                f"{domain} has {n_chosen} of {number} packages; add names to the recipe of {recipe.name}"
            )


def in_order(names: Sequence[str], salt: str) -> list[str]:
    """Return the names in the order of their hashes."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{salt}{name}".encode()).hexdigest())


def examined(registry: Npm | PyPI, name: str, recipe: Recipe, before: str, since: str = "") -> ChosenPackage:
    """Return the newest final release before a day; a LeftOutError says which criterion it does not meet."""
    if recipe.registry == "pypi" and canonicalize_name(name) in _own_dependencies() | REPOEVAL:
        raise LeftOutError("it is a dependency of this project, or a repository of RepoEval")
    bounds = recipe.bounds
    listed = releases(registry, name)
    days = sorted({_day(dated.uploaded) for dated in listed if dated.uploaded})
    if not days:
        raise LeftOutError(f"the {recipe.registry} registry does not say when it was uploaded")
    if since and days[0] < since:
        raise LeftOutError(f"its first release is of {days[0]}")
    if since and sum(day < before for day in days) < bounds.upload_days:
        raise LeftOutError(f"it was uploaded on {sum(day < before for day in days)} days")
    release = _newest(listed, before)
    with tempfile.TemporaryDirectory(prefix="choose-") as work:
        origin = registry.open_release(name, release.version, Path(work))
        (path,) = Path(work).iterdir()
        stated = _permissive(licence(registry, path))
        _check_size(origin, Path(work) / "pack", recipe)
    # A mirror of npm's registry says when it got a version, which for old ones is years later.
    first = {"first_release": days[0]} if recipe.registry == "pypi" else {}
    return ChosenPackage(name, release.version, {"licence": stated, **first, "released": _day(release.uploaded)})


def _newest(listed: Sequence[Release], before: str) -> Release:
    for release in listed:
        if release.is_final and release.uploaded and _day(release.uploaded) < before:
            return release
    raise LeftOutError(f"it has no final release before {before}")


def _day(when: datetime | None) -> str:
    return when.date().isoformat() if when else ""


def _permissive(stated: str) -> str:
    """Return the stated licence; a LeftOutError if none is stated, or it is not permissive."""
    if not stated:
        raise LeftOutError("its licence is not stated")
    if any(one not in PERMISSIVE for one in re.split(r" AND | OR |[() ]+", stated) if one):
        raise LeftOutError(f"its licence is {stated}")
    return stated


def _check_size(origin: Origin, folder: Path, recipe: Recipe) -> None:
    """Raise a LeftOutError if a package is too small or too large, or has too few functions."""
    request = BuildRequest(sources=(origin.name,), languages=tuple(recipe.languages), tasks=20, resolve="no")
    pack = build_pack(request, folder, opener=lambda *_: origin)
    (source,) = pack.content.sources
    files, lines = sum(source.files.values()), sum(source.lines.values())
    functions = pack.content.levels["function"].candidates
    bounds = recipe.bounds
    if files < bounds.files:
        raise LeftOutError(f"{files} files of code")
    if not bounds.lines[0] <= lines <= bounds.lines[1]:
        raise LeftOutError(f"{lines:,} lines of code")
    if not functions or functions < bounds.functions:
        raise LeftOutError(f"{functions} functions that could be tasks")
    n_documented = 0
    with suppress(DatasetError):  # none is documented
        n_documented = len(documented(load_benchmark(folder)).tasks)
    if n_documented < bounds.documented:
        raise LeftOutError(f"{n_documented} documented functions")


def _own_dependencies() -> frozenset[str]:
    """Return the names of this project's own dependencies, with all its extras."""
    names = (re.split(r"[^\w.-]", stated, maxsplit=1)[0] for stated in requires("repoeval-bench") or [])
    return frozenset(map(canonicalize_name, names)) - TAKEN_BEFORE


def main(arguments: Sequence[str] | None = None) -> int:
    """Write an edition to a folder; return 2 for a mistake in the request, 1 if too few packages meet the criteria."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", help="the name of a shipped pack, or the file of a recipe")
    parser.add_argument("--edition", dest="version", required=True, metavar="YYYY-MM", help="the edition's name")
    parser.add_argument(
        "--before", required=True, type=date.fromisoformat, metavar="YYYY-MM-DD", help="take releases from before"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FOLDER", help="the new folder; packs/NAME@EDITION")
    options = parser.parse_args(arguments)
    show_notices(lambda line: print(line, file=sys.stderr))
    try:
        recipe = read_recipe(options.pack)
        folder = options.out or Path("packs") / f"{recipe.name}@{options.version}"
        content = refresh_pack(recipe, options.version, options.before.isoformat(), folder)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    print(*(source.repository for source in content.sources), sep="\n")
    print(f"try it: repoeval-bench eval --source {folder} --retriever bm25 -c fixed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
