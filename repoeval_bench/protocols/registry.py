"""The protocols whose tasks are in the data: completions, commits, and questions of a file."""

from __future__ import annotations

from repoeval_bench.protocols.protocol import protocol

CONTEXT = protocol(
    __name__,
    name="context",
    gold="context",
    users="this project's default: query the whole prompt, target its lines and the function to be written",
)

CODE_CHUNK = protocol(
    __name__,
    name="code-chunk",
    gold="prompt",
    repositories="six",
    headline="macro",
    users="the RepoEval evaluation of supermemoryai/code-chunk",
)

CODERAG = protocol(
    __name__,
    name="coderag",
    gold="prompt",
    repositories="six",
    headline="macro",
    users="CodeRAG-Bench (Wang et al. 2024): windows of 50 lines every 10, identical ones merged, titled by their file",
    documents="windows",
)

BODY = protocol(
    __name__,
    name="body",
    query="tail:20",
    gold="body",
    users="RepoCoder's window: query the last 20 lines of the prompt, target the lines to be written",
)

USES = protocol(
    __name__,
    name="uses",
    query="tail:20",
    gold="uses",
    relevance="definitions",
    users="completion: query the prompt's last 20 lines, target the definitions that the lines to be written use and "
    "the prompt does not show",
    exclusion="free",
)

COMMITS = protocol(
    __name__,
    name="commits",
    gold="lines",
    users="code search: query the subject of a later commit, target the lines that it changed in the tree before, "
    "with five lines around; a pack of `data build CHECKOUT --commits` has them",
    tasks="commits",
)

QUESTIONS = protocol(
    __name__,
    name="questions",
    gold="places",
    users="your own questions, from the file that --queries names",
    tasks="questions",
)
