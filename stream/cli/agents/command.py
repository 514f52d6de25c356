"""The command `mcp`. Modules are imported inside the command, as in `stream.cli.app`."""

# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

from typing import TYPE_CHECKING

from stream.cli.options import ASK_PANEL, ConfigFile, InstanceUrl, instance_url
from stream.errors import ExitCode

if TYPE_CHECKING:
    import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("mcp", rich_help_panel=ASK_PANEL)(mcp)


def mcp(url: InstanceUrl = None, config: ConfigFile = None) -> int:
    """Answer an agent over stdin and stdout by the Model Context Protocol; needs `lagwarden[mcp]`. Only reads."""
    from stream.cli.agents.questions import AgentQuestions
    from stream.cli.agents.server import build_server
    from stream.cli.api_client import InstanceClient

    advice = "start `lagwarden run`, or name a running instance with --url"
    address = instance_url(url, config)
    InstanceClient(address, advice=advice)  # an invalid address or login is an error now, not at the first question
    server = build_server(AgentQuestions(lambda: InstanceClient(address, advice=advice)))
    server.run("stdio")
    return ExitCode.OK
