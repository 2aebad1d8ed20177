"""A recommendation in words, as one table, and as the record of `--json`: first what to do, then the evidence."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from typing import Any

from pydantic import ConfigDict

from repoeval_bench.analysis.evidence import (
    BASELINE,
    HEADER,
    AboutCode,
    Cost,
    Current,
    Default,
    Evidence,
    Gain,
    Recommendation,
    RetrieverChoice,
    SizedChunker,
    known_name,
)
from repoeval_bench.analysis.shrinkage import RankedCandidate
from repoeval_bench.analysis.sign_flips import fewest_clusters
from repoeval_bench.analysis.verdicts import READ
from repoeval_bench.chunkers.headers import KINDS
from repoeval_bench.chunkers.registry import split_header
from repoeval_bench.chunkers.tools.sizes import SIZE_OPTIONS, size_option
from repoeval_bench.core.benchmark import TESTS
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count, few_of, plural
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.reading.code import READ_NOTEBOOKS
from repoeval_bench.report.table import Column, Table, make_table, number, table_of
from repoeval_bench.report.text import (
    NO_POINTS,
    cluster_count,
    ends_in_points,
    heading,
    in_points,
    meaning_of,
    more_points,
    retriever_name,
)
from repoeval_bench.runs.query_scores import GROUP

HOLDS = "the choice, scores and costs; no code, no subject of a commit and no author's name"
"""The content of the JSON and TOML of a recommendation, for those who pass them on."""

_FINDS = {
    "uses": "{} of the definitions that the code uses",
    "docstring": "{} of the lines that a docstring describes",
    "commits": "{} of the target lines of {:,} commits",
    "tests": "{} of the lines that a test's name describes",
    "body": "{} of the lines to be written",
    "questions": "{} of the lines that answer your queries",
}
_GAINS = {
    "uses": "the definitions that the code uses",
    "docstring": "the lines that a docstring describes",
    "commits": "the lines in and around your commits' changes",
}
# Files below which a warning says how little they tell.
_SMALL = 20
# The least share of unread files that the answer names.
_MUCH = 0.1
# Candidates in the table, unless every one is asked for.
_SHOWN = 6


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
        *_header(recommendation, first.name),
        _based(recommendation),
        *_covers(recommendation),
        *_cost(recommendation),
    ]
    kept = recommendation.current.label if recommendation.current else None  # the first lines compare it already
    if (cheaper := decision.cheaper) is not None and cheaper.name != kept:
        spec = described(recommendation.candidates[cheaper.name])
        less = in_points(first.score - cheaper.score)
        finds = "about as much as" if less == NO_POINTS else f"{less} less than"
        assert first.tokens
        assert cheaper.tokens is not None
        saved = _percent(1 - cheaper.tokens / first.tokens)
        lines.append(f"Cheaper: {spec}. It needs {saved} fewer tokens, and is expected to find {finds} the choice.")
    lines += _own_best(recommendation)
    lines += _lead(recommendation)
    lines += [_retrievers(choice, first.name) for choice in recommendation.retrievers]
    lines += _window(recommendation, first.name)
    lines.append(_close(recommendation))
    return lines


def _current(recommendation: Recommendation, size: str) -> list[str]:
    """Return if switching from the current chunker is worth it: by what is found, read, and embedded again."""
    current, choice = recommendation.current, recommendation.choice
    assert current is not None
    assert choice is not None
    if not current.gains:
        return [f"Stay with {current.label}: no other candidate is expected to find more.", *_headed(current)]
    gains = _found_more(current.gains)
    costs = _compared_costs(recommendation, current.label, choice.label)
    named = f"{described(choice)}{size}"
    takes = f" {', and '.join(costs)}." if costs else ""
    if current.is_worse:
        finds = f"In the same amount of retrieved text, it finds {gains}.{takes}{_more_chunks(recommendation)}"
        return [f"Switch from {current.label} to {named}. {finds}{_sure(recommendation)}", *_headed(current)]
    return [
        f"Stay with {current.label}: the best candidate is not shown to find more on your code.",
        f"On your code and other repositories together, the best candidate (called the choice below) is {named}. "
        f"On your code, in the same amount of retrieved text, it finds {gains}.{takes}",
        *_headed(current),
    ]


def _found_more(gains: Sequence[Gain], also: str = "It finds") -> str:
    """Return what is found more of each kind of target, in one sentence for each but its beginning and last point."""
    return f". {also} ".join(
        f"{more_points(gain.difference).replace('point', 'percentage point')} of "
        f"{_GAINS.get(gain.protocol, 'the target lines')}{ends_in_points(gain.ci)}"
        for gain in gains
    )


def _headed(current: Current) -> list[str]:
    """Return what a header alone gains, without switching."""
    gains = current.header_gains
    header = f"With the file's name and folders before each chunk (header={HEADER})"
    return [f"{header}, your current chunks find {_found_more(gains, 'They find')}."] if gains else []


def _header(recommendation: Recommendation, label: str) -> list[str]:
    """Return what the choice's header is, and what the same chunks find without it, if they were tried."""
    candidate, current = recommendation.candidates[label], recommendation.current
    own, kind = split_header(Spec.parse(candidate.name))
    if kind == "none":
        return []
    sentences = [f"Each chunk begins with a header: {KINDS[kind]}."]
    plain = replace(candidate, name=str(own)).label
    is_said = current is not None and current.label == plain
    if recommendation.evidence and not is_said and all(plain in evidence.means for evidence in recommendation.evidence):
        less = more_points(recommendation.mean(plain) - recommendation.mean(label))
        sentences.append(f"Without it, the same chunks find {less}.")
    return [" ".join([*sentences, "Any chunker of this tool can have such a header."])]


