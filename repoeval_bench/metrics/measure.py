"""A measure with its k and options, parsed from text such as `ndcg@10` and printed back."""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self, cast

import numpy as np

from repoeval_bench.core.errors import MetricError, SpecError, UsageError, nearest, of_each
from repoeval_bench.core.fields import read_options
from repoeval_bench.metrics.definition import MEASURES, MeasureDefinition, Value
from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun
from repoeval_bench.metrics.reading import BUDGETS

COVERAGE = {
    "judged@5": "Share of the first 5 that was judged, relevant or not.",
    "judged@10": "Share of the first 10 that was judged, relevant or not.",
}
"""name -> meaning of the measures that say how much was judged, and so not how well a run ranks."""

UNREGISTERED = COVERAGE | {
    "bpref": "Binary preference: how seldom a judged non-relevant chunk is ranked above a relevant one (trec_eval's)."
}
"""name -> meaning. Only imported runs have them: they need judgements of chunks that are not relevant."""

CEILING, SHARE = "_ceiling", "_share"
"""Endings of the columns that `with_ceiling` adds to those of measures."""

_WORDS = re.compile(r"(?P<name>py:[\w.]+:\w+|[A-Za-z]\w*(?:[ -]\w+)*)\s*(?:\((?P<options>.*)\))?\s*\Z")
# Unit of a cutoff -> the letter for it, and a value for examples.
_UNITS = {"rank": ("k", 10), "nws": ("B", 1500)}
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
    def parse(cls, text: str, *, strict: bool = True) -> Self:
        """Read `name@k`, `name_at_k`, `name(option=value)@k`, in any case, under any alias; `py:module:NAME@k`.

        Unknown names (the nearest is offered), k < 1 and impossible options are a UsageError. Unless `strict`, a
        measure may lack its required cutoff, so that it can be explained.
        """
        body, cutoff = _split(text.strip())
        match = _WORDS.match(body)
        if not match:
            raise UsageError(f"{text!r} is not a measure; write one as ndcg@10 or ndcg(gain=exp)@10")
        name = _canonical(match["name"], cutoff)
        definition = _definition(name)
        k = None if cutoff is None and not strict else _cutoff(text, name, definition, cutoff)
        return cls(name, k, _options(name, definition, match["options"] or ""))

    @property
    def definition(self) -> MeasureDefinition:
        """Its definition in the registry."""
        return _definition(self.name)

    def __call__(self, run: JudgedRun) -> FloatArray:
        """Its value for every query, float64 (n_queries,); a MetricError if it gives a value that is not finite."""
        values = self.definition(run, self.k, **dict(self.options))
        if not np.isfinite(values).all():
            query_id = run.query_ids[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise MetricError(f"{self} gives no finite number for query {query_id}; return one, such as 0")
        return values

    def __str__(self) -> str:
        options = ",".join(f"{key}={_plain(value)}" for key, value in self.options)
        return self.name + (f"({options})" if options else "") + ("" if self.k is None else f"@{self.k}")


def measure_of(column: str) -> Measure | None:
    """Return the measure of a stored column; None of a ceiling, a share, or a measure that is not registered here."""
    # A module that is not imported yet stays so: a run's folder does not choose what runs.
    if column.startswith("py:") and column.split(":")[1] not in sys.modules:
        return None
    try:
        return Measure.parse(column, strict=False)
    except UsageError:
        return None


def lower_is_better(column: str) -> bool:
    """Return whether less of a stored column is better; False of a name that is not a measure's."""
    measure = measure_of(column)
    return measure is not None and measure.definition.lower_is_better


def parse_measures(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Measures in the order given, each once; one text is one measure. One UsageError names all unknown ones."""
    several = [measures] if isinstance(measures, str | Measure) else measures
    return tuple(dict.fromkeys(of_each(lambda given: Measure.parse(str(given)), several)))


def inputs_of(measures: Iterable[str | Measure]) -> frozenset[str]:
    """All that the measures need: `ranking`, and the fields of `Context` that a caller must fill."""
    return frozenset().union(*(measure.definition.needs for measure in parse_measures(measures)))


def pattern(name: str, definition: MeasureDefinition) -> str:
    """Return how a measure is written: `name`, `name@k` for a rank, `name@B` for nws."""
    cut = f"{name}@{_UNITS[definition.unit][0]}"
    return {"must": cut, "may": f"{name}, {cut}", "none": name}[definition.cutoff]


def _split(text: str) -> tuple[str, str | None]:
    if "@" in text:
        body, _, cutoff = text.rpartition("@")
        return body, cutoff
    match = None if text.startswith("py:") or MEASURES.known(text.lower()) else _SUFFIX.match(text)
    return (match["body"], match["k"]) if match else (text, None)


def _canonical(text: str, cutoff: str | None) -> str:
    """Return the measure's name for a name or alias; a SpecError that offers the nearest where there is none."""
    if text.startswith("py:"):
        return text
    if text in {name.partition("@")[0] for name in UNREGISTERED}:
        raise SpecError(
            f"{text} is scored for every log that `repoeval-bench logs import` reads, and only there; leave it out"
        )
    name = re.sub("[ -]", "_", text.lower())
    if cutoff is not None and MEASURES.known(name) is None:
        names = [row.name for row in MEASURES if row.part and row.part.cutoff != "none"]
        raise SpecError(nearest("measure", text, names, listed_by="repoeval-bench list measures", ending=f"@{cutoff}"))
    return MEASURES.find(name).name


@lru_cache(maxsize=256)
def _definition(name: str) -> MeasureDefinition:
    row = MEASURES.find("py", name.removeprefix("py:")) if name.startswith("py:") else MEASURES.find(name)
    return cast("MeasureDefinition", row.part)


def _cutoff(text: str, name: str, definition: MeasureDefinition, cutoff: str | None) -> int | None:
    example = f"{name}@{_UNITS[definition.unit][1]}"
    if cutoff is None:
        if definition.cutoff == "must":
            raise UsageError(f"{text!r} has no cutoff; write it as {example}")
        return None
    if definition.cutoff == "none":
        raise UsageError(f"{text!r} has a cutoff, but {name} takes none; write {name}")
    if not re.fullmatch("[1-9][0-9]{0,11}", cutoff):
        raise UsageError(f"{text!r}: the cutoff {cutoff!r} is not a whole number from 1; write it as {example}")
    return int(cutoff)


def _options(name: str, definition: MeasureDefinition, given: str) -> tuple[tuple[str, Value], ...]:
    pieces = (piece.partition("=") for piece in given.split(",") if piece.strip())
    texts = {key.strip(): value.strip() for key, _, value in pieces}
    values = read_options(f"measure {name}", texts, definition.options)
    # In the order of the definition and without defaults, so that measures that mean the same are equal.
    return tuple((key, value) for key, value in values.items() if value != definition.options[key].default)


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


_CUTOFFS = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5", "precision@10", "hit@5", "hit@10")
DEFAULT_MEASURES = (*_CUTOFFS, "mrr")
"""The default measures when only a ranking and its judgements are available."""

LINE_MEASURES = ("line_rprec", "line_recall_auc", *(f"line_recall@{budget}" for budget in BUDGETS))
"""The first measures of a comparison of chunkers: lines are the same documents for all of them."""

TARGET_MEASURES = ("target_ndcg@10",)
"""Measures that come first where the gold is whole files."""

DEFINITION_MEASURES = ("definition_recall_auc", *(f"definition_recall@{budget}" for budget in BUDGETS))
"""Measures that come first where the gold is definitions."""

EVAL_MEASURES = (*LINE_MEASURES, *DEFAULT_MEASURES)
"""The default measures of an evaluation, which also has the files' lines."""


_FIRST_BY = {"lines": "new target lines per character", "definitions": "new definitions per character"}


def explain(name: str) -> str:
    """Meaning, formula, range, ceiling, bands it is read by, when not to use it, options, inputs and source, as text.

    An unknown measure is a UsageError that offers the nearest.
    """
    measure = Measure.parse(name, strict=False)
    definition = measure.definition
    rows = [
        ("formula", definition.formula),
        ("range", definition.range),
        ("ceiling", ceiling_of(definition.ceiling)),
        ("better", "lower" if definition.lower_is_better else ""),
        ("bands", ", ".join(f"from {low:g} {word}" if low else f"below {word}" for low, word in definition.bands)),
        ("avoid where", definition.avoid),
        *(
            (f"option {key}", f"{option.meaning}; default {option.default or 'none'}")
            for key, option in definition.options.items()
        ),
        ("characters", "counted without whitespace" if definition.unit == "nws" else ""),
        ("computed from", ", ".join(f"Context.{name}" for name in sorted(definition.needs))),
        ("also", ", ".join(definition.aliases)),
        ("source", definition.source),
    ]
    width = max(len(label) for label, _ in rows)
    lines = [f"{measure}: {definition.meaning}"]
    lines.extend(f"  {label:<{width}}  {text}" for label, text in rows if text)
    return "\n".join(lines)


def ceiling_of(kind: str | None) -> str:
    """Say which ranking gives a ceiling of this kind; see `Definition`."""
    if kind is None:
        return "none is computed"
    if kind == "relevant":
        return "the score with all relevant chunks ranked first, the most relevant at the top"
    return f"the score of the same chunks ranked greedily by {_FIRST_BY[kind]}; the true maximum may be slightly higher"
