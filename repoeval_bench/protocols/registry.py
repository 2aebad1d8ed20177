"""The protocols whose tasks are in the data: completions, commits, and questions of a file."""

from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.protocols.protocol import protocol

CONTEXT = protocol(
    __name__,
    name="context",
    gold="context",
    users="the default: the query is the code before a function (the prompt), the target the prompt and the function",
)

CODE_CHUNK = protocol(
    __name__,
    name="code-chunk",
    gold="prompt",
    repositories="six",
    headline="macro",
    users="the evaluation of the library code-chunk on RepoEval: query and target are the whole prompt",
)

CODERAG = protocol(
    __name__,
    name="coderag",
    gold="prompt",
    repositories="six",
    headline="macro",
    users="as CodeRAG-Bench (Wang et al. 2024): windows of 50 lines are searched instead of chunks",
    documents="windows",
)

BODY = protocol(
    __name__,
    name="body",
    query="tail:20",
    gold="body",
    users="as RepoCoder: the query is the last 20 lines of the prompt, the target the lines to be written",
)

USES = protocol(
    __name__,
    name="uses",
    query="tail:20",
    gold="uses",
    relevance="definitions",
    users="completion: the query is the last 20 lines of the prompt, the target the definitions that the lines to be "
    "written use",
    exclusion="free",
)

COMMITS = protocol(
    __name__,
    name="commits",
    gold="lines",
    users="code search: the query is the subject of a later commit, the target the lines in and around its changes",
    tasks="commits",
    limits="the target is the lines in and around one commit's changes; other lines may answer too",
)

QUESTIONS = protocol(
    __name__,
    name="questions",
    gold="places",
    users="your own queries, from the file that --queries names",
    tasks="questions",
    limits="the target is the places that the query's author named; others may answer too",
)

HALF = 25
STEP = 10


class CoderagWindows:
    """The documents of protocol `coderag`, by which CodeRAG-Bench (arXiv 2406.14497) cuts; users cannot choose them.

    For n = 0, 10, 20, … the lines [max(0, n - 25), min(length, n + 25)), the title in the header.
    """

    spec = f"coderag-windows:lines={2 * HALF},step={STEP}"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the windows in order, without blank ones, which hold no gold."""
        # Identical ones are merged afterwards, over a whole repository.
        title = f"{file.repo}-{file.path}\n"
        spans = (LineSpan(max(0, n - HALF), min(file.n_lines, n + HALF)) for n in range(0, file.n_lines, STEP))
        return [
            Chunk.cut(file, file.chars_of(span), title) for span in dict.fromkeys(spans) if file.line_text(span).strip()
        ]