def _sure(recommendation: Recommendation) -> str:
    """Return if the lead over the current chunker holds among all candidates: its interval is that of one pair."""
    assert recommendation.current is not None
    is_significant = any(recommendation.current.label in one.worse for one in recommendation.evidence)
    tried = len(_measured_labels(recommendation))
    if is_significant:
        return f" Corrected for all {tried} candidates, the gain is significant."
    of_history = any(one.protocol == "commits" for one in recommendation.evidence)
    one = "one file or one period of the history" if of_history else "one file"
    doubt = f"Corrected for all {tried} candidates, the gain is not certain: it may be chance, or due to {one}."
    interval = "The interval compares" if len(recommendation.current.gains) == 1 else "Each interval compares"
    return f" {interval} these two alone. {doubt}"


def _measured_labels(recommendation: Recommendation) -> set[str]:
    return {name for evidence in recommendation.evidence for name in evidence.means}


def _compared_costs(recommendation: Recommendation, current: str, choice: str) -> list[str]:
    """Return what the choice costs less, or more, than the current chunker: tokens, and embedding per edit."""
    parts = []
    now, then = recommendation.tokens(current), recommendation.tokens(choice)
    if now and then:
        parts.append(f"its chunks have {_less(now, then, 'fewer', 'about as many')} tokens")
    costs = [recommendation.costs.get(label) for label in (current, choice)]
    old, new = (cost.edited if cost else None for cost in costs)
    if old and new is not None:
        parts.append(f"after an edit, {_less(old, new, 'less', 'about as much')} text is embedded again")
    return [f"{parts[0][0].upper()}{parts[0][1:]}", *parts[1:]] if parts else []


def _more_chunks(recommendation: Recommendation) -> str:
    """Return how many chunks of the choice have as many tokens as those that are read today, if the number differs."""
    current, choice = recommendation.current, recommendation.choice
    now, then = (one and recommendation.tokens(one.label) for one in (current, choice))
    chunks = round(READ * now / then) if now and then else READ
    return "" if chunks == READ else f" Where you retrieve {READ} chunks now, retrieve {chunks} for as much text."


def _less(old: float, new: float, less: str, equal: str) -> str:
    """Return by how much a cost falls or rises; `equal` for less than half a percent."""
    saved = 1 - new / old
    return equal if abs(saved) < 0.005 else f"{_percent(abs(saved))} {less if saved > 0 else 'more'}"


def _cost(recommendation: Recommendation) -> list[str]:
    """Return what the choice costs: tokens of a query, the index, and an edit."""
    assert recommendation.choice is not None
    label = recommendation.choice.label
    tokens, cost = recommendation.tokens(label), recommendation.costs.get(label)
    if cost is None:
        return []
    vectors = f"; if you embed them, the vectors take {cost.vector_bytes / 1e6:,.1f} MB" if cost.vector_bytes else ""
    facts = [] if tokens is None else [f"{READ} retrieved chunks have about {tokens:,.0f} tokens"]
    facts.append(f"the index has {count(cost.chunks, 'chunk')}{vectors}")
    if cost.edited is not None and cost.edit_tokens is not None:
        mean = f"about {cost.edit_tokens:,.0f} tokens (mean of the last {count(recommendation.edits, 'edit')})"
        facts.append(f"after an edit, {_percent(cost.edited)} of the file is embedded again: {mean}")
    elif cost.edited is not None:
        mean = f"mean of {recommendation.edits_elsewhere} other repositories, as this source has no edits"
        facts.append(f"after an edit, about {_percent(cost.edited)} of the file is embedded again ({mean})")
    first, *others = facts
    return [" ".join([f"Costs: {first}.", *(f"{said[0].upper()}{said[1:]}." for said in others)])]


