"""Properties of every command of the command line: JSON, and the text of its help."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import typer.main

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.decoders.log.fixtures import RECORDED as LOGS
from tests.exporters.snapshots import detail, small_snapshot, status
from tests.stream.offline.captures import RECORDED
from tests.support.raw import commit_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WITHOUT_JSON: Final = {
    "run": "a service: its answers are those of the HTTP API, its log is JSON with --log-format json",
    "mcp": "speaks JSON-RPC",
}
"""The commands that have no option --json, and why."""
LOG: Final = LOGS / "__consumer_offsets-0" / "00000000000000000000.log"
COMMANDS: Final = {
    "check-config": ("-b", "broker:9092"),
    "version": (),
    "metrics": (),
    "acls": (),
    "history": ("billing", "--url", "URL"),
    "explain": ("billing", "--url", "URL"),
    "top": ("--url", "URL"),
    "check": ("--all", "--url", "URL"),
    "groups": ("--url", "URL"),
    "groups describe": ("billing", "--url", "URL"),
    "decode": (commit_key("g", "t", 1).hex(),),
    "dump-log": (str(LOG), "--offsets-decoder"),
    "capture": ("FOLDER/new.avro", "--log-dir", str(LOG.parent)),
    "replay": (str(RECORDED),),
    "log find": (str(LOG.parent), "--offset", "0"),
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


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the options of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small snapshot with details of billing; returns the URL."""
    published = PublishedSnapshot.build(small_snapshot())
    server = HttpServer("127.0.0.1", 0, lambda: published, status, lambda _: detail())
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def parsed(text: str) -> list[Any]:
    """Return the JSON values of an output: one, or one per line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def test_every_command_is_tried() -> None:
    """Each visible command is tried with --json, or has a reason for not having it."""
    assert {*COMMANDS, *WITHOUT_JSON} == set(VISIBLE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json(name: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output has at least one JSON value and nothing else with --json."""
    words = [word.replace("URL", url).replace("FOLDER", str(tmp_path)) for word in COMMANDS[name]]
    assert cli.main([*name.split(), *words, "--json"]) in {ExitCode.OK, ExitCode.GROUP_CRITICAL}
    values = parsed(capsys.readouterr().out)
    assert len(values) > 0
    assert all(values)


def test_top_prints_the_answer_of_groups(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`top --json` needs no terminal: it prints the groups once and ends."""
    assert cli.main(["top", "--json", "--url", url]) == ExitCode.OK
    top = capsys.readouterr().out
    assert cli.main(["groups", "--json", "--url", url]) == ExitCode.OK
    assert json.loads(top)["groups"] == json.loads(capsys.readouterr().out)["groups"] != []


def test_estimate_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has one object per preset."""
    assert cli.main(["metrics", "--estimate", "2000x17", "--json"]) == ExitCode.OK
    lean, *_ = json.loads(capsys.readouterr().out)
    assert lean["preset"] == "lean"
    assert lean["total"] == 2000 * (17 * lean["per_partition"] + lean["per_topic"] + lean["per_group"])


def test_decode_prints_no_other_format_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The option --json beside a text format is an error."""
    assert cli.main(["decode", "00", "--json", "--format", "text-2.1"]) == ExitCode.USAGE
    assert "--json and --format text-2.1 exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", *VISIBLE, "log"])
def test_help_names_values_and_not_types(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option names its value (`--topic TOPIC`), an argument itself, and neither a type of Python."""
    cli.main([*name.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if re.match(r"│ -", line)]
    assert not [line for line in lines if re.search(r"<\w", line)]


@pytest.mark.parametrize("name", VISIBLE)
def test_help_is_sentences(name: str) -> None:
    """The descriptions of a command and of its options end in a period."""
    command = VISIBLE[name]
    assert command.help.rstrip().endswith(".")
    for option in command.params:
        assert option.help, option.name
        assert option.help.endswith("."), (option.name, option.help)
