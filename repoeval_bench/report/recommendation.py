"""A recommendation in words, as one table, and as a record: first what to do, then the evidence."""

import re
from collections import Counter
from collections.abc import Callable
from math import comb
from typing import Any

from repoeval_bench.analysis.evidence import BASELINE, Default, Evidence, Recommendation, RetrieverChoice, SizedChunker
from repoeval_bench.analysis.shrinkage import RankedCandidate
from repoeval_bench.analysis.sign_flips import fewest_clusters
from repoeval_bench.analysis.verdicts import READ
from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.benchmark import TESTS
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count, few, plural
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.reading.code import READ_NOTEBOOKS
from repoeval_bench.report.table import Column, Table, make_table, number, table_of
from repoeval_bench.report.text import cluster_count, heading, meaning_of
from repoeval_bench.runs.query_scores import GROUP
from repoeval_bench.runs.request import EMBEDDER

HOLDS = "the choice, scores and costs; no code, no subject of a commit and no author's name"
"""The content of the JSON and TOML of a recommendation, for those who pass them on."""

_FINDS = {
    "uses": "{} of the definitions that the code uses",
    "docstring": "{} of the lines that a docstring describes",
    "commits": "{} of the lines that {:,} of your commits changed",
    "tests": "{} of the lines that a test's name describes",
    "body": "{} of the lines to be written",
    "questions": "{} of the lines that answer your queries",
}
_GAINS = {
    "uses": "the definitions that the code uses",
    "docstring": "the lines that a docstring describes",
    "commits": "the changed lines",
}
_BY = {"bm25": "BM25", "dense": "the embedding model"}
_SMALL = 20
"""Files below which a warning says how little they tell."""
_MUCH = 0.1
"""The least share of unread files that the answer names."""
_NONE = "less than 0.1 points"
_SHOWN = 6
"""Candidates in the table, unless every one is asked for."""


def answer_lines(recommendation: Recommendation) -> list[str]:
    """Return the answer as paragraphs: what to use, how well it does, what it may cost, and what is close to it."""
    decision = recommendation.decision
    if decision is None:
        return _default(recommendation)
    if not any(mean for evidence in recommendation.evidence for mean in evidence.means.values()):
        return ["No candidate retrieved a target, so none is better than another."]
    first, tokens = decision.choice, recommendation.tokens(decision.choice.name)
    named = described(recommendation.candidates[first.name])
    size = "" if tokens is None else f" (about {tokens / READ:,.0f} tokens on average)"
    lines = [
        *(_current(recommendation, size) if recommendation.current else [f"Use {named}{size}."]),
        f"{_measured(recommendation, first.name)} {_risk(first)}",
        _based(recommendation),
        *_covers(recommendation),
        *_cost(recommendation),
    ]
    kept = recommendation.current.label if recommendation.current else None  # the first lines compare it already
    if (cheaper := decision.cheaper) is not None and cheaper.name != kept:
        spec = described(recommendation.candidates[cheaper.name])
        less = _points(first.score - cheaper.score)
        finds = "about as much" if less == _NONE else f"{less} less"
        lines.append(f"{_saved(first, cheaper)}: {spec}, which is expected to find {finds}.")
    lines += _own_best(recommendation)
    lines += _lead(recommendation)
    lines += [_retrievers(choice) for choice in recommendation.retrievers]
    lines += _conflict(recommendation)
    lines += _window(recommendation, first.name)
    lines.append(_close(recommendation))
    return lines


def _current(recommendation: Recommendation, size: str) -> list[str]:
    """Return if switching from the current chunker is worth it: by what is found, read, and embedded again."""
    current, choice = recommendation.current, recommendation.choice
    assert current is not None
    assert choice is not None
    if not current.gains:
        return [f"Stay with {current.label}: no other candidate is expected to find more."]
    gains = " and ".join(
        f"{_more(gain.difference)} of {_GAINS.get(gain.protocol) or f'what {gain.protocol} asks for'}"
        f"{_ends(gain.difference, gain.ci)}"
        for gain in current.gains
    )
    costs = _compared_costs(recommendation, current.label, choice.label)
    named = f"{described(choice)}{size}"
    takes = f" It takes {' and '.join(costs)}." if costs else ""
    if current.is_worse:
        return [f"Switch from {current.label} to {named}. It finds {gains}{_sure(recommendation)}.{takes}"]
    return [
        f"Stay with {current.label}: the best candidate is not shown to find more on your code.",
        f"Weighed with other repositories, {named} comes first, and is the choice below. On your code it finds "
        f"{gains}.{takes}",
    ]


