"""A benchmark as a file: which runs are made and compared.

What the file leaves out is as `eval` has it. Only its shape is checked here; what its values mean is checked by the
very code that checks the command line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from repoeval_bench.core.strict_yaml import Strict
from repoeval_bench.runs.config import PACK


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Several = Annotated[list[str], BeforeValidator(_several)]
_Some = Annotated[_Several, Field(min_length=1)]


class BenchConfig(Strict):
    """The whole file. Where several protocols, retrievers or embedders are named, every combination is run.

    `repositories` is the protocol's choice (`all`, `six`) or the names of those whose tasks are wanted; `baseline` and
    `equivalence` are those of `compare`; the other keys are the options of `eval` under the same or the plural name.
    """

    pack: Annotated[str, Field(pattern=r"^[\w.-]+@[\w.-]+$")] = PACK
    dataset: Literal["repoeval"] = "repoeval"
    source: str | None = None
    level: str | None = None
    context: str | None = None
    tokenizer: str | None = None
    repositories: _Some | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    chunkers: _Several = Field(default_factory=list)
    match_size: str | None = None
    header: Literal["none", "path", "scope"] | None = None
    protocol: _Some | None = None
    query: str | None = None
    gold: str | None = None
    relevance: str | None = None
    exclusion: str | None = None
    copies: str | None = None
    scope: str | None = None
    retrievers: _Some | None = None
    embedder: _Some | None = None
    precision: Literal["auto", "fp32"] | None = None
    long_text: str | None = None
    k: int | None = None
    measures: _Some | None = None
    skip_errors: bool | None = None
    baseline: str | None = None
    equivalence: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None

    @field_validator("repositories")
    @classmethod
    def _a_set_or_names(cls, names: list[str] | None) -> list[str] | None:
        sets = {"all", "six"} & set(names or ())
        if sets and len(names or ()) > 1:
            raise ValueError(f"{sets.pop()!r} is a set; give it alone, or give names alone")
        return names


def shipped(name: str) -> Path | None:
    """The file of a benchmark that comes with the package, by name with or without `.yaml`; None for another name."""
    here = Path(__file__).resolve().parents[1]
    for folder in (here / "_data", here.parent / "data"):
        path = folder / f"{name.removesuffix('.yaml')}.yaml"
        if Path(name).name == name and path.is_file():
            return path
    return None
