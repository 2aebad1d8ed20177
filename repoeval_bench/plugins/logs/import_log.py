"""Store a run log of another system as a run folder, so that every command reads it like a run made here."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import Any

import click

from repoeval_bench.cli.console import echo, print_json
from repoeval_bench.cli.options import INPUT, json_option, measures_option, note, out_option
from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_text, short_hash, slug
from repoeval_bench.core.words import count, one_line
from repoeval_bench.metrics import DEFAULT_MEASURES, LINE_MEASURES, Measure, RunScores, inputs_of, score_run
from repoeval_bench.plugins.logs import import_gold
from repoeval_bench.plugins.logs.records import LogError
from repoeval_bench.report.text import heading
from repoeval_bench.runs import records
from repoeval_bench.runs.log import LoggedChunk, LogRow
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.store import check_writable, jsonl, write_folder
from repoeval_bench.runs.trec import format_qrels, run_lines
from repoeval_bench.runs.view import RunView

LINE_HEADLINE = "line_recall_auc"
"""The headline measure of imported runs that have lines."""


def import_run(
    log: Path,
    gold: Path,
    results: Path,
    *,
    created: str,
    measures: Sequence[str] = (),
    corpus: Path | None = None,
    files: Path | None = None,
    depth: int | None = None,
) -> RunView:
    """Judge a log, or a TREC run (see `records`), and store it as a run.

    Every query of the gold is scored, with 0 if the log lacks it. Queries of the log without gold are skipped and
    counted. `no_answer` queries stay in the log and are not scored. `files` is a
    folder with the sources, or a run's sources.jsonl.gz: with it and with gold of lines, line measures are scored too.
    `depth` is that of a TREC run. Without `measures` the usual ones are scored; judged@5, judged@10 and bpref always
    are. A measure of lines without lines is a UsageError. A log and a gold that are broken, share nothing that could
    match, or contradict each other, are a LogError.
    """
    places = import_gold.read_corpus(corpus) if corpus else None
    rows = {row.query_id: row for row in import_gold.read_log(log, places, depth)}
    if places is not None:
        import_gold.check_places(log, rows.values(), places)
    chunks = import_gold.by_file(import_gold.hits_of(rows.values()) if places is None else places.values())
    judgements = import_gold.judge_log(chunks, gold, rows, has_corpus=corpus is not None)
    known = judgements.known(rows, gold, log, corpus=corpus is not None)
    lines = _lines(rows, judgements, places or {}, files)
    imported = _Import(
        path=log,
        gold=gold,
        rows=rows,
        judgements=judgements,
        lines=lines,
        measures=_resolved_measures(measures, lines, judgements),
        known=known,
        digests=[_digest(path) if path else None for path in (log, gold, corpus)],
    )
    return imported.store(results, created)


def _digest(path: Path) -> str:
    """Hash the content of a file, unpacked."""
    with json_reader.opened(path) as stream:
        return file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _rankings(rows: Mapping[str, LogRow]) -> dict[str, list[tuple[str, float]]]:
    return {query_id: [(hit.chunk_id, hit.score) for hit in row.topk] for query_id, row in rows.items()}


def _lines(
    rows: Mapping[str, LogRow],
    judgements: import_gold.Judgements,
    corpus: Mapping[str, LoggedChunk],
    files: Path | None,
) -> import_gold.LineInputs | None:
    """Return the inputs of line measures; None without sources, or if the gold names no lines."""
    if files is None or judgements.kind != "lines":
        return None
    places = import_gold.places_of([*corpus.values(), *chain(*(row.topk for row in rows.values()))])
    gold = {query_id: judgements.places[query_id] for query_id in judgements.gains}
    return import_gold.LineInputs.of(_rankings(rows), places, gold, files)


def _resolved_measures(
    measures: Sequence[str], lines: import_gold.LineInputs | None, judgements: import_gold.Judgements
) -> Sequence[str]:
    """Return the measures, or the usual ones; a UsageError if one needs lines and there are none."""
    if not measures:
        return (*LINE_MEASURES, *DEFAULT_MEASURES) if lines else DEFAULT_MEASURES
    if lines is None and (lacking := [name for name in measures if inputs_of([name]) == import_gold.INPUTS]):
        why = (
            "the size of a line is counted in the sources; name their folder with --files"
            if judgements.kind == "lines"
            else f"the gold names {judgements.kind}; give it as line ranges, and the sources with --files"
        )
        raise UsageError(f"{', '.join(lacking)}: {why}")
    return measures


@dataclass(frozen=True, kw_only=True)
class _Import:
    """A log beside its judgements, and the files of its run."""

    path: Path
    gold: Path
    rows: Mapping[str, LogRow]
    """query_id -> its row of the log."""
    judgements: import_gold.Judgements
    lines: import_gold.LineInputs | None
    measures: Sequence[str]
    known: int
    """The gold's files or chunk ids that log or corpus have."""
    digests: Sequence[str | None]
    """The hashes of log, gold and corpus."""

    def store(self, results: Path, created: str) -> RunView:
        """Write the run into a folder of results."""
        # What a TREC file cannot hold, such as scores that rise, is refused before any writing.
        rankings = {q: ranking for q, ranking in self.rankings.items() if q in self.judgements.gains}
        for _ in run_lines(rankings, self.first.system):
            pass
        qrels, factor = format_qrels(self.judgements.gains)
        folder = write_folder(
            results / self.run_id,
            manifest=self.manifest(created, factor),
            metrics=self.metrics(),
            queries=self.query_rows(),
            timings=self.times(),
            qrels=qrels,
            log=(jsonl([row.model_dump(exclude_none=True, exclude={"latency_ms"})]) for row in self.stored.values()),
        )
        return RunView(folder)

    @property
    def first(self) -> LogRow:
        """The first row of the log."""
        return next(iter(self.rows.values()))

    @cached_property
    def rankings(self) -> dict[str, list[tuple[str, float]]]:
        """Each query's chunk ids with scores, best first."""
        return _rankings(self.rows)

    @cached_property
    def run_id(self) -> str:
        """The id of the run, over everything that decides its numbers."""
        sources = {name: sha256_text(file.text) for name, file in self.lines.files.items()} if self.lines else {}
        digest = short_hash(json.dumps([self.digests, self.first.k_raw, [*self.measures], sources]))
        return f"imported-{self.dataset.fingerprint}_{slug(self.first.system)}-{digest[:8]}"

    @cached_property
    def dataset(self) -> records.DatasetRecord:
        """The gold as a data set; its fingerprint is over chunk ids in any format, or over lines in any order."""
        content: Any = self.judgements.gains
        if self.judgements.kind != "chunks":
            lines = json_reader.read_text(self.gold).splitlines()
            content = sorted(line.strip() for line in lines if line.strip())
        fingerprint, n = short_hash(json.dumps(content, sort_keys=True), 12), len(self.judgements.gains)
        label = f"imported, {count(n, 'query')} · data {fingerprint}"
        return records.DatasetRecord(name=f"imported-{self.gold.stem}", fingerprint=fingerprint, label=label, tasks=n)

    @cached_property
    def repositories(self) -> Mapping[str, str]:
        """Return query_id -> repository, of all queries or of none; a LogError if it is known of some alone."""
        known, gains = self.judgements.named(import_gold.REPOSITORY), self.judgements.gains
        if known and (lacking := [query_id for query_id in gains if query_id not in known]):
            raise LogError(
                f"{len(lacking)} of {len(gains)} queries name no repository (such as {lacking[0]}); name it in the "
                "rows of the gold, for all queries or for none"
            )
        return known

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """Return query_id -> conversation, where it is known and the gold's files do not decide."""
        return self.judgements.named(import_gold.CONVERSATION) if self.judgements.kind == "chunks" else {}

    @cached_property
    def stored(self) -> dict[str, LogRow]:
        """The rows of the log that are stored: those of queries with gold or without an answer."""
        return {q: row for q, row in self.rows.items() if q in self.judgements.gains or row.no_answer}

    @cached_property
    def _scored(self) -> tuple[RunScores, dict[str, list[float]]]:
        """Score the rankings; return the scores, and measure -> one value per query."""
        gains = self.judgements.gains
        relevant = {query_id: {c: g for c, g in of_query.items() if g > 0} for query_id, of_query in gains.items()}
        by_lines = [name for name in self.measures if self.lines and inputs_of([name]) == import_gold.INPUTS]
        scores = score_run(self.rankings, relevant, [name for name in self.measures if name not in by_lines])
        columns = dict(scores.values)
        if self.lines:
            columns |= score_run(self.lines.rankings, relevant, by_lines, self.lines.context).values
        condensed = self.judgements.condensed(self.rankings)
        return scores, {name: columns[name].tolist() for name in self.measures} | condensed

    @property
    def counts(self) -> records.Counts:
        """Return how many queries are scored and how many are not, and how much of the gold is known, if little."""
        named, gains = len(self.judgements.judged), self.judgements.gains
        scores, _ = self._scored
        *_, corpus = self.digests
        # Without a corpus the log shows a part of all chunks, and what it lacks may just not be retrieved.
        few = self.known < named if corpus else 2 * self.known < named
        return records.Counts(
            queries=len(gains),
            queries_without_relevant=scores.without_relevant,
            queries_not_in_log=scores.missing,
            queries_without_gold=len(self.rows.keys() - self.stored.keys()),
            queries_no_answer=sum(bool(row.no_answer) for row in self.rows.values()),
            queries_without_cluster=len(gains) - len(self.clusters) if self.clusters else 0,
            **({"gold_names": named, "gold_names_known": self.known} if few else {}),
            **({"queries_not_read": self.lines.unread} if self.lines else {}),
        )

    def metrics(self) -> records.Metrics:
        """Return the content of metrics.json; if no repository is named, macro and micro are the same."""
        first, (_, values) = self.first, self._scored
        repos = [self.repositories.get(query_id, "all") for query_id in self.judgements.gains]
        parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
        return records.Metrics(
            run_id=self.run_id,
            imported=True,
            dataset=self.dataset,
            protocol=f"imported+gold={self.judgements.kind}" + ("+pooled" if self.judgements.pooled else ""),
            headline="micro",
            headline_measure=LINE_HEADLINE if LINE_HEADLINE in values else None,
            chunker=one_line(first.chunker.algo + (f":{parameters}" if parameters else "")),
            embedder=one_line(f"index {first.index_version}"),
            retriever=one_line(first.system),
            k=first.k_raw,
            counts=self.counts,
            **dict(records.Means.of(values, repos)),
        )

    def manifest(self, created: str, gain_factor: int) -> records.Manifest:
        """The content of manifest.json."""
        return records.Manifest(
            schema=records.SCHEMA,
            run_id=self.run_id,
            created=created,
            imported=records.ImportSource(
                log=self.path.name, gold=self.gold.name, gold_kind=self.judgements.kind, pooled=self.judgements.pooled
            ),
            dataset=self.dataset,
            counts=self.counts,
            qrels_gain_factor=gain_factor,
            index_version=self.first.index_version,
            code=code_state(),
            versions=versions(),
        )

    def query_rows(self) -> Iterator[records.QueryRow]:
        """The rows of per_query.jsonl.gz."""
        _, values = self._scored
        for i, (query_id, gains) in enumerate(self.judgements.gains.items()):
            yield records.QueryRow(
                query_id=query_id,
                repo=self.repositories.get(query_id),
                gold_files=self.judgements.files.get(query_id, ()),
                cluster=self.clusters.get(query_id),
                cluster_by=import_gold.CONVERSATION if self.clusters else None,
                n_relevant=sum(gain > 0 for gain in gains.values()),
                facts=self.facts(query_id),
                measures={name: column[i] for name, column in values.items()},
            )

    def facts(self, query_id: str) -> dict[str, Any]:
        """Return what the log says of a query, by which it can be segmented."""
        row = self.rows.get(query_id)
        return row.model_dump(include={"source", "no_answer", "query_tokens"}, exclude_none=True) if row else {}

    def times(self) -> list[records.TimeRow]:
        """The rows of timings.jsonl."""
        times = {q: row.latency_ms.model_dump(exclude_none=True) for q, row in self.stored.items() if row.latency_ms}
        return [records.TimeRow(query_id=query_id, latency_ms=steps) for query_id, steps in times.items() if steps]