def _sure(recommendation: Recommendation) -> str:
    """Return if the lead over the current chunker holds among all candidates: its interval is that of one pair."""
    assert recommendation.current is not None
    tried = f"adjusted for all {len(_measured_labels(recommendation))} candidates"
    if any(recommendation.current.label in one.worse for one in recommendation.evidence):
        return f", which is significant, {tried}"
    return f", which is not significant once {tried}"


def _measured_labels(recommendation: Recommendation) -> set[str]:
    return {name for evidence in recommendation.evidence for name in evidence.means}


def _more(difference: float) -> str:
    points = _points(abs(difference))
    return "about as much" if points == _NONE else f"{points} {'more' if difference > 0 else 'less'}"


def _ends(difference: float, ends: tuple[float, float] | None) -> str:
    """Return the interval of what `_more` says: after `less`, that of the loss."""
    if ends is None:
        return " (too few files for an interval)"
    low, high = (-ends[1], -ends[0]) if _more(difference).endswith("less") else ends
    return f" [{100 * low:+.1f}, {100 * high:+.1f}]"


def _compared_costs(recommendation: Recommendation, current: str, choice: str) -> list[str]:
    """Return what the choice costs less, or more, than the current chunker: tokens, and embedding per edit."""
    parts = []
    now, then = recommendation.tokens(current), recommendation.tokens(choice)
    if now and then:
        less = 1 - then / now
        parts.append(f"{_percent(abs(less))} {'fewer' if less >= 0 else 'more'} tokens a query")
    costs = [recommendation.costs.get(label) for label in (current, choice)]
    old, new = (cost.edited if cost else None for cost in costs)
    if old and new is not None:
        parts.append(f"{new / old:.1f} times the embedding per edit")
    return parts


def _cost(recommendation: Recommendation) -> list[str]:
    """Return what the choice costs: tokens of a query, the index, and an edit."""
    assert recommendation.choice is not None
    label = recommendation.choice.label
    tokens, cost = recommendation.tokens(label), recommendation.costs.get(label)
    if cost is None:
        return []
    vectors = "" if cost.vector_bytes is None else f" and {cost.vector_bytes / 1e6:,.1f} MB of vectors"
    edit = "no history shows what an edit embeds again"
    if cost.edited is not None and cost.edit_tokens is not None:
        mean = f"about {cost.edit_tokens:,.0f} tokens (mean of the last {count(recommendation.edits, 'edit')})"
        edit = f"an edit embeds {_percent(cost.edited)} of its file again, {mean}"
    query = [] if tokens is None else [f"a query reads about {tokens:,.0f} tokens ({READ} chunks)"]
    first, *others = [*query, f"the index has {count(cost.chunks, 'chunk')}{vectors}", edit]
    whose = "the choice" if recommendation.current and recommendation.current.gains else "it"
    return [" ".join([f"What {whose} costs: {first}.", *(f"{said[0].upper()}{said[1:]}." for said in others)])]


_COUNTED = {"exact": "by the changed lines alone", "definitions": "by whole definitions"}


def _lead(recommendation: Recommendation) -> list[str]:
    """Say so where another gold turns the lead of the choice over its rival, or the rival's."""
    lead = recommendation.lead
    if lead is None or not lead.turned:
        return []
    turned = " and ".join(f"{_more(difference)} {_COUNTED[gold]}" for gold, difference in lead.turned.items())
    whose = f"lead over {lead.rival}" if lead.differences["lines"] > 0 else f"lead of {lead.rival}"
    return [f"The {whose} depends on what counts: the choice finds {turned}."]


