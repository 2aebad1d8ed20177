"""The three tools of the server: the commands `recommend` and `compare` as JSON, and one query of a stored run."""

import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import run_process
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from repoeval_bench.core.errors import BenchError, UsageError, nearest
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.view import RunView

# Beginnings of specs that run code which the client would name.
_CODE = ("py:", "exec:")

Chunkers = Annotated[
    list[str], Field(description="Specs to try, such as `ast` or `fixed:max_nws=800`; none: the usual")
]
Retrievers = Annotated[
    list[Literal["bm25", "dense", "hybrid", "grep"]], Field(description="BM25 takes seconds; none: bm25 and dense")
]
Sizes = Annotated[list[int], Field(description="Characters without whitespace; none: 500, 1000, 2000")]
Minutes = Annotated[float | None, Field(description="Start no run after so many minutes")]


@dataclass(frozen=True)
class Tools:
    """The tools on the runs of a folder; a user's mistake is a ToolError of one sentence."""

    out: Path

    async def recommend(
        self,
        path: Annotated[str, Field(description="A folder or git checkout of code")],
        chunkers: Chunkers = [],  # noqa: B006 - read only, and the client sees it as the default
        sizes: Sizes = [],  # noqa: B006
        retrievers: Retrievers = [],  # noqa: B006
        time_limit: Minutes = None,
    ) -> dict[str, Any]:
        """Recommend a chunker and a size for the code in a folder, as `recommend --json`; takes minutes.

        `choice.spec` is the answer, `answer` has it in sentences, `setups` has Python to paste.
        """
        if outside := [spec for spec in chunkers if spec.startswith(_CODE)]:
            raise ToolError(f"{outside[0]} runs code; call `repoeval-bench recommend` yourself to try it")
        options = [f"--chunker={spec}" for spec in chunkers] + [f"--retriever={name}" for name in retrievers]
        options += [f"--sizes={','.join(map(str, sizes))}"] if sizes else []
        options += [] if time_limit is None else [f"--time-limit={time_limit}"]
        return await self._command("recommend", *options, "--", path)

    async def compare(
        self, runs: Annotated[list[str], Field(description="Ids, folders or chunkers of two or more stored runs")]
    ) -> dict[str, Any]:
        """Test which differences between stored runs are significant, as `compare --json`."""
        return await self._command("compare", "--", *runs)

    def inspect_query(
        self,
        run: Annotated[str, Field(description="Id, folder or chunker of a stored run, or `latest`")],
        query_id: str,
        k: Annotated[int, Field(ge=1, le=100, description="Chunks to show")] = 5,
    ) -> dict[str, Any]:
        """Show a query of a stored run: its text, scores, target places, and the first k chunks with their texts.

        Lines count from 1, both ends included.
        """
        try:
            return _inspected(find_run(run, self.out), query_id, k)
        except BenchError as error:
            raise ToolError(str(error)) from error

    async def _command(self, name: str, *words: str) -> dict[str, Any]:
        """Run a command with --json in a process of its own: standard output here is the protocol's."""
        command = [sys.executable, "-m", "repoeval_bench", name, "--json", "--out", str(self.out), *words]
        done = await run_process(command, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").rpartition("error: ")[2].strip()
            raise ToolError(said or f"{name} ended with {done.returncode}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def _inspected(run: RunView, query_id: str, k: int) -> dict[str, Any]:
    scores = {row.query_id: row.measures for row in run.query_rows()}
    if query_id not in scores:
        few = ", ".join(islice(scores, 3))
        raise UsageError(nearest("query", query_id, scores, f"the run has {len(scores)}, such as {few}"))
    row = next(row for row in run.log_rows() if row.query_id == query_id)
    if (stored := run.inspection) is None:
        raise UsageError(f"{run.run_id} has no sources to show; choose a run that was made here")
    gold_row = stored.queries[query_id]

    def place(file: str, start: int, end: int) -> dict[str, Any]:
        lines = stored.sources[file].text.splitlines(keepends=True)[start:end]
        return {"file": file, "start_line": start + 1, "end_line": end, "text": "".join(lines)}

    return {
        "run": run.run_id,
        "query_id": query_id,
        "query": row.query,
        "scores": scores[query_id],
        "targets": [place(*gold) for gold in gold_row.gold],
        "chunks": [
            {"rank": hit.rank, "score": hit.score, **place(hit.file or gold_row.file, hit.start_line, hit.end_line)}
            for hit in row.ranked[:k]
            if hit.start_line is not None and hit.end_line is not None
        ],
    }


def make_server(out: Path) -> MCPServer[Any]:
    """Make the server for the runs of a folder."""
    server: MCPServer[Any] = MCPServer(
        "repoeval-bench",
        instructions="Compares code chunkers: recommend one for a folder, test stored runs, show a query.",
    )
    tools = Tools(out)
    for tool in (tools.recommend, tools.compare, tools.inspect_query):
        server.add_tool(tool)
    return server