_COUNTED = {"exact": "the changed lines alone are the target", "definitions": "whole definitions are the target"}


def _lead(recommendation: Recommendation) -> list[str]:
    """Say so where another gold turns the lead of the choice over its rival, or the rival's."""
    lead = recommendation.lead
    if lead is None or not lead.turned:
        return []
    turned = " and ".join(f"{more_points(difference)} if {_COUNTED[gold]}" for gold, difference in lead.turned.items())
    finds = "more" if lead.differences["lines"] > 0 else "less"
    return [f"On your commits, the choice finds {finds} than {lead.rival}. However, it finds {turned}."]


def _retrievers(choice: RetrieverChoice, chosen: str) -> str:
    """Return what each retriever finds more or less than the first, and what reading more chunks finds."""
    named = "the choice" if choice.label == chosen else choice.label
    first, *others = choice.scores
    differences = [(retriever_name(one.retriever), one.difference or 0.0, one.ci) for one in others]
    compared = ", and ".join(f"{by} finds {more_points(more)}{ends_in_points(ci)}" for by, more, ci in differences)
    protocol = choice.protocol
    queries = f"With {_ASKED[protocol]} as queries" if protocol in _ASKED else f"Under protocol {protocol}"
    beside = f"{queries}, on the chunks of {named}: compared with {retriever_name(first.retriever)}, {compared}."
    sentences = [beside] if others else []
    what = "definitions" if protocol == "uses" else "lines"
    for i, one in enumerate(choice.readings):
        tokens = f" ({one.tokens:,.0f} tokens)" if one.tokens else ""
        begins = "The" if i else f"{queries} and {retriever_name(choice.best)} as retriever, the"
        of, ends = ("", "") if i else (f" chunks of {named}", f" of the target {what}")
        sentences.append(f"{begins} top {one.chunks}{of}{tokens} contain {_percent(one.share)}{ends}.")
    return " ".join(sentences)


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
    if recommendation.relies_on_others:
        return (
            f"Your queries ({own}) come from only {clusters}, so this choice rests mainly on results from other "
            "repositories."
        )
    return f"This is based on {own}, from {clusters}."


def _own_best(recommendation: Recommendation) -> list[str]:
    """Name the candidate that finds more here than the choice, and why it is not chosen."""
    assert recommendation.decision is not None
    choice = recommendation.decision.choice
    best = max(recommendation.decision.candidates, key=lambda one: one.own)
    lead = in_points(best.own - choice.own)
    current = recommendation.current.label if recommendation.current else None
    if best.name in {choice.name, current} or lead == NO_POINTS:
        return []
    behind = in_points(choice.prior - best.prior)
    reason = f"on other repositories it finds {behind} less"
    why = "other chunkers of its kind find less" if behind == NO_POINTS else reason
    return [f"On your code, {best.name} finds {lead} more than the choice. It is not chosen, because {why}."]


def _default(recommendation: Recommendation) -> list[str]:
    """Return the answer where nothing was measured: the default, what shows it, and what would be better."""
    default = recommendation.default
    assert default is not None
    few = _few(recommendation)
    reason = f"{' and '.join(few)}; a choice needs at least {FEWEST_TASKS}" if few else "no query to compare them by"
    of = f"{default.language} repositories" if default.language else "repositories in other languages"
    ranked = " and ".join(map(retriever_name, default.retrievers))
    shown = f"The default comes from {default.repositories} {of}, ranked by {ranked}."
    return [
        f"Use {described(recommendation.candidates[default.label])}: the default.",
        *_header(recommendation, default.label),
        f"Chunkers cannot be compared on this code: it has {reason}. {shown} {_risk(default)}",
        *_unmeasured(recommendation),
        *_covers(recommendation),
        "To measure on your code, "
        + ("give more queries" if "questions" in recommendation.few else "name more of it, or give your own queries")
        + " with --queries.",
    ]


