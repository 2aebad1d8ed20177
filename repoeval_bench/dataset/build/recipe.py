"""How the packages of a shipped pack are chosen: its recipe, a file of names and criteria that people write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.strict_yaml import Strict, read_yaml
from repoeval_bench.dataset.shipped import recipes

_Whole = Annotated[int, Field(ge=0)]


class Bounds(Strict):
    """What a package has: `lines`, the fewest and the most, and of the others at least so many.

    Lines and files are of code in the recipe's languages, `functions` are candidates for function tasks, `documented`
    those that `docstring` asks for, `upload_days` the days on which a new package was uploaded.
    """

    lines: Annotated[list[_Whole], Field(min_length=2, max_length=2)]
    files: _Whole
    functions: _Whole
    documented: _Whole
    upload_days: _Whole = 0


class Recipe(Strict):
    """Names by domain, of which `established` each are taken, and `recent` ones, of which `new` are.

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
    """The recipe of a shipped pack's name, or of a file of your own; a UsageError with everything that is wrong."""
    known = recipes()
    path = known.get(pack) or Path(pack).expanduser()
    if not path.is_file():
        raise UsageError(f"{nearest('pack', pack, known)} (a recipe's file is one too)")
    document = read_yaml(path, "write it as data/packs/pypi-40.yaml is written")
    wrong = [f"{document.where(place)}: {problem}" for place, problem in document.problems(Recipe, {"bounds": Bounds})]
    if wrong:
        raise UsageError(all_mistakes(wrong))
    recipe = Recipe.model_validate(document.content)
    if wrong := [nearest("language", each, LANGUAGES) for each in recipe.languages if each not in LANGUAGES]:
        raise UsageError(f"{path}: {all_mistakes(wrong)}")
    return recipe