def _retrievers(choice: RetrieverChoice) -> str:
    """Return what each retriever finds more or less than the first, and what reading more chunks finds."""
    first, *others = choice.scores
    compared = "; ".join(
        f"{_by(one.retriever)} finds {_more(one.difference or 0.0)}{_ends(one.difference or 0.0, one.ci)}"
        for one in others
    )
    line = f"With {choice.label}, compared with {_by(first.retriever)} under {choice.protocol}: {compared}."
    if choice.readings:
        shown = [
            f"{one.chunks} chunks show {_percent(one.share)}" + (f" ({one.tokens:,.0f} tokens)" if one.tokens else "")
            for one in choice.readings
        ]
        line += f" By {_by(choice.best)}, {', '.join(shown)}."
    return line


def _by(retriever: str) -> str:
    return _BY.get(retriever, retriever)


_ASKED = {"uses": "uses of definitions", "docstring": "docstrings", "commits": "commits"}


def _based(recommendation: Recommendation) -> str:
    """Return what the answer is based on, in a sentence."""
    parts = {
        one.protocol: f"{one.n_queries:,} {_ASKED.get(one.protocol, 'queries of ' + one.protocol)}"
        + (f" since {recommendation.since}" if one.protocol == "commits" and recommendation.since else "")
        for one in recommendation.evidence
    }
    own, largest = " and ".join(parts.values()), _largest(recommendation)
    clusters = cluster_count(largest.n_clusters, largest.clustered_by)
    clusters += " (files that share a query are one group)" if largest.clustered_by == GROUP else ""
    if recommendation.relies_on_others:
        return (
            "This rests mainly on results from other repositories, because your queries come from only "
            f"{clusters}: {own}."
        )
    return f"This is based on {own}, from {clusters}."


def _own_best(recommendation: Recommendation) -> list[str]:
    """Name the candidate that finds more here than the choice, and why it is not chosen."""
    assert recommendation.decision is not None
    choice = recommendation.decision.choice
    best = max(recommendation.decision.candidates, key=lambda one: one.own)
    lead = _points(best.own - choice.own)
    current = recommendation.current.label if recommendation.current else None
    if best.name in {choice.name, current} or lead == _NONE:
        return []
    behind = choice.prior - best.prior
    why = f"other repositories put it {_points(behind)} behind"
    if _points(behind) == _NONE:
        why = "other chunkers of its kind find less"
    return [f"On your code {best.name} finds {lead} more than the choice. It is not chosen, because {why}."]


def _default(recommendation: Recommendation) -> list[str]:
    """Return the answer where nothing was measured: the shipped default, what shows it, and what would be better."""
    default = recommendation.default
    assert default is not None
    number = _few(recommendation)
    enough = f"; a choice needs at least {FEWEST_TASKS}"
    reason = " and ".join(number) + enough if number else "no query to compare them by"
    of = f"{default.language} repositories" if default.language else "repositories in other languages"
    shown = f"The default comes from {default.repositories} {of}, ranked by BM25."
    return [
        f"Use {described(recommendation.candidates[default.label])}: the shipped default.",
        f"Chunkers cannot be compared on this code: it has {reason}. {shown} {_risk(default)}",
        *_unmeasured(recommendation),
        *_covers(recommendation),
        "To measure on your code, name more of it, or give your own queries with --queries.",
    ]


def _unmeasured(recommendation: Recommendation) -> list[str]:
    """Return what other repositories show of the current chunker, where nothing was measured."""
    current, default = recommendation.current, recommendation.default
    if current is None or default is None:
        return []
    if default.lead is None:
        return [f"{current.label} could not be measured either, and no other repository has scores of it."]
    # The scores are by chunker and size: of other options, such as an overlap, nothing is known.
    name = re.split(":| at ", current.label)[0]
    like_it = f"{name}{' at this size' if default.of_size else ', averaged over sizes,'}"
    finds = _more(-default.lead) + ("" if _points(abs(default.lead)) == _NONE else " than the default")
    return [f"{current.label} could not be measured either. On these repositories {like_it} finds {finds}."]


