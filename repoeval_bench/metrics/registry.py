"""The table of measures, and `Measure`: one of them with its k and options, parsed and printed back.

A new measure is a file with a `DEFINITIONS` tuple, named here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.metrics import diversity, graded, lines, ranked, sets, spans, subtopics
from repoeval_bench.metrics.reading import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from repoeval_bench.metrics.definition import Definition, Value
    from repoeval_bench.metrics.judged import FloatArray, Judged

FAMILIES = {
    "set": sets.DEFINITIONS,
    "rank": ranked.DEFINITIONS,
    "graded": graded.DEFINITIONS,
    "diversity": (*diversity.DEFINITIONS, *subtopics.DEFINITIONS),
    "lines": lines.DEFINITIONS,
    "spans": spans.DEFINITIONS,
}
"""family -> its measures, in the order they are listed."""

REGISTRY: Mapping[str, Definition] = {d.name: d for family in FAMILIES.values() for d in family}
"""canonical name -> measure."""

_BY_NAME = {name: d for d in REGISTRY.values() for name in (d.name, *d.aliases)}

DEFAULT_MEASURES = (
    "ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5", "precision@10", "hit@5", "hit@10", "mrr",
)  # fmt: skip
"""What is scored where nothing is named and only a ranking and its judgements are at hand."""

LINE_MEASURES = ("line_rprec", "line_recall_auc", *(f"line_recall@{budget}" for budget in BUDGETS))
"""The headline of every comparison of chunkers: the same documents, lines, for all of them."""

EVAL_MEASURES = (*LINE_MEASURES, *DEFAULT_MEASURES)
"""What an evaluation scores where nothing is named; it has the files' lines at hand."""

_WORDS = re.compile(r"(?P<name>[A-Za-z][\w-]*)\s*(?:\((?P<options>.*)\))?\s*\Z")
_SUFFIX = re.compile(r"(?P<body>.+?)_(?:at_|cut_)?(?P<k>\d+)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its k and options. Two are equal where they mean the same.

    >>> str(Measure.parse("nDCG_at_10"))
    'ndcg@10'
    >>> str(Measure.parse("ndcg(gain=exp)@10"))
    'ndcg(gain=exp)@10'
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `name@k`, `name_at_k`, `name(option=value)@k`, in any case, under any alias.

        Unknown names (the nearest is offered), k < 1 and impossible options are a UsageError.
        """
        return cls._parse(text, strict=True)

    @classmethod
    def parse_name(cls, text: str) -> Self:
        """Read as `parse` does, but let a measure without the cutoff that it must have pass: to be explained."""
        return cls._parse(text, strict=False)

    @classmethod
    def _parse(cls, text: str, *, strict: bool) -> Self:
        body, cutoff = _split(text.strip())
        match = _WORDS.match(body)
        if not match:
            raise UsageError(f"{text!r} is no measure; write one as ndcg@10 or ndcg(gain=exp)@10")
        name = match["name"].lower().replace("-", "_")
        if name not in _BY_NAME:
            raise UsageError(nearest("measure", name, REGISTRY))
        definition = _BY_NAME[name]
        k = None if cutoff is None and not strict else _cutoff(text, definition, cutoff)
        return cls(definition.name, k, _options(text, definition, match["options"] or ""))

    @property
    def definition(self) -> Definition:
        """What the registry says of it."""
        return REGISTRY[self.name]

    @property
    def needs(self) -> frozenset[str]:
        """Inputs it is computed from: `ranking`, and fields of `Context`."""
        return self.definition.needs

    @property
    def alias(self) -> str:
        """The name without punctuation for k, such as `ndcg_at_10`; it parses back to the same measure."""
        return str(self).replace("@", "_at_")

    def __call__(self, judged: Judged) -> FloatArray:
        """Its value for every query, float64 (n_queries,)."""
        definition = self.definition
        options = {key: option.default for key, option in definition.options.items()}
        return definition(judged, self.k, {**options, **dict(self.options)})

    def __str__(self) -> str:
        options = ",".join(f"{key}={_plain(value)}" for key, value in self.options)
        return self.name + (f"({options})" if options else "") + ("" if self.k is None else f"@{self.k}")


def is_measure(text: str) -> bool:
    """Whether a text starts with the name or an alias of a measure, whatever its cutoff and options are."""
    match = _WORDS.match(_split(text.strip())[0])
    return match is not None and match["name"].lower().replace("-", "_") in _BY_NAME


def parse_measures(measures: Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Measures in the order given, each once."""
    return tuple(dict.fromkeys(m if isinstance(m, Measure) else Measure.parse(m) for m in measures))


def inputs_of(measures: Iterable[str | Measure]) -> frozenset[str]:
    """All that the measures need: `ranking`, and the fields of `Context` that a caller must fill."""
    return frozenset().union(*(measure.needs for measure in parse_measures(measures)))


class Row(NamedTuple):
    """One measure as a table lists it."""

    name: str
    aliases: tuple[str, ...]
    meaning: str
    formula: str
    range: str
    source: str
    family: str
    needs: tuple[str, ...]


def catalogue() -> list[Row]:
    """Every measure of the registry, by family."""
    return [
        Row(_pattern(d), d.aliases, d.meaning, d.formula, d.range, d.source, family, tuple(sorted(d.needs)))
        for family, definitions in FAMILIES.items()
        for d in definitions
    ]


def _pattern(definition: Definition) -> str:
    whole, cut = definition.name, f"{definition.name}@{'k' if definition.unit == 'rank' else 'B'}"
    return {"must": cut, "may": f"{whole}, {cut}", "none": whole}[definition.cutoff]


def _split(text: str) -> tuple[str, str | None]:
    if "@" in text:
        body, _, cutoff = text.rpartition("@")
        return body, cutoff
    match = None if text.lower() in _BY_NAME else _SUFFIX.match(text)
    return (match["body"], match["k"]) if match else (text, None)


def _cutoff(text: str, definition: Definition, cutoff: str | None) -> int | None:
    example = f"{definition.name}@{10 if definition.unit == 'rank' else 1500}"
    if cutoff is None:
        if definition.cutoff == "must":
            raise UsageError(f"{text!r} has no cutoff; write it as {example}")
        return None
    if definition.cutoff == "none":
        raise UsageError(f"{text!r} has a cutoff, but {definition.name} takes none; write {definition.name}")
    if not re.fullmatch(r"[+-]?\d+", cutoff.strip()):
        raise UsageError(f"{text!r}: the cutoff {cutoff!r} is no whole number; write it as {example}")
    k = int(cutoff)
    if k < 1:
        raise UsageError(f"{text!r}: the cutoff is {k}, but must be at least 1; write it as {example}")
    return k


def _options(text: str, definition: Definition, given: str) -> tuple[tuple[str, Value], ...]:
    values: dict[str, Value] = {}
    for piece in filter(None, (part.strip() for part in given.split(","))):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key not in definition.options:
            raise UsageError(
                f"{text!r}: " + nearest(f"option of {definition.name}", key, definition.options)
                if definition.options
                else f"{text!r}: {definition.name} takes no options; write it without parentheses"
            )
        option = definition.options[key]
        try:
            values[key] = option.read(value)
        except ValueError:
            raise UsageError(f"{text!r}: {key}{equals}{value} is not possible; {key} is {option.wanted}") from None
    # The order of the definition, and nothing that is the default anyway: so equal measures are equal.
    return tuple(
        (key, values[key]) for key, o in definition.options.items() if key in values and values[key] != o.default
    )


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"
