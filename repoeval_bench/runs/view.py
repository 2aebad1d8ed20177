"""The one reader of run folders: commands, comparisons and reports read a run through a `RunView`."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.extras import PROJECT, require
from repoeval_bench.core.run import Qrels, Ranking
from repoeval_bench.runs import records
from repoeval_bench.runs.inspection import Inspection, read_inspection
from repoeval_bench.runs.log import Hit, LogRow, in_full, read_log
from repoeval_bench.runs.parts import kinds
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.request import NO_EMBEDDER
from repoeval_bench.runs.trec import as_field, read_qrels, run_lines

_Model = TypeVar("_Model", bound=BaseModel)

# The way out for every damaged run.
_AGAIN = "make the run again"


class QueryRows(list[dict[str, Any]]):
    """A dict for each query: query_id, repo, path, n_relevant, then every measure and fact by its name."""

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for each query; UsageError if pandas is not installed."""
        require("a data frame", "pandas")
        return import_module("pandas").DataFrame(list(self))


@dataclass(frozen=True, repr=False)
class RunView:
    """A run folder. Files are read on first use; ResultError if one is missing or broken.

    `label` is the name that a user gave it for tables and pages; it is not stored.
    """

    folder: Path
    label: str = field(default="", compare=False)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return the run in a folder; ResultError if its manifest is broken or of another version."""
        run = cls(folder)
        _ = run.manifest
        return run

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.folder.name

    @cached_property
    def manifest(self) -> records.Manifest:
        """Manifest of the run; ResultError if another version wrote the folder."""
        with self._explained(records.MANIFEST):
            text = json_reader.read_document(self.folder / records.MANIFEST)
            content: Any = None
            with suppress(json_reader.JsonFaultError):  # a broken manifest is explained below
                content = json_reader.parse_loose(text)
            schema = content.get("schema") if isinstance(content, dict) else None
            if type(schema) is int and schema != records.SCHEMA:
                is_later = schema > records.SCHEMA
                which, way_out = ("a later", "update repoeval-bench") if is_later else ("an earlier", _AGAIN)
                known = f"schema {schema}, this one reads {records.SCHEMA}"
                raise ResultError(f"{self.folder} was made by {which} version ({known}); {way_out}")
            return json_reader.parse(text, records.Manifest)

    @cached_property
    def metrics(self) -> records.Metrics:
        """Means over queries, over repositories and per repository."""
        with self._explained(records.METRICS):
            return json_reader.parse(json_reader.read_document(self.folder / records.METRICS), records.Metrics)

    @property
    def counts(self) -> records.Counts:
        """Counts of queries, chunks and files, truncated and skipped ones too."""
        return self.metrics.counts

    @cached_property
    def scores(self) -> QueryScores:
        """Every query's scores as columns."""
        return QueryScores.from_rows(self.query_rows())

    def per_query(self) -> QueryRows:
        """Return a plain row for each query, with `to_pandas`."""
        return QueryRows(
            {
                "query_id": row.query_id,
                "repo": row.repo,
                "path": row.path,
                "n_relevant": row.n_relevant,
                **row.facts,
                **row.measures,
            }
            for row in self.query_rows()
        )

    def __repr__(self) -> str:
        return f"<RunView {self.run_id}>"

    def query_rows(self) -> Iterator[records.QueryRow]:
        """Return the rows of per_query.jsonl.gz, read lazily."""
        return self.rows(records.PER_QUERY, records.QueryRow)

    def log_rows(self) -> Iterator[LogRow]:
        """Return the rows of the run log, read lazily."""
        return (in_full(row, hits) for row, hits in self._log())

    def ranked(self) -> dict[str, Ranking]:
        """Return query_id -> ranked (chunk_id, score), best first, from the run log."""
        return {row.query_id: _ranking(hits) for row, hits in self._log()}

    def ranked_ids(self) -> dict[str, tuple[str, ...]]:
        """Return query_id -> ranked chunk ids of scored queries, best first; ResultError as in `rankings`."""
        return {query_id: tuple(chunk_id for chunk_id, _ in ranking) for query_id, ranking in self.rankings().items()}

    def rankings(self) -> dict[str, Ranking]:
        """Return query_id -> ranked (chunk_id, score) of scored queries.

        ResultError if the log of a run made here has other queries than the scores.
        """
        scored = set(self.scores.query_ids)
        ranked = {row.query_id: _ranking(hits) for row, hits in self._log() if not row.no_answer}
        if self.manifest.config:  # the log of another system may lack a query
            self._check_queries(records.RETRIEVED, ranked.keys() ^ scored)
        return {query_id: ranking for query_id, ranking in ranked.items() if query_id in scored}

    def header_sizes(self) -> dict[str, int]:
        """Return chunk_id -> the non-whitespace characters of its header, of each retrieved chunk that has one."""
        return {hit.chunk_id: hit.header_nws for _, hits in self._log() for hit, _ in hits if hit.header_nws}

    def trec_run(self) -> str:
        """Return the rankings of scored queries as a TREC file."""
        config = self.manifest.config
        return "".join(run_lines(self.rankings(), config.chunker if config else self.metrics.retriever))

    def _check_queries(self, name: str, other: Collection[str]) -> None:
        if other:
            raise ResultError(
                f"{self.folder}: {name} and {records.PER_QUERY} name different queries, such as {min(other)!r}; "
                f"{_AGAIN} once {self.folder} is deleted"
            )

    def _log(self) -> Iterator[tuple[LogRow, list[Hit]]]:
        seen: set[str] = set()
        with self._explained(records.RETRIEVED):
            for number, row, hits in read_log(self.folder / records.RETRIEVED):
                if row.query_id in seen:
                    raise json_reader.JsonFaultError(f"query {row.query_id!r} appears twice", line=number)
                seen.add(row.query_id)
                yield row, hits

    def qrels(self) -> Qrels:
        """Return query_id -> chunk_id -> gain: ids as in the run log, gains as before their scaling to whole numbers.

        ResultError if its queries are not those of the scores.
        """
        qrels = read_qrels(self.folder / records.QRELS, self.manifest.qrels_gain_factor)
        query_ids = {as_field(query_id, "query id"): query_id for query_id in self.scores.query_ids}
        self._check_queries(records.QRELS, qrels.keys() ^ query_ids.keys())
        ids: dict[str, str] = {}
        if self.manifest.config is None:  # ids in another system's log may have blanks, which no field has
            for row, hits in self._log():
                chunks = chain((chunk for chunk, _ in hits), row.raw_topk or ())
                ids |= {as_field(chunk.chunk_id, "chunk id"): chunk.chunk_id for chunk in chunks}
        return {
            query_ids[field]: {ids.get(chunk_id, chunk_id): gain for chunk_id, gain in gains.items()}
            for field, gains in qrels.items()
        }

    @cached_property
    def timings(self) -> tuple[records.TimeRow, ...]:
        """Times of steps and queries."""
        return tuple(self.rows(records.TIMINGS, records.TimeRow))

    @cached_property
    def inspection(self) -> Inspection | None:
        """Sources, chunk boundaries and gold; None if the run stored none."""
        return read_inspection(self.folder)

    def text(self, name: str) -> str:
        """Return the text of one of the folder's files, unpacked."""
        with self._explained(name):
            return json_reader.read_text(self.folder / name)

    def rows(self, name: str, model: type[_Model]) -> Iterator[_Model]:
        """Yield the rows of one of the folder's JSONL files as records, read lazily."""
        with self._explained(name):
            for _, row in json_reader.read_rows(self.folder / name, model):
                yield row

    def _explained(self, name: str) -> AbstractContextManager[None]:
        # `current_run` does not notice damage to a file that it does not read, so the folder must be deleted first.
        read = name in (records.MANIFEST, records.METRICS, records.PER_QUERY)
        return json_reader.faults_as(
            ResultError, self.folder / name, _AGAIN if read else f"{_AGAIN} once {self.folder} is deleted"
        )


def _ranking(hits: Iterable[Hit]) -> Ranking:
    return tuple((hit.chunk_id, score) for hit, score in hits)


def current_run(folder: Path) -> RunView | None:
    """Return the run in a folder if it exists and was made by exactly this code and these packages; else None.

    It is also None for a run of a module, program or plug-in, and for a damaged run.
    """
    with suppress(ResultError):  # missing, of another version, or damaged
        run = RunView.open(folder)
        config = run.manifest.config
        # Code of a module, program or plug-in may have changed unnoticed.
        parts = [(kind, getattr(config, kind)) for kind in ("chunker", "embedder", "retriever")] if config else []
        if any(kinds()[kind].is_outside(spec) for kind, spec in parts if spec != NO_EMBEDDER):
            return None
        if config and any(name.startswith("py:") for name in (config.protocol, *config.measures)):
            return None
        state = code_state()
        # Without this package's own metadata it is not known which versions matter.
        known = versions()[PROJECT] is not None
        if known and run.manifest.code == state and not state.dirty and run.manifest.versions == versions():
            _ = run.scores
            return run
    return None
