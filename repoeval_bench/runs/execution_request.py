"""Where the runs of a command are made, as it is asked."""

from __future__ import annotations

from repoeval_bench.runs.options import Request, option


class ExecutionRequest(Request):
    """Where runs are made: it decides no number."""

    executor: str | None = option(
        None,
        "Make each run as a job of its own: local:N (processes), ray (this machine) or ray:ADDRESS. An error then ends "
        "its run alone.",
        "WHERE",
    )
    gpus_per_embedder: float | None = option(
        None, "With ray: the share of a GPU for each copy of the embedding model, such as 0.5.", "SHARE", gt=0
    )
    store: str | None = option(
        None,
        "With an executor: share runs and vectors through this store: file:///shared, s3://BUCKET, …",
        "URL",
    )
    job_page: str | None = option(
        None, "With an executor: write an HTML page there on what ran where, how long, what failed and why.", "FILE"
    )
