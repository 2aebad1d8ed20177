"""`mcp`: serve recommend, compare and inspect_query on standard input and output."""

from pathlib import Path

import click


@click.command("mcp", epilog="\b\nExamples:\n  repoeval-bench mcp --out results")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Folder of the runs.",
)
def mcp_command(*, out: Path) -> None:
    """Serve recommend, compare and inspect_query to an agent or editor.

    The server speaks the Model Context Protocol on standard input and output. It ends when its client does.
    """
    from repoeval_bench.core.extras import require

    require("the server for agents", "mcp")
    from repoeval_bench.plugins.mcp.server import make_server

    make_server(out).run("stdio")