def _unmeasured(recommendation: Recommendation) -> list[str]:
    """Return what other repositories show of the current chunker, where nothing was measured."""
    current, default = recommendation.current, recommendation.default
    if current is None or default is None:
        return []
    if default.lead is None:
        return [f"{current.label} could not be measured either, and no other repository has scores of it."]
    # The scores are by chunker, header and size: of other options, such as an overlap, nothing is known.
    name = known_name(current.label.partition(" at ")[0])
    like_it = f"{name}{' at this size' if default.of_size else ', averaged over sizes,'}"
    finds = more_points(-default.lead) + ("" if in_points(abs(default.lead)) == NO_POINTS else " than the default")
    return [f"{current.label} could not be measured either. On these repositories {like_it} finds {finds}."]


def _covers(recommendation: Recommendation) -> list[str]:
    """Return what the answer is about, where that is not all of the code, or code in several languages."""
    read, unread = sum(recommendation.files.values()), sum(recommendation.unread.values())
    lines = []
    if unread >= _MUCH * (read + unread):
        kinds = few_of(recommendation.unread, 3)
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
        lines.append(f"The code is {shares}. Each block of lines to paste names the language of its files.")
    return lines


def described(candidate: SizedChunker) -> str:
    """Return a candidate with its size in words: `ast with chunks of up to 1,260 characters`.

    >>> from repoeval_bench.analysis.evidence import SizedChunker
    >>> described(SizedChunker(name="window", size=500, spec="window:lines=18,step=9"))
    'window with chunks of 18 lines'
    >>> described(SizedChunker(name="haystack", size=500, spec="haystack:max_effective_lines=45,min_effective_lines=9"))
    'haystack with max_effective_lines=45'
    """
    spec = Spec.parse(candidate.spec)
    option = size_option(spec)
    if option is None or candidate.size is None:
        return f"the chunker {candidate.name}"
    value = int(spec.params[option])
    if option == "lines":
        return f"{candidate.name} with chunks of {count(value, 'line')}"
    if option not in SIZE_OPTIONS:  # its unit is not known
        return f"{candidate.name} with {option}={value}"
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
    best = default or (recommendation.decision.choice if recommendation.decision else None)
    named = "the default" if default else "the choice"
    beside = f", against {in_points(best.expected_loss)} for {named}" if best else ""
    alone: dict[str, int] = Counter(setup.framework for setup in recommendation.setups)
    for setup in recommendation.setups:
        unmeasured = "" if setup.measured or default else "; not measured here, estimated from other repositories"
        files = f" for {setup.language} files" if alone[setup.framework] > 1 else ""
        title = f"{setup.framework}{files}: {named}"
        if setup.candidate != choice:
            loss = f"expected loss {in_points(setup.expected_loss)}{beside}"
            title = f"{setup.framework}'s best setting{files} ({setup.candidate}): {loss}"
        lines = (setup.imports, f"chunker = {setup.code}", *([setup.use] if setup.use else []))
        setups.append((f"{title}{unmeasured}", lines))
    return setups


def setup_lines(recommendation: Recommendation) -> list[str]:
    """Return the same as lines of text, the Python indented."""
    return [
        line
        for title, code in setups_to_paste(recommendation)
        for line in (title, *(f"    {code_line}" for code_line in code))
    ]


def candidate_columns(recommendation: Recommendation) -> list[Column]:
    """The columns of the candidates in their order, of a `RankedCandidate` each."""

    def mean(evidence: Evidence) -> Column:
        name = f"{evidence.protocol} {evidence.retriever}"
        return number(name, lambda candidate: evidence.means.get(candidate.name), ".1%", missing="")

    def cost(key: str) -> Callable[[RankedCandidate], Any]:
        def value(candidate: RankedCandidate) -> Any:
            known = recommendation.costs.get(candidate.name)
            return known and getattr(known, key)

        return value

    def megabytes(candidate: RankedCandidate) -> float | None:
        size = cost("vector_bytes")(candidate)
        return None if size is None else size / 1e6

    return [
        Column(name="candidate", value=lambda candidate: candidate.name),
        *map(mean, recommendation.evidence),
        number(
            "expected loss (points)",
            lambda candidate: 100 * candidate.expected_loss,
            ".1f",
            missing="",
            key="expected_loss",
        ),
        number(f"tokens of {READ} chunks", lambda candidate: recommendation.tokens(candidate.name), ",.0f", missing=""),
        number("chunks", cost("chunks"), ",.0f", missing=""),
        number("vectors (MB)", megabytes, ",.1f", missing=""),
        number("embedded again", cost("edited"), ".0%"),
    ]


