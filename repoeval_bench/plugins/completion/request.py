"""What is asked of a completion: one model, from which the command line and Python take their options."""

from __future__ import annotations

from repoeval_bench.runs.options import Request, option


class CompletionRequest(Request):
    """What is asked of the completion of stored runs."""

    model: str | None = option(None, "openai:NAME,base_url=…,api=chat,max_tokens=N,timeout=SECONDS.", "SPEC")
    shown: tuple[str, ...] = option(
        ("retrieved",),
        "What is shown above the code: none, retrieved, or oracle (the run's chunks that resemble the ground truth "
        "most); repeat it.",
        "KIND",
        spelled="--context",
    )
    budget: int = option(2000, "Tokens of the retrieved code with its heading, counted by a rule.", "TOKENS", ge=0)
    concurrency: int = option(8, "Requests that are under way at a time.", "N", ge=1)
    rate: float | None = option(None, "Requests that begin within a minute at most.", "N", gt=0)
    price: str | None = option(
        None, "What a million tokens cost, those of prompts and those of answers, such as 0.15:0.60.", "IN:OUT"
    )
    cost_limit: float | None = option(None, "Send nothing that could bring the cost above this.", "AMOUNT", gt=0)
