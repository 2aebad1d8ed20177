"""A benchmark as a YAML file: the runs to make and compare.

Its keys are the fields of a request; a combined field is a list. A field that is left out has the default of `eval`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model, field_validator

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import SpecError, UsageError, all_mistakes, nearest
from repoeval_bench.core.strict_yaml import Document, KeyPath, Strict, read_yaml
from repoeval_bench.dataset.home import shipped as data_that_ships
from repoeval_bench.runs.problems import Problem, Problems, check_requests
from repoeval_bench.runs.request import ComparisonRequest, RunRequest

_SHIPPED = ("repoeval", "leaderboard", "leaderboard-dense", "sensitivity")
_WAY_OUT = f"name a bench file, or one that ships: {', '.join(_SHIPPED[:-1])} or {_SHIPPED[-1]}"
_SETS = frozenset({"all", "six"})


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Several = Annotated[list[str], BeforeValidator(_several)]
_Some = Annotated[_Several, Field(min_length=1)]


class _FileKeys(Strict):
    """Fields of a file that are not those of requests."""

    dataset: Literal["repoeval"] = "repoeval"
    repositories: _Some | None = None
    compare: bool = True

    @field_validator("repositories")
    @classmethod
    def _a_set_or_names(cls, names: list[str] | None) -> list[str] | None:
        sets = _SETS & set(names or ())
        if sets and len(names or ()) > 1:
            raise ValueError(f"{next(iter(sets))!r} is a set; give it alone, or give names alone")
        return names


# Field of a request -> the file's key. The fields `repositories` (a set) and `repos` (names) share one key.
_KEYS = {name: option.key or name for name, option in RunRequest.options().items()}

_COMBINED = tuple(name for name, option in RunRequest.options().items() if option.combined)


def _file_fields() -> dict[str, Any]:
    """Key -> (type, default): a list if the field is combined or has several values."""
    fields: dict[str, Any] = {}
    for model in (RunRequest, ComparisonRequest):
        for name, field in model.model_fields.items():
            kind: Any = field.rebuild_annotation()
            if name in _COMBINED or "tuple" in str(field.annotation):
                kind = _Several if name == "chunker" else _Some
            if _KEYS.get(name) != "repositories":
                fields[_KEYS.get(name, name)] = (kind | None, None)
    return fields


BenchmarkFile = create_model("BenchmarkFile", __base__=_FileKeys, **_file_fields())
"""The whole file."""


@dataclass(frozen=True, slots=True)
class Benchmarking:
    """A checked file: its requests, whether they are compared, and the baseline's index among a setting's chunkers."""

    requests: tuple[RunRequest, ...]
    compares: bool
    baseline: int | None
    equivalence: float | None


def shipped(name: str) -> Path | None:
    """Return the file of a benchmark that ships with the package, by name; None for another name."""
    return data_that_ships(f"{name.removesuffix('.yaml')}.yaml") if Path(name).name == name else None


def find_benchmark(name: str) -> Path:
    """Return the path of a file, or of a benchmark that ships; a UsageError with near names for any other name."""
    if Path(name).is_file():
        return Path(name)
    if path := shipped(name):
        return path
    if Path(name).exists() or Path(name).name != name:
        return Path(name)
    raise UsageError(nearest("benchmark", name, _SHIPPED, _WAY_OUT))


def read_benchmark(path: Path, given: Mapping[str, Any]) -> Benchmarking:
    """Read and check a file; `given` are fields that override it.

    One UsageError names all mistakes in the order of their lines.
    """
    document = read_yaml(path, _WAY_OUT)
    problems = document.problems(BenchmarkFile)
    if not isinstance(document.content, dict):
        document.read(BenchmarkFile)
    malformed = {location[0] for location, _ in problems}
    content = {key: value for key, value in document.content.items() if key not in malformed}
    file = BenchmarkFile.model_validate(content).model_dump(exclude_none=True)
    file |= {_KEYS[name]: [value] for name, value in given.items() if name in _COMBINED}
    base = RunRequest.of(_fields(file) | dict(given))
    requests = list(_requests(file, base))
    collected = Problems()
    baseline: int | None = None
    with collected.about("compare"):
        if not file["compare"] and {"baseline", "equivalence"} & file.keys():
            raise UsageError("compare: false compares nothing; leave it out, or baseline and equivalence")
    if "chunkers" in file or not malformed:
        with collected.about("baseline"):
            baseline = _position(file.get("baseline"), file.get("chunkers", []))
    check_requests(requests, collected)
    others = [(_key_path(problem, document), problem.sentence) for problem in collected.mistakes]
    # A mistake that follows from a malformed key is not reported; an unknown key may be the misspelling of any key.
    misspelt = not malformed <= BenchmarkFile.model_fields.keys()
    problems += [
        problem
        for problem in others
        if malformed.isdisjoint(problem[0][:1]) and (document.line(problem[0]) or not misspelt)
    ]
    if problems:
        ordered = sorted(problems, key=lambda problem: document.line(problem[0]))
        sentences = (f"{document.where(location)}: {sentence}" for location, sentence in ordered)
        raise UsageError(all_mistakes(sentences, document.path))
    different: dict[tuple[str | None, ...], RunRequest] = {}
    for request in requests:  # one for all embedders where none is needed
        different.setdefault((request.chunker, *request.combination().values()), request)
    return Benchmarking(tuple(different.values()), file["compare"], baseline, file.get("equivalence"))


def _fields(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that are the same for all runs."""
    single = [name for name in _KEYS if name not in _COMBINED and _KEYS[name] != "repositories"]
    fields = {name: file[_KEYS[name]] for name in single if _KEYS[name] in file}
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    names = tuple(file.get("repositories", ()))
    if not names:
        return fields
    return fields | ({"repositories": names[0]} if _SETS.issuperset(names) else {"repos": names})


def _requests(file: Mapping[str, Any], base: RunRequest) -> Iterator[RunRequest]:
    """Yield every combination; the chunkers of one setting follow each other."""
    combined = [name for name in _COMBINED if name != "chunker"] + ["chunker"]
    # A chunker that is named twice is a mistake; a repeated value of another field counts once.
    values = [
        list(dict.fromkeys(choices)) if name != "chunker" else choices
        for name in combined
        for choices in [file.get(_KEYS[name]) or [getattr(base, name)]]
    ]
    for combination in product(*values):
        yield base.model_copy(update=dict(zip(combined, combination, strict=True)))


def _position(baseline: str | None, chunkers: Sequence[str]) -> int | None:
    """Return the index of the baseline among the chunkers; None without a baseline, or if a chunker is misspelt."""
    if baseline is None or baseline in chunkers:
        return None if baseline is None else chunkers.index(baseline)
    spec = make_chunker(baseline).spec
    try:
        specs = [make_chunker(chunker).spec for chunker in chunkers]
    except SpecError:  # reported as a mistake of the chunkers; the baseline may be the misspelt one
        return None
    if spec in specs:
        return specs.index(spec)
    raise UsageError(f"baseline {baseline!r} is not one of the chunkers; choose from {', '.join(specs) or 'none'}")


def _key_path(problem: Problem, document: Document) -> KeyPath:
    key = _KEYS.get(problem.option, problem.option)
    values = document.content.get(key)
    if isinstance(values, list) and problem.value in values:
        return (key, values.index(problem.value))
    return (key,)