def recommendation_table(recommendation: Recommendation, *, details: bool = False) -> Table:
    """Return a row for each candidate, the least expected loss first; six of them unless `details`."""
    if recommendation.decision is None:
        return make_table([], [], notes=[f"skipped: {line}" for line in recommendation.skipped])
    ranked = recommendation.decision.candidates
    shown = ranked if details else ranked[:_SHOWN]
    notes = [f"skipped: {line}" for line in recommendation.skipped]
    if any(recommendation.candidates[one.name].size for one in shown):
        like = f"{BASELINE}:max_nws=N"
        notes.append(f"at N: chunks are on average as large as those of {like} (within 5 % where possible)")
    if few_queries := _few(recommendation):
        notes.append(f"ignored, with fewer than {FEWEST_TASKS} queries: {', '.join(few_queries)}")
    notes += _meanings(recommendation)
    if any(cost.edited is not None for cost in recommendation.costs.values()):
        others = f"commits of {recommendation.edits_elsewhere} other repositories"
        edits = count(recommendation.edits, "edit") if recommendation.edits else others
        share = "share of a file that must be embedded again after an edit (- if not measured)"
        notes.append(f"embedded again: {share}, mean over {edits}")
    queries = {one.protocol: count(one.n_queries, "query") for one in recommendation.evidence}
    notes.append(f"scores are means over {', '.join(f'{n} of {name}' for name, n in queries.items())}")
    return table_of(known_columns(recommendation, shown), shown, notes=notes)


def known_columns(recommendation: Recommendation, shown: Sequence[RankedCandidate]) -> list[Column]:
    """Return the columns with a value for some candidate: without commits, nothing is known of edits."""
    return [
        column
        for column in candidate_columns(recommendation)
        if column.value and any(column.value(one) is not None for one in shown)
    ]


def _meanings(recommendation: Recommendation) -> list[str]:
    """Return what the measures of the columns mean: those over all budgets in one note, as few notes are shown."""
    by_measure: dict[str, list[str]] = {}
    for one in recommendation.evidence:
        by_measure.setdefault(one.measure, []).append(f"{one.protocol} {one.retriever}")
    named = {measure: " and ".join(dict.fromkeys(names)) for measure, names in by_measure.items()}
    if all(measure.endswith("_auc") for measure in named):
        shares = " or ".join(f"{heading(measure).removesuffix(' found')} ({names})" for measure, names in named.items())
        over = "averaged over budgets up to 12,000 non-whitespace characters"
        return [f"scores: share of the target {shares} retrieved, {over}"]
    return [f"{names}: {meaning_of(measure) or heading(measure)}" for measure, names in named.items()]


def _few(recommendation: Recommendation) -> list[str]:
    return [f"{count(number, 'query')} of {name}" for name, number in recommendation.few.items()]


def _measured(recommendation: Recommendation, label: str) -> str:
    """Return how much the choice finds, by each question, and on how many files: the mean over the retrievers."""
    parts: dict[str, str] = {}
    files: dict[str, str] = {}
    for question in recommendation.evidence:
        finds = _FINDS.get(question.protocol, f"{{}} under protocol {question.protocol}")
        mean = _percent(recommendation.mean(label, question.protocol))
        parts[question.protocol] = finds.format(mean, question.n_queries)
        files[question.protocol] = cluster_count(question.n_clusters, question.clustered_by)
    it = "The choice" if recommendation.current and recommendation.current.gains else "It"
    finds = " and ".join(f"{finds} ({files[protocol]})" for protocol, finds in parts.items())
    sentences = [f"{it} finds {finds}."]
    if "commits" in parts:
        sentences.append("The target is the lines that a commit changed, and up to five around each.")
    if GROUP in {question.clustered_by for question in recommendation.evidence}:
        sentences.append("Files that share a query (such as the same docstring) count as one group.")
    if all(question.measure.endswith("_auc") for question in recommendation.evidence):
        shares = "This share is a mean" if len(parts) == 1 else "These shares are means"
        sentences.append(f"{shares} over budgets of 0 to 12,000 retrieved characters.")
    return " ".join(sentences)


def _risk(first: RankedCandidate | Default) -> str:
    lost = in_points(first.expected_loss).replace("point", "percentage point")
    return f"Expected loss: we estimate that the best candidate, whichever it is, finds {lost} more than this one."


