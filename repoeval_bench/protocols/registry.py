"""The table of protocols. A new one is a `Protocol` here."""

from __future__ import annotations

from repoeval_bench.core.registry import Row
from repoeval_bench.protocols.protocol import BASELINE, Protocol

_COPY = "the query is a copy of the gold text: bigger chunks and lexical overlap raise the score by themselves"

_PROMPT = (
    f"{_COPY}; the gold ends with the first line to be written, so it is not a search for the rest of it; at function "
    "level trlx and betty are left out, and each of the six others weighs the same, however few its tasks"
)

_PROTOCOLS = (
    Protocol(
        name="context",
        query="full",
        gold="context",
        relevance="overlap",
        repositories="all",
        headline="micro",
        users="this project's default: the whole prompt asks for its own lines and the function to be written",
        caution=_COPY,
    ),
    Protocol(
        name="code-chunk",
        query="full",
        gold="prompt",
        relevance="overlap",
        repositories="six",
        headline="macro",
        users="the RepoEval evaluation of supermemoryai/code-chunk",
        caution=_PROMPT,
    ),
    Protocol(
        name="coderag",
        query="full",
        gold="prompt",
        relevance="overlap",
        repositories="six",
        headline="macro",
        users="CodeRAG-Bench (Wang et al. 2024): windows of 50 lines every 10, identical ones merged, titled by their "
        "file",
        caution="it uses no chunker, so it says nothing about chunkers; " + _PROMPT,
        documents="windows",
    ),
    Protocol(
        name="body",
        query="tail:20",
        gold="body",
        relevance="overlap",
        repositories="all",
        headline="micro",
        users="RepoCoder's window: the last 20 lines of the prompt ask for the lines to be written",
        caution="the lines to be found follow the query's in the same file, so neighbourhood helps; they are not the "
        "only useful ones",
    ),
    Protocol(
        name="uses",
        query="tail:20",
        gold="uses",
        relevance="definitions",
        repositories="all",
        headline="micro",
        users="what completion needs: the last 20 lines of the prompt ask for the definitions that the lines to be "
        "written use and the prompt does not show",
        caution="names are resolved statically, and those that lead to no definition of the repository have no gold; "
        "scores under exclusion=free and exclusion=hidden give other orders, so name the rule beside a number",
        exclusion="free",
    ),
    Protocol(
        name="linemap",
        query="full",
        gold="prompt",
        relevance="overlap",
        repositories="six",
        headline="macro",
        users="after cAST (Zhang et al. 2025, appendix A.2): every chunker's scores go to lines, and from lines to "
        f"the chunks of {BASELINE}, so that all are judged on one set of documents",
        caution="chunks that fit the baseline's bounds map without loss, so the baseline has an advantage; " + _PROMPT,
        documents="baseline",
    ),
)

PROTOCOLS = tuple(Row(name=each.name, meaning=each.users, part=each) for each in _PROTOCOLS)
