"""A recommendation in words, as one table, and as a record: first what to do, then the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import READ
from repoeval_bench.analysis.evidence import BASELINE
from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.report.table import Column, Table, make_table, number, record_of, table_of
from repoeval_bench.report.text import CHARACTERS_NOTE, cluster_count, heading
from repoeval_bench.runs.request import EMBEDDER

if TYPE_CHECKING:
    from repoeval_bench.analysis.evidence import Evidence, Recommendation, SizedChunker
    from repoeval_bench.analysis.shrinkage import RankedCandidate

_FINDS = {
    "uses": "{} of the definitions that code needs",
    "docstring": "{} of the lines that a description asks for",
    "body": "{} of the lines to be written",
    "questions": "{} of the lines that your questions ask for",
}
_READ = {
    "definition_recall_auc": "the share, averaged over reading up to 12,000 characters",
    "line_recall_auc": "the share, averaged over reading up to 12,000 characters",
    "line_rprec": "the share after as many characters are read as are to be found",
}
_BY = {"bm25": "BM25", "dense": "the embedding model"}
_SMALL = 20
"""Files below which a warning says how little they tell."""
_NONE = "less than 0.1 points"
_SHOWN = 6
"""Candidates in the table, unless every one is asked for."""


def answer_lines(found: Recommendation) -> list[str]:
    """Return the answer as paragraphs: what to use, how well it does, what it may cost, and what is close to it."""
    decision = found.decision
    if decision is None:
        return [_too_little(found)]
    if not any(mean for each in found.evidence for mean in each.means.values()):
        return ["No candidate found anything that was asked for, so none is better than another."]
    first = decision.choice
    lines = [f"Use {described(found.arms[first.name])}{_mean_tokens(found, first.name)}.", _measured(found, first.name)]
    lines[-1] += f" {_risk(first)}"
    cheaper = decision.cheapest
    if (saved := _saved(found, first, cheaper)) is not None:
        spec = described(found.arms[cheaper.name])
        lines.append(f"{saved}: {spec}, about {_points(first.score - cheaper.score)} less.")
    lines += _conflict(found)
    lines += _window(found, first.name)
    lines.append(_close(found))
    return lines


def described(arm: SizedChunker) -> str:
    """Return a candidate with its size in words: `ast with chunks of up to 1,260 characters`.

    >>> from repoeval_bench.analysis.evidence import SizedChunker
    >>> described(SizedChunker(name="window", size=500, spec="window:lines=18,step=9"))
    'window with chunks of 18 lines'
    """
    spec = Spec.parse(arm.spec)
    option = size_option(spec)
    if option is None:
        return arm.name
    value = int(spec.params[option])
    if option == "lines":
        return f"{arm.name} with chunks of {count(value, 'line')}"
    unit = "tokens" if "tokens" in option else "characters"
    blanks = "" if option in {"max_nws", "max_tokens", "max_chunk_size"} else ", blanks included,"
    return f"{arm.name} with chunks of up to {value:,} {unit}{blanks}".rstrip(",")


def setups_to_paste(found: Recommendation) -> list[tuple[str, tuple[str, ...]]]:
    """Return for each framework what its candidate is expected to lose, and the lines of Python that make it."""
    setups: list[tuple[str, tuple[str, ...]]] = []
    for each in found.setups:
        unmeasured = "" if each.measured else "; not tried here, so judged by other repositories alone"
        chosen = found.decision is not None and each.label == found.decision.choice.name
        loss = "the choice" if chosen else f"{each.label}, loses about {_points(each.expected_loss)}"
        lines = (each.snippet.imports, f"chunker = {each.snippet.code}")
        setups.append((f"{each.snippet.framework}: {loss}{unmeasured}", lines))
    return setups


def setup_lines(found: Recommendation) -> list[str]:
    """Return the same as lines of text, the Python indented."""
    return [line for title, code in setups_to_paste(found) for line in (title, *(f"    {each}" for each in code))]


def candidate_columns(found: Recommendation) -> list[Column]:
    """The columns of the candidates in their order, of a `RankedCandidate` each; the table and JSON have these."""

    def mean(evidence: Evidence) -> Column:
        return number(
            _heading(evidence), lambda each: evidence.means.get(each.name), ".3f", missing="", forms=("table", "page")
        )

    def fact(key: str, value: Callable[[RankedCandidate], Any]) -> Column:
        return Column(name=key, value=value, forms=("record",))

    return [
        Column(name="candidate", key="name", value=lambda each: each.name),
        *map(mean, found.evidence),
        number("expected loss", lambda each: each.expected_loss, ".3f", missing="", key="expected_loss"),
        number("tokens per query", lambda each: found.tokens(each.name), ",.0f", missing="", key="tokens_per_query"),
        fact("spec", lambda each: found.arms[each.name].spec),
        fact("size", lambda each: found.arms[each.name].size),
    ]


def recommendation_table(found: Recommendation, *, details: bool = False) -> Table:
    """Return a row for each candidate, the least expected loss first; six of them unless `details`."""
    if found.decision is None:
        return make_table([], [], notes=[f"skipped: {line}" for line in found.skipped])
    ranked = found.decision.candidates
    shown = ranked if details else ranked[:_SHOWN]
    notes = []
    if more := len(ranked) - len(shown):
        notes.append(f"{count(more, 'more candidate')}: --details")
    notes += [
        f"{name}: {heading(one.measure)}, the mean of {count(one.n_queries, 'query')}"
        for name, one in {one.protocol: one for one in found.evidence}.items()
    ]
    read: dict[str, list[str]] = {}
    for measure in dict.fromkeys(each.measure for each in found.evidence if each.measure in _READ):
        read.setdefault(_READ[measure], []).append(heading(measure))
    notes += [f"{' and '.join(names)}: {share}" for share, names in read.items()]
    notes.append(CHARACTERS_NOTE)
    notes += [
        f"at {arm.size:,}: chunks are as large on average as those of {BASELINE} with up to {arm.size:,} characters"
        for arm in [found.arms[ranked[0].name]]
        if arm.size is not None
    ]
    notes += [f"too few to decide: {line}, below {FEWEST_TASKS}" for line in _few(found)]
    notes += [f"skipped: {line}" for line in found.skipped]
    return table_of(candidate_columns(found), shown, notes=notes)


def recommendation_record(found: Recommendation) -> dict[str, Any]:
    """Return every field as plain values: the choice, the losses, the setups to paste, and the evidence."""
    decision = found.decision
    return {
        "data": found.data,
        "language": found.language,
        "choice": None if decision is None else _candidate_record(found, decision.choice),
        "cheaper": None if decision is None else _candidate_record(found, decision.cheapest),
        "answer": answer_lines(found),
        "candidates": [] if decision is None else [_candidate_record(found, each) for each in decision.candidates],
        "setups": [
            {
                "framework": each.snippet.framework,
                "imports": each.snippet.imports,
                "code": each.snippet.code,
                "candidate": each.label,
                "spec": found.arms[each.label].spec,
                "expected_loss": each.expected_loss,
                "loss_95": each.loss_95,
                "measured": each.measured,
            }
            for each in found.setups
        ],
        "evidence": [_evidence_record(each) for each in found.evidence],
        "too_few_queries": dict(found.few),
        "skipped": list(found.skipped),
        "runs": [str(run.folder) for run in found.runs],
    }


def _candidate_record(found: Recommendation, candidate: RankedCandidate) -> dict[str, Any]:
    return asdict(candidate) | record_of(candidate_columns(found), candidate)


def _evidence_record(each: Evidence) -> dict[str, Any]:
    return {
        "protocol": each.protocol,
        "retriever": each.retriever,
        "measure": each.measure,
        "mean_over": each.over,
        "queries": each.n_queries,
        "clusters": each.n_clusters,
        "clustered_by": each.clustered_by,
        "means": dict(each.means),
        "runs": {label: run.run_id for label, run in each.runs.items()},
        "significantly_worse_than_choice": sorted(each.worse),
        "significantly_better_than_choice": sorted(each.better),
    }


def _too_little(found: Recommendation) -> str:
    asked = ", ".join(_few(found))
    return (
        f"Too little code to choose a chunker by: {asked}. At least {FEWEST_TASKS} are needed; add code, or questions "
        "of your own with --queries."
    )


def _few(found: Recommendation) -> list[str]:
    return [f"{count(number, 'query')} of {name}" for name, number in found.few.items()]


def _measured(found: Recommendation, label: str) -> str:
    """Return how much the choice finds, by each question: the mean over the retrievers."""
    parts = []
    for protocol in dict.fromkeys(each.protocol for each in found.evidence):
        scores = [each.means[label] for each in found.evidence if each.protocol == protocol]
        share = sum(scores) / len(scores)
        parts.append(_FINDS.get(protocol, "{} under protocol " + protocol).format(_percent(share)))
    most = max(found.evidence, key=lambda each: each.n_clusters)
    where = cluster_count(most.n_clusters, most.clustered_by)
    return f"Measured on {where}: it finds {' and '.join(parts)}."


def _risk(first: RankedCandidate) -> str:
    lost = _points(first.expected_loss).replace("point", "percentage point")
    most = "" if _points(first.loss_95) == _NONE else f", and with 95 % confidence less than {100 * first.loss_95:.1f}"
    return f"Against the truly best candidate it is expected to lose {lost}{most}."


def _points(loss: float) -> str:
    """Return a difference of scores in points of a hundred: `0.5 points`."""
    shown = f"{max(0.0, 100 * loss):.1f}"
    return _NONE if shown == "0.0" else f"{shown} {'point' if shown == '1.0' else 'points'}"


def _mean_tokens(found: Recommendation, label: str) -> str:
    tokens = found.tokens(label)
    return "" if tokens is None else f" (about {tokens / READ:,.0f} tokens on average)"


def _saved(found: Recommendation, first: RankedCandidate, cheaper: RankedCandidate) -> str | None:
    """Return `Half the tokens` where a cheaper candidate saves a tenth or more; None where it does not."""
    before, after = found.tokens(first.name), found.tokens(cheaper.name)
    if cheaper.name == first.name or not before or after is None or after > 0.9 * before:
        return None
    share = after / before
    return "Half the tokens" if 0.45 <= share <= 0.55 else f"{_percent(1 - share)} fewer tokens"


def _conflict(found: Recommendation) -> list[str]:
    """Return a line where the choices by one retriever alone lose to each other; none where they agree."""
    names = found.by_retriever
    if len(set(names.values())) < 2:
        return []
    said = ", ".join(f"{_BY.get(retriever, retriever)} alone would choose {name}" for retriever, name in names.items())
    return [f"The retrievers differ: {said}. Name yours with --retriever."]


def _window(found: Recommendation, label: str) -> list[str]:
    shares = [share for each in found.evidence if (share := each.cut.get(label))]
    if not shares:
        return []
    read = "the first 256 tokens of a text" if _by_bundled_model(found) else "the beginning of a text"
    return [f"The model reads only {read} and cuts {_percent(max(shares))} of these chunks."]


def _by_bundled_model(found: Recommendation) -> bool:
    return all(Spec.parse(each.setting.embedder).name == EMBEDDER for each in found.evidence)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _close(found: Recommendation) -> str:
    others = len({name for each in found.evidence for name in each.means}) - 1
    better = [(name, each) for each in found.evidence for name in each.better]
    worse = {name for each in found.evidence for name in each.worse}
    some = f"In at least one of the {len(found.evidence)} columns below " if len(found.evidence) > 1 else ""
    parts = []
    if worse:
        parts.append(f"{some}it is significantly better than {len(worse)} of the {count(others, 'other')}.")
    if better:
        name, each = max(better, key=lambda pair: pair[1].means[pair[0]])
        parts.append(f"{name} is significantly better than it in {_heading(each)}.")
    if not parts:
        parts.append(f"These {others + 1} candidates are close: no other differs significantly from the choice.")
    if found.n_files < _SMALL:
        weighs = ", so what other repositories show weighs most" if _weight(found) < 0.5 else ""
        parts.append(f"Fewer than {_SMALL} files say little{weighs}.")
    return " ".join(f"{part[0].upper()}{part[1:]}" for part in parts)


def _weight(found: Recommendation) -> float:
    """Return the weight of the own scores beside what other repositories show, from 0 to 1: the mean over all."""
    weights = [weight for each in found.evidence for weight in each.posterior.weight]
    return float(sum(weights) / len(weights))


def evidence_name(each: Evidence) -> str:
    """Return what was asked and how, in words: `uses by BM25`."""
    return f"{each.protocol} by {_BY.get(each.retriever, each.retriever)}"


def _heading(each: Evidence) -> str:
    return f"{each.protocol} {each.retriever}"
