"""Properties of every command of the command line: JSON, and the text of its help."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

from stream.cli import app as cli
from stream.errors import ExitCode
from tests.decoders.log.fixtures import RECORDED as LOGS
from tests.stream.cli.command_line import CommandLine
from tests.stream.offline.captures import RECORDED
from tests.support.raw import commit_key

WITHOUT_JSON: Final = {
    "run": "a service: its answers are those of the HTTP API, its log is JSON with --log-format json",
    "mcp": "speaks JSON-RPC",
    "export": "its results are files",
}
"""The commands that have no option --json, and why."""
LOG: Final = LOGS / "__consumer_offsets-0" / "00000000000000000000.log"
COMMANDS: Final = {
    "check-config": "-b broker:9092",
    "version": "",
    "metrics": "",
    "acls": "",
    "history": "billing --url URL",
    "explain": "billing --url URL",
    "top": "--url URL",
    "check": "--all --url URL",
    "groups": "--url URL",
    "groups describe": "billing --url URL",
    "decode": commit_key("g", "t", 1).hex(),
    "dump-log": f"{LOG} --offsets-decoder",
    "capture": f"FOLDER/new.avro --log-dir {LOG.parent}",
    "replay": str(RECORDED),
}
"""Arguments of each command, so that it prints something."""


def commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the visible commands that do something themselves, with their names."""
    for word, each in getattr(command, "commands", {}).items():
        path = f"{name} {word}".strip()
        if not each.hidden:
            if not hasattr(each, "commands") or each.invoke_without_command:
                yield path, each
            yield from commands(each, path)


VISIBLE: Final = dict(commands(typer.main.get_command(cli.app)))


def parsed(text: str) -> list[Any]:
    """Return the JSON values of an output: one, or one per line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def test_every_command_prints_json(url: str, tmp_path: Path, command: CommandLine) -> None:
    """Standard output has at least one JSON value and nothing else with --json."""
    assert {*COMMANDS, *WITHOUT_JSON} == set(VISIBLE)
    for name, words in COMMANDS.items():
        line = f"{name} {words} --json".replace("URL", url).replace("FOLDER", str(tmp_path)).split()
        command.run(*line, code=ExitCode.GROUP_CRITICAL if name == "check" else ExitCode.OK)
        values = parsed(command.out)
        assert values, name
        assert all(values), name


def test_commands_without_their_extra_say_what_to_install(
    url: str, tmp_path: Path, command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package is one line with the extra. What does not need it works: a log directory, and `top --json`."""
    for name in ("stream.cli.top.app", "stream.cli.top.screens", "stream.offline.capture", "stream.offline.container"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("textual.app", "fastavro"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "pip install 'lagwarden[top]'" in command.fails("top", "--url", url)
    assert "pip install 'lagwarden[captures]'" in command.fails("replay", str(RECORDED))
    assert "pip install 'lagwarden[captures]'" in command.fails("capture", str(tmp_path / "new.avro"))
    command.run("top", "--url", url, "--json")
    command.run("replay", str(LOG.parent.parent))


def test_top_prints_the_answer_of_groups(url: str, command: CommandLine) -> None:
    """`top --json` needs no terminal: it prints the groups once and ends."""
    top = command.json("top", "--url", url)
    assert top["groups"] == command.json("groups", "--url", url)["groups"] != []
