"""The server over stdio: the client of the official SDK calls it, and it requests a real HTTP server."""

import asyncio
import functools
import json
import operator
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from stream.cli.agents.server import INSTRUCTIONS
from tests.stream.cli.command_line import CommandLine


class Conversation(NamedTuple):
    """What one client received: the tools, the instructions, and the result of each call."""

    tools: list[Any]
    instructions: str | None
    results: list[Any]


def converse(url: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> Conversation:
    """Start `lagwarden mcp`, and call tools with their arguments, all in one session."""

    async def run() -> Conversation:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "stream.cli", "mcp"], env={"LAGWARDEN_URL": url}
        )
        async with Client(stdio_client(command)) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(tool, arguments) for tool, arguments in calls]
            return Conversation(tools, client.instructions, results)

    return asyncio.run(run())


ERRORS = [
    ("explain_group", {"group": "biling"}, "there is no group named biling: did you mean billing?"),
    ("verdict_history", {"group": "biling"}, "there is no group named biling: did you mean billing?"),
    ("groups_of_topic", {"topic": "nothing"}, "no group reads a topic named nothing"),
    ("unhealthy_groups", {"severities": ["critcal"]}, "did you mean critical?"),
    ("unhealthy_groups", {"limit": "many"}, "limit"),
]
ANSWERS = [
    ("unhealthy_groups", {"severities": ["critical"]}, ["groups", 0, "group"], "billing"),
    ("unhealthy_groups", {"owner": "no such team", "limit": 1}, ["total"], 0),
    ("explain_group", {"group": "billing"}, ["finding", "verdict"], "stopped"),
    ("explain_group", {"group": "plain"}, ["finding"], None),
    ("verdict_history", {"group": "billing"}, ["verdicts", "latest", -1, "verdict"], "stopped"),
    ("groups_of_topic", {"topic": "orders", "limit": 1}, ["groups", 0, "lag_sum"], 2**62),
]


@pytest.fixture(scope="module")
def conversation(url: str) -> Conversation:
    """Call every tool in one session, the errors first: the server continues after an error."""
    return converse(url, [*(row[:2] for row in ERRORS), *(row[:2] for row in ANSWERS)])


def test_an_agent_finds_the_tools(conversation: Conversation) -> None:
    """Every tool has a description and is marked as read-only, and is called by a test below."""
    assert conversation.instructions == INSTRUCTIONS
    names = [tool.name for tool in conversation.tools]
    assert names == ["unhealthy_groups", "explain_group", "verdict_history", "groups_of_topic"]
    assert all(tool.description and tool.annotations.read_only_hint for tool in conversation.tools)
    assert {row[0] for row in ANSWERS} == {row[0] for row in ERRORS} == set(names)


def test_every_tool_answers(conversation: Conversation) -> None:
    """A result has the values of the instance, structured and as the same JSON text for older clients."""
    for result, (_, _, path, value) in zip(conversation.results[len(ERRORS) :], ANSWERS, strict=True):
        assert not result.is_error
        assert functools.reduce(operator.getitem, path, result.structured_content) == value
        assert json.loads(result.content[0].text) == result.structured_content


def test_an_error_says_what_to_do(conversation: Conversation) -> None:
    """The text of an error has the information that the agent needs to correct its call."""
    for result, (*_, error) in zip(conversation.results, ERRORS, strict=False):
        assert result.is_error
        assert error in result.content[0].text


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, command: CommandLine
) -> None:
    """The error names the extra to install, without a traceback."""
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert "pip install 'lagwarden[mcp]'" in command.fails("mcp", "--url", "http://127.0.0.1:1")