def _window(recommendation: Recommendation, label: str) -> list[str]:
    shares = [share for evidence in recommendation.evidence if (share := evidence.cut.get(label))]
    if not shares:
        return []
    return [
        f"The embedding model reads only the start of a text. It truncates {_percent(max(shares))} of these chunks."
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _close(recommendation: Recommendation) -> str:
    others = len(_measured_labels(recommendation)) - 1
    better = [(name, evidence) for evidence in recommendation.evidence for name in evidence.better]
    worse = [evidence for evidence in recommendation.evidence if evidence.worse]
    parts = []
    if worse:
        of = f" of the {count(others, 'other')}"
        where = (f"{len(one.worse)}{'' if i else of} under {evidence_name(one)}" for i, one in enumerate(worse))
        *first, last = where
        best = f"The choice is significantly better than {', '.join(first)}{' and ' if first else ''}{last}"
        parts.append(f"{best} (corrected for all pairs of candidates).")
    if better:
        name, evidence = max(better, key=lambda pair: pair[1].means[pair[0]])
        parts.append(f"Under {evidence_name(evidence)}, {name} is significantly better than the choice.")
    most = _largest(recommendation)
    needed = fewest_clusters(comb(len(most.means), 2))
    if not parts and most.n_clusters < needed:
        return (
            f"Your queries come from only {cluster_count(most.n_clusters, most.clustered_by)}. With {len(most.means)} "
            f"candidates to compare, no difference can be significant below {cluster_count(needed, most.clustered_by)}."
        )
    parts = parts or [
        f"After correction for all pairs of {others + 1} candidates, no difference from the choice is significant, "
        "not even the largest in the table."
    ]
    if most.n_clusters < _SMALL:
        parts.append(f"With so few {plural(most.clustered_by)}, a real difference may go unnoticed.")
    return " ".join(parts)


def _largest(recommendation: Recommendation) -> Evidence:
    """Return the evidence with the most clusters."""
    return max(recommendation.evidence, key=lambda evidence: evidence.n_clusters)


def evidence_name(evidence: Evidence) -> str:
    """Return the questions and their retrievers, in words: `uses with BM25`."""
    return f"{evidence.protocol} with {retriever_name(evidence.retriever)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow(RankedCandidate):
    """A candidate of a recommendation; scores are minus the mean over all candidates."""

    tokens_per_query: float | None
    chunks: int | None
    vector_bytes: int | None
    edited: float | None
    edit_tokens: float | None
    spec: str
    """What `--chunker` takes."""
    size: int | None


class RecommendationRow(AboutCode):
    """All that `recommend --json` prints; `choice` is null where nothing could be measured."""

    # Every field is printed, so the schema requires those with a default too.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    source: str
    """The folder or pack whose queries decide."""
    holds: str
    language: str
    choice: CandidateRow | None
    cheaper: CandidateRow | None
    answer: list[str]
    """The answer in sentences, which may change with any version."""
    candidates: list[CandidateRow]
    evidence: tuple[Evidence, ...]
    too_few_queries: Mapping[str, int]


def recommendation_record(recommendation: Recommendation, source: str) -> RecommendationRow:
    """Return every field: the choice for a `source`, the losses, the setups to paste, and the evidence."""
    decision = recommendation.decision
    rows = [_candidate_row(recommendation, candidate) for candidate in (decision.candidates if decision else ())]
    cheaper = None if decision is None else decision.cheaper
    return RecommendationRow(
        source=source,
        holds=HOLDS,
        language=recommendation.language,
        **{name: getattr(recommendation, name) for name in AboutCode.model_fields},
        choice=rows[0] if rows else None,
        cheaper=None if cheaper is None else _candidate_row(recommendation, cheaper),
        answer=answer_lines(recommendation),
        candidates=rows,
        evidence=recommendation.evidence,
        too_few_queries=recommendation.few,
    )


def _candidate_row(recommendation: Recommendation, candidate: RankedCandidate) -> CandidateRow:
    chunker, cost = recommendation.candidates[candidate.name], recommendation.costs.get(candidate.name)
    return CandidateRow(
        **asdict(candidate),
        **(cost.model_dump() if cost else dict.fromkeys(Cost.model_fields)),
        tokens_per_query=recommendation.tokens(candidate.name),
        spec=chunker.spec,
        size=chunker.size,
    )