@click.command("import")
@click.argument("log", metavar="LOG", type=INPUT)
@click.option(
    "--gold",
    required=True,
    type=INPUT,
    metavar="FILE",
    help="JSONL: query_id with a chunk_id, a file, or a file and its lines; or qrels of TREC or BEIR.",
)
@click.option(
    "--corpus",
    type=INPUT,
    metavar="FILE",
    help="JSONL: every chunk_id with its file and lines; without it, the log's chunks count as all.",
)
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True),
    metavar="FOLDER",
    help="The sources, named as in gold and log, or a run's sources.jsonl.gz, for line measures.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="K",
    help="The depth of a TREC run; by default the length of its longest ranking.",
)
@measures_option("A measure such as ndcg@10 instead of the default ones; may be repeated.")
@out_option
@json_option
def import_command(
    *,
    log: Path,
    gold: Path,
    corpus: Path | None,
    files: Path | None,
    depth: int | None,
    measures: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Judge LOG (JSONL, see docs/logs.md) against a gold file, and store it as a run.

    The run can then be compared, segmented, gated and exported like any other. LOG and gold may also be files of TREC,
    under any name but .jsonl, .json and .tsv.
    """
    check_writable(out)
    run = import_run(
        log,
        gold,
        out,
        measures=[str(Measure.parse(name)) for name in measures],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        corpus=corpus,
        files=files,
        depth=depth,
    )
    note(f"{run.metrics.retriever} -> {shown_place(run.folder)}")
    notes = [*_notes(run)]
    if as_json:
        print_json(run.metrics.as_json() | {"notes": notes})
        return
    echo(f"{run.metrics.dataset.label} · {run.metrics.protocol}")
    for name, value in run.metrics.micro.items():
        echo(f"{heading(name):<14} {value:.4f}")
    for sentence in notes:
        echo(f"note: {sentence}")


def _notes(run: RunView) -> Iterator[str]:
    """Yield what limits the numbers of an imported run."""
    counts, imported = run.counts, run.manifest.imported
    queries = {
        "of the gold without a row in the log, with the score 0": counts.queries_not_in_log,
        "without a relevant chunk, with the score 0": counts.queries_without_relevant,
        "of the log without gold, not scored": counts.queries_without_gold,
        "that name no cluster, each counted as a cluster of its own": counts.queries_without_cluster,
        "with a chunk of which file or lines are not known: it is read up to there, so line measures are lower "
        "bounds": counts.queries_not_read,
        "without an answer, not scored; `logs pipeline` says what they were given": counts.queries_no_answer,
    }
    yield from (f"{count(number, 'query')} {what}" for what, number in queries.items() if number)
    if counts.gold_names and imported:
        names = "chunk ids" if imported.gold_kind == "chunks" else "files"
        yield (
            f"only {counts.gold_names_known} of the gold's {counts.gold_names} {names} are in the log or the corpus, "
            "so the others are not found; check that they are named alike"
        )
    if counts.queries_not_read is None:
        why = "the sizes of lines are not known; name the folder of the sources with --files"
        if imported and imported.gold_kind != "lines":
            why = f"the gold names {imported.gold_kind}, not lines"
        yield f"no line measures for {count(counts.queries, 'query')}: {why}"
    if imported and imported.gold_kind == "files":
        yield "gold that names whole files says nothing about chunking: every chunk of such a file is relevant"
    if imported and imported.pooled:
        yield "relevant chunks the log does not show are not counted: recall is too high without --corpus"
