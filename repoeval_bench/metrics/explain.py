"""The explanation of a measure: `repoeval-bench list measures ndcg@10`."""

from __future__ import annotations

from repoeval_bench.metrics.measure import Measure

_FIRST_BY = {
    "lines": "target lines per character",
    "definitions": "definitions per character",
}


def explain(name: str) -> str:
    """Meaning, formula, range, ceiling, bands it is read by, when not to use it, options, inputs and source, as text.

    An unknown measure is a UsageError that offers the nearest. A measure that must have a cutoff is explained
    without one too.
    """
    measure = Measure.parse_name(name)
    definition = measure.definition
    rows = [
        ("formula", definition.formula),
        ("range", definition.range),
        ("ceiling", ceiling_of(definition.ceiling)),
        ("better", "lower" if definition.lower_is_better else ""),
        ("bands", _bands(definition.bands)),
        ("avoid where", definition.avoid),
        *(
            (f"option {key}", f"{option.meaning}; default {option.default or 'none'}")
            for key, option in definition.options.items()
        ),
        ("characters", "counted without whitespace" if definition.unit == "nws" else ""),
        ("needs", ", ".join(sorted(definition.needs))),
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
        return "the best possible score: all relevant chunks first, by gain"
    most = f"the score of a near-optimal ranking of the same chunks, most {_FIRST_BY[kind]} first"
    return f"{most}; the true best may be higher"


def _bands(bands: tuple[tuple[float, str], ...]) -> str:
    return ", ".join(f"from {low:g} {word}" if low else f"below {word}" for low, word in bands)