def _covers(recommendation: Recommendation) -> list[str]:
    """Return what the answer is about, where that is not all of the code, or code in several languages."""
    read, unread = sum(recommendation.files.values()), sum(recommendation.unread.values())
    lines = []
    if unread >= _MUCH * (read + unread):
        kinds = few([count(number, kind) for kind, number in recommendation.unread.items()], 3)
        were = "was" if unread == 1 else "were"
        lines.append(f"This covers {read:,} of {count(read + unread, 'file')}: {kinds} {were} not read.")
        endings = [kind.removesuffix(" file") for kind in recommendation.unread if kind != "notebook"]
        if endings:
            lines.append(f"To include them: --extensions {','.join(endings[:3])}")
        if "notebook" in recommendation.unread:
            lines.append(f"To include notebooks, convert them: {READ_NOTEBOOKS}")
    if number := recommendation.test_files:
        are = "is" if number == 1 else "are"
        lines.append(f"{count(number, 'test file')} {are} {TESTS[recommendation.tests]} (--tests all uses them too).")
    if len(recommendation.languages) > 1:
        shares = ", ".join(f"{_percent(share)} {name}" for name, share in recommendation.languages.items())
        lines.append(f"The code is {shares}; the lines to paste name the language of the files that they are for.")
    return lines


def described(candidate: SizedChunker) -> str:
    """Return a candidate with its size in words: `ast with chunks of up to 1,260 characters`.

    >>> from repoeval_bench.analysis.evidence import SizedChunker
    >>> described(SizedChunker(name="window", size=500, spec="window:lines=18,step=9"))
    'window with chunks of 18 lines'
    """
    spec = Spec.parse(candidate.spec)
    option = size_option(spec)
    if option is None or candidate.size is None:
        return candidate.name
    value = int(spec.params[option])
    if option == "lines":
        return f"{candidate.name} with chunks of {count(value, 'line')}"
    unit = "tokens" if "tokens" in option else "characters"
    blanks = (
        "" if unit == "tokens" else f" {'without' if option in {'max_nws', 'max_chunk_size'} else 'with'} whitespace"
    )
    return f"{candidate.name} with chunks of up to {value:,} {unit}{blanks}"


def setups_to_paste(recommendation: Recommendation) -> list[tuple[str, tuple[str, ...]]]:
    """Return for each framework what its candidate is expected to lose, and the lines of Python that make it."""
    setups: list[tuple[str, tuple[str, ...]]] = []
    default = recommendation.default
    choice = default.label if default else recommendation.decision and recommendation.decision.choice.name
    alone: dict[str, int] = Counter(setup.framework for setup in recommendation.setups)
    for setup in recommendation.setups:
        unmeasured = "" if setup.measured or default else "; not tried here, estimated from other repositories"
        loss = f"{setup.candidate}, expected to find {_points(setup.expected_loss)} less than the best"
        if setup.candidate == choice:
            loss = "the default" if default else "the choice"
        files = f" for {setup.language} files" if alone[setup.framework] > 1 else ""
        lines = (setup.imports, f"chunker = {setup.code}", *([setup.use] if setup.use else []))
        setups.append((f"{setup.framework}{files}: {loss}{unmeasured}", lines))
    return setups


def setup_lines(recommendation: Recommendation) -> list[str]:
    """Return the same as lines of text, the Python indented."""
    return [
        line
        for title, code in setups_to_paste(recommendation)
        for line in (title, *(f"    {code_line}" for code_line in code))
    ]


