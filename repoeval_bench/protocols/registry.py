"""The table of protocols. A new one is a `Protocol` here."""

from __future__ import annotations

from repoeval_bench.core.registry import Row
from repoeval_bench.protocols.protocol import Protocol

_PROTOCOLS = (
    Protocol(
        name="context",
        gold="context",
        users="this project's default: query the whole prompt, gold its lines and the function to be written",
    ),
    Protocol(
        name="code-chunk",
        gold="prompt",
        repositories="six",
        headline="macro",
        users="the RepoEval evaluation of supermemoryai/code-chunk",
    ),
    Protocol(
        name="coderag",
        gold="prompt",
        repositories="six",
        headline="macro",
        users="CodeRAG-Bench (Wang et al. 2024): windows of 50 lines every 10, identical ones merged, titled by their "
        "file",
        documents="windows",
    ),
    Protocol(
        name="body",
        query="tail:20",
        gold="body",
        users="RepoCoder's window: query the last 20 lines of the prompt, gold the lines to be written",
    ),
    Protocol(
        name="uses",
        query="tail:20",
        gold="uses",
        relevance="definitions",
        users="completion: query the prompt's last 20 lines, gold the definitions that the lines to be written use and "
        "the prompt does not show",
        exclusion="free",
    ),
    Protocol(
        name="docstring",
        gold="places",
        users="code search: query the first paragraph of a function's docstring, gold the function; all docstrings of "
        "functions are blanked",
        tasks="docstring",
    ),
    Protocol(
        name="tests",
        gold="places",
        users="code search: query the words of a test's name and its docstring, gold the definitions that it calls; "
        "tests are not searched",
        tasks="tests",
    ),
    Protocol(
        name="commits",
        gold="lines",
        users="code search: query the subject of a later commit, gold the lines that it changed in the tree before, "
        "with five lines around; a pack of `data build CHECKOUT --commits` has them",
        tasks="commits",
    ),
    Protocol(
        name="questions",
        gold="places",
        users="your own questions, from the file that --queries names",
        tasks="questions",
    ),
)

PROTOCOLS = tuple(Row(name=protocol.name, meaning=protocol.users, part=protocol) for protocol in _PROTOCOLS)

MAKERS = {
    "docstring": "repoeval_bench.own.questions.documented:documented",
    "tests": "repoeval_bench.own.questions.tested:questions_of_tests",
}
"""Tasks of a protocol -> `module:function` that makes them of a benchmark's code.

The other protocols ask what is in the data.
"""
