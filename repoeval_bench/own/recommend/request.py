"""The request of a recommendation: the options of `recommend`."""

from collections.abc import Sequence
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le
from pydantic import model_validator

from repoeval_bench.core.numbers import EXACT
from repoeval_bench.runs.request import EMBEDDER, TESTS_HELP, DataRequest, EmbedderSpec, Flag, RunRequest

PASTED = (
    "langchain:chunk_size=1000,chunk_overlap=200",
    "langchain:chunk_size=4000,chunk_overlap=200",
    "llama-index:max_chars=1500",
    "chonkie:chunk_size=2048",
)
"""The plain settings of other frameworks, as people paste them."""


class RecommendRequest(DataRequest):
    """The request of a recommendation: every chunker at every size, with every retriever and protocol."""

    tests: Annotated[str, Flag(f"What to do with test files: {TESTS_HELP}.", "out|index|all")] = "out"

    chunkers: Annotated[
        tuple[str, ...],
        Flag(
            "A chunker to try; may be repeated. One named with a size, such as ast:max_nws=800, is tried only at that "
            "size. By default, those of this list that are installed; header=stem puts the file's name and folders "
            "before each chunk.",
            "SPEC",
            also="-c",
            spelled="--chunker",
        ),
    ] = (
        *("fixed", "ast", "ast:header=stem", "recursive", "window", "chonkie", "langchain", "llama-index", "functions"),
        *PASTED,
    )
    current: Annotated[
        str | None,
        Flag("The chunker that you use now, with all its options; the answer says if switching is worth it.", "SPEC"),
    ] = None
    sizes: Annotated[
        tuple[Annotated[int, Ge(1)], ...] | None,
        Flag(
            "List of sizes, separated by commas or blanks. A size counts non-whitespace characters. At each size, "
            "chunkers are adjusted until their average chunk is about as large as that of `fixed`.  "
            "[default: 500,1000,2000]",
            "N,…",
            words=True,
        ),
    ] = None
    purpose: Annotated[
        str,
        Flag(
            "Purpose of the chunks: completion (find the definitions that new code will use), search (natural-language "
            "queries), or both.",
            "NAME",
            spelled="--for",
        ),
    ] = "both"
    retrievers: Annotated[
        tuple[str, ...],
        Flag(
            "A retriever; may be repeated, and all have equal weight. Without dense installed, only bm25 is used.",
            spelled="--retriever",
        ),
    ] = ("bm25", "dense")
    protocols: Annotated[
        tuple[str, ...],
        Flag("A protocol, instead of --for; may be repeated, and all have equal weight.", spelled="--protocol"),
    ] = ()
    embedder: EmbedderSpec = EMBEDDER
    tasks: Annotated[
        int,
        Ge(1),
        Le(EXACT),
        Flag("Use at most N queries under each protocol, spread over the files; the number left out is printed.", "N"),
    ] = 1500
    time_limit: Annotated[
        float | None, Gt(0), Flag("Start no run after this time; skipped runs are named.", "MINUTES")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _keep_tests(cls, values: Any) -> Any:
        """Keep the tests for protocol `tests`, which reads its questions from them and searches none."""
        return (
            values | {"tests": "all"} if isinstance(values, dict) and "tests" in values.get("protocols", ()) else values
        )

    def requests(self, protocols: Sequence[str]) -> list[RunRequest]:
        """Return a request for each protocol and retriever, all retrievers of the first protocol first."""
        return [
            RunRequest(
                **self.model_dump(include=set(DataRequest.model_fields)),
                protocol=protocol,
                retriever=retriever,
                embedder=self.embedder,
            )
            for protocol in protocols
            for retriever in self.retrievers
        ]
