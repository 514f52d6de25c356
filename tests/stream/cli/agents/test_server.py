"""The server over stdio, asked by the client of the official SDK; it asks a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli.agents.server import INSTRUCTIONS
from tests.exporters.snapshots import detail, small_snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small snapshot; returns the URL."""
    published = PublishedSnapshot.build(small_snapshot())
    server = HttpServer("127.0.0.1", 0, lambda: published, status, lambda name: detail() if name == "billing" else None)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def ask(url: str, tool: str, **arguments: Any) -> tuple[Any, list[Any], str | None]:
    """Start `lagwarden mcp`, call a tool, and return the result, the tools and the instructions."""

    async def run() -> tuple[Any, list[Any], str | None]:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "stream.cli", "mcp"], env={"LAGWARDEN_URL": url}
        )
        async with Client(stdio_client(command)) as client:
            tools = (await client.list_tools()).tools
            return await client.call_tool(tool, arguments), tools, client.instructions

    return asyncio.run(run())


def test_an_agent_finds_the_tools_and_asks(url: str) -> None:
    """Every tool has a description and is marked as read-only; the answer is structured, and text for older clients."""
    result, tools, instructions = ask(url, "sick_groups", severities=["critical"])
    assert instructions == INSTRUCTIONS
    assert [tool.name for tool in tools] == ["sick_groups", "explain_group", "verdict_history", "groups_of_topic"]
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert not result.is_error
    assert [group["group"] for group in result.structured_content["groups"]] == ["billing"]
    assert json.loads(result.content[0].text)["total"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("explain_group", {"group": "biling"}, "there is no group named biling: did you mean billing?"),
        ("sick_groups", {"severities": ["critcal"]}, "did you mean critical?"),
        ("sick_groups", {"limit": "many"}, "limit"),
    ],
    ids=["group", "severity", "type"],
)
def test_an_error_says_what_to_do(url: str, tool: str, arguments: dict[str, Any], error: str) -> None:
    """So that the agent can correct itself; the server goes on."""
    result, _, _ = ask(url, tool, **arguments)
    assert result.is_error
    assert error in result.content[0].text


def test_an_instance_that_does_not_answer_is_an_error() -> None:
    """Of the question, not of the server."""
    result, _, _ = ask("http://127.0.0.1:1", "sick_groups")
    assert result.is_error
    assert "no lagwarden answers at http://127.0.0.1:1" in result.content[0].text