def candidate_columns(recommendation: Recommendation) -> list[Column]:
    """The columns of the candidates in their order, of a `RankedCandidate` each; the table and JSON have these."""

    def mean(evidence: Evidence) -> Column:
        return number(
            _heading(evidence),
            lambda candidate: evidence.means.get(candidate.name),
            ".1%",
            missing="",
            forms=("table", "page"),
        )

    def fact(key: str, value: Callable[[RankedCandidate], Any]) -> Column:
        return Column(name=key, value=value, forms=("record",))

    def cost(key: str) -> Callable[[RankedCandidate], Any]:
        def value(candidate: RankedCandidate) -> Any:
            known = recommendation.costs.get(candidate.name)
            return known and getattr(known, key)

        return value

    def megabytes(candidate: RankedCandidate) -> float | None:
        size = cost("vector_bytes")(candidate)
        return None if size is None else size / 1e6

    return [
        Column(name="candidate", key="name", value=lambda candidate: candidate.name),
        *map(mean, recommendation.evidence),
        number(
            "expected loss (points)",
            lambda candidate: 100 * candidate.expected_loss,
            ".1f",
            missing="",
            key="expected_loss",
            forms=("table", "page"),
        ),
        number(
            "tokens per query",
            lambda candidate: recommendation.tokens(candidate.name),
            ",.0f",
            missing="",
            key="tokens_per_query",
        ),
        number("chunks", cost("chunks"), ",.0f", missing=""),
        number("vectors (MB)", megabytes, ",.1f", missing="", forms=("table", "page")),
        fact("vector_bytes", cost("vector_bytes")),
        number("edited again", cost("edited"), ".0%", missing="", key="edited"),
        fact("edit_tokens", cost("edit_tokens")),
        fact("spec", lambda candidate: recommendation.candidates[candidate.name].spec),
        fact("size", lambda candidate: recommendation.candidates[candidate.name].size),
    ]


def recommendation_table(recommendation: Recommendation, *, details: bool = False) -> Table:
    """Return a row for each candidate, the least expected loss first; six of them unless `details`."""
    if recommendation.decision is None:
        return make_table([], [], notes=[f"skipped: {line}" for line in recommendation.skipped])
    ranked = recommendation.decision.candidates
    shown = ranked if details else ranked[:_SHOWN]
    notes = [f"skipped: {line}" for line in recommendation.skipped]
    if few_queries := _few(recommendation):
        notes.append(f"ignored, with fewer than {FEWEST_TASKS} queries: {', '.join(few_queries)}")
    by_meaning: dict[str, list[str]] = {}
    for one in recommendation.evidence:
        by_meaning.setdefault(meaning_of(one.measure) or heading(one.measure), []).append(one.protocol)
    for meaning, names in by_meaning.items():
        notes.append(f"{' and '.join(dict.fromkeys(names))}: {meaning.replace(': ', ', the ')}")
    if size := recommendation.candidates[ranked[0].name].size:
        like = f"{BASELINE}:max_nws={size}"
        notes.append(
            f"at {size:,} is a size class: the average chunk of each is within 5 % of that of {like}, if possible"
        )
    if any(cost.edited is not None for cost in recommendation.costs.values()):
        edits = count(recommendation.edits, "edit")
        notes.append(f"edited again: the share of a touched file that is embedded again, over {edits}")
    queries = {one.protocol: count(one.n_queries, "query") for one in recommendation.evidence}
    notes.append(f"scores are means over {', '.join(f'{n} of {name}' for name, n in queries.items())}")
    return table_of(candidate_columns(recommendation), shown, notes=notes)


def _few(recommendation: Recommendation) -> list[str]:
    return [f"{count(number, 'query')} of {name}" for name, number in recommendation.few.items()]


def _measured(recommendation: Recommendation, label: str) -> str:
    """Return how much the choice finds, by each question, and on how many files: the mean over the retrievers."""
    parts: dict[str, str] = {}
    files: dict[str, str] = {}
    for question in recommendation.evidence:
        finds = _FINDS.get(question.protocol, "{} under protocol " + question.protocol)
        parts[question.protocol] = finds.format(
            _percent(recommendation.mean(label, question.protocol)), question.n_queries
        )
        files[question.protocol] = cluster_count(question.n_clusters, question.clustered_by)
    over = all(question.measure.endswith("_auc") for question in recommendation.evidence)
    it = "the choice" if recommendation.current and recommendation.current.gains else "it"
    read = f"Averaged over all budgets up to 12,000 characters, {it} finds" if over else f"{it.capitalize()} finds"
    return f"{read} {' and '.join(f'{finds} ({files[protocol]})' for protocol, finds in parts.items())}."


