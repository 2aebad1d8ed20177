"""The server, called by the client of the protocol's own package."""

import asyncio
import json
import sys

import pytest

from support.codebase import write_modules
from support.runs import read_rows


def call(out, tool, **arguments):
    """The result of one call of a tool; the import of mcp takes a second of each process."""
    from mcp import Client

    from repoeval_bench.plugins.mcp.server import make_server

    async def connected():
        async with Client(make_server(out)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(connected())


def answer(out, tool, **arguments):
    result = call(out, tool, **arguments)
    assert not result.is_error, result.content
    return result.structured_content


def test_its_tools_are_listed_over_stdio(tmp_path):
    """As an editor starts it: nothing but the protocol is on standard output."""
    from mcp import Client, StdioServerParameters, stdio_client

    async def listed():
        words = ["-m", "repoeval_bench", "mcp", "--out", str(tmp_path)]
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=words))) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert tools.keys() == {"recommend", "compare", "inspect_query"}
    assert all(tool.description for tool in tools.values())


@pytest.mark.slow
def test_recommend_is_the_commands_answer(tmp_path):
    code = write_modules(tmp_path / "project", 12)
    options = {"chunkers": ["fixed", "ast"], "sizes": [200, 400], "retrievers": ["bm25"]}
    result = answer(tmp_path / "out", "recommend", path=str(code), **options)
    assert result["choice"] == result["candidates"][0]


def test_compare_is_the_commands_answer(two_runs):
    result = answer(two_runs.out, "compare", runs=[str(two_runs.ast), str(two_runs.fixed)])
    assert result["comparisons"][0]["primary"]
    assert result["choice"]["candidates"]


def test_a_query_is_shown_with_its_targets_and_chunks(two_runs):
    """The lines of the first chunk, as the log has them, in the text of its file."""
    row = read_rows(two_runs.ast / "retrieved.jsonl.gz")[0]
    result = answer(two_runs.out, "inspect_query", run="ast", query_id=row["query_id"], k=2)
    assert result["query"] == row["query"]
    assert [chunk["rank"] for chunk in result["chunks"]] == [1, 2]
    for place in (*result["targets"], *result["chunks"]):
        assert len(place["text"].splitlines()) == place["end_line"] - place["start_line"] + 1
    json.dumps(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("recommend", {"path": ".", "chunkers": ["exec:touch x"]}, "exec:touch x runs code"),
        ("recommend", {"path": "--version"}, "--version"),
        ("compare", {"runs": ["no-such-run", "nor-this"]}, "no-such-run"),
        ("inspect_query", {"run": "ast", "query_id": "nowhere"}, "unknown query 'nowhere'"),
        ("inspect_query", {"run": "no-such-run", "query_id": "q"}, "no-such-run"),
    ],
)
def test_a_mistake_is_one_sentence(two_runs, tool, arguments, sentence):
    result = call(two_runs.out, tool, **arguments)
    assert result.is_error
    assert sentence in result.content[0].text
    assert "Traceback" not in result.content[0].text