def _risk(first: RankedCandidate | Default) -> str:
    """Return what another choice may gain; with a bound only where that was shown to hold."""
    lost, bound = _points(first.expected_loss).replace("point", "percentage point"), first.loss_95
    most = "" if bound is None or _points(bound) == _NONE else f" (95 % confidence: less than {100 * bound:.1f})"
    return f"Whichever candidate is truly best, we expect it to be ahead by {lost}{most}."


def _points(loss: float) -> str:
    """Return a difference of scores in points of a hundred: `0.5 points`."""
    shown = f"{max(0.0, 100 * loss):.1f}"
    return _NONE if shown == "0.0" else f"{shown} {'point' if shown == '1.0' else 'points'}"


def _saved(first: RankedCandidate, cheaper: RankedCandidate) -> str:
    """Return how many tokens a cheaper candidate saves: `Half the tokens`, `75 % fewer tokens`."""
    assert first.tokens
    assert cheaper.tokens is not None
    share = cheaper.tokens / first.tokens
    return "Half the tokens" if 0.45 <= share <= 0.55 else f"{_percent(1 - share)} fewer tokens"


def _conflict(recommendation: Recommendation) -> list[str]:
    """Return a line where the choices by one retriever alone lose to each other; none where they agree."""
    names = recommendation.by_retriever
    if len(set(names.values())) < 2:
        return []
    said = ", ".join(f"{_by(retriever)} alone would choose {name}" for retriever, name in names.items())
    return [f"The retrievers differ: {said}. Name yours with --retriever."]


def _window(recommendation: Recommendation, label: str) -> list[str]:
    shares = [share for evidence in recommendation.evidence if (share := evidence.cut.get(label))]
    if not shares:
        return []
    bundled = all(Spec.parse(evidence.embedder).name == EMBEDDER for evidence in recommendation.evidence)
    read = "the first 256 tokens of a text" if bundled else "the beginning of a text"
    return [f"The model reads only {read} and truncates {_percent(max(shares))} of these chunks."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _close(recommendation: Recommendation) -> str:
    others = len(_measured_labels(recommendation)) - 1
    better = [(name, evidence) for evidence in recommendation.evidence for name in evidence.better]
    worse = [evidence for evidence in recommendation.evidence if evidence.worse]
    parts = []
    if worse:
        of = f" of the {count(others, 'other')}"
        where = (f"{len(one.worse)}{'' if i else of} in {evidence_name(one)}" for i, one in enumerate(worse))
        *first, last = where
        best = f"The choice is significantly better than {', '.join(first)}{' and ' if first else ''}{last}"
        parts.append(f"{best}, adjusted for all pairs of candidates.")
    if better:
        name, evidence = max(better, key=lambda pair: pair[1].means[pair[0]])
        parts.append(f"In {evidence_name(evidence)}, {name} is significantly better than the choice.")
    if not parts:
        parts.append(_none_differs(recommendation))
    most = _largest(recommendation)
    if most.n_clusters < _SMALL:
        parts.append(f"So few {plural(most.clustered_by)} are weak evidence.")
    return " ".join(parts)


def _largest(recommendation: Recommendation) -> Evidence:
    """Return the evidence with the most clusters."""
    return max(recommendation.evidence, key=lambda evidence: evidence.n_clusters)


def _none_differs(recommendation: Recommendation) -> str:
    """Return why no candidate differs significantly: the files may be too few for any difference to."""
    most = _largest(recommendation)
    n_candidates = len(most.means)
    needed = fewest_clusters(comb(n_candidates, 2))
    if most.n_clusters >= needed:
        return "No other candidate differs significantly from the choice."
    return (
        f"Your queries come from only {cluster_count(most.n_clusters, most.clustered_by)}. With {n_candidates} "
        f"candidates, at least {needed} are needed before any difference can be significant."
    )


def evidence_name(evidence: Evidence) -> str:
    """Return the questions and their retrievers, in words: `uses by BM25`."""
    return f"{evidence.protocol} by {_by(evidence.retriever)}"


def _heading(evidence: Evidence) -> str:
    return f"{evidence.protocol} {evidence.retriever}"
