"""The command `check`: the exit code is the severity of the worst group."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.exporters.snapshots import HOSTILE_NAMES, small_snapshot, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator

CRITICAL: dict[str, Any] = {
    "group": "c",
    "state": "Stable",
    "severity": "critical",
    "verdict": "stopped",
    "sentence": "It stands.",
}
WARNING: dict[str, Any] = {"group": "w", "state": "Stable", "severity": "warning", "verdict": "falling_behind"}
NOTICE: dict[str, Any] = {"group": "n", "state": "Empty", "severity": "notice", "verdict": "abandoned"}
UNKNOWN: dict[str, Any] = {"group": "u", "state": "Stable", "severity": "unknown", "verdict": "unknown"}
FINE: dict[str, Any] = {"group": "f", "state": "Stable", "severity": "fine", "verdict": "ok"}
DEAD: dict[str, Any] = {"group": "d", "state": "Dead"}
NEW: dict[str, Any] = {"group": "new", "state": "Stable"}


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAGWARDEN_URL", raising=False)


class Instance:
    """A running instance that shows these groups."""

    def __init__(self, groups: list[dict[str, Any]] | None) -> None:
        world = small_snapshot() if groups is None else snapshot(groups=groups)
        self._published = PublishedSnapshot.build(world)
        self._server = HttpServer("127.0.0.1", 0, lambda: self._published, status, lambda _: None)

    def __enter__(self) -> str:
        self._server.start()
        return f"http://127.0.0.1:{self._server.port}"

    def __exit__(self, *_: object) -> None:
        self._server.stop()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small snapshot; returns the URL."""
    with Instance(None) as address:
        yield address


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        pytest.param([FINE, CRITICAL, WARNING, UNKNOWN], ExitCode.GROUP_CRITICAL, id="critical is the worst"),
        pytest.param([UNKNOWN, WARNING, FINE], ExitCode.GROUP_WARNING, id="a warning is worse than unknown"),
        pytest.param([FINE, UNKNOWN], ExitCode.GROUP_UNKNOWN, id="unknown is not well"),
        pytest.param([FINE, NEW], ExitCode.GROUP_UNKNOWN, id="no verdict yet"),
        pytest.param([FINE, NOTICE], ExitCode.OK, id="a notice needs no action"),
        pytest.param([FINE, DEAD], ExitCode.OK, id="dead groups are not among all groups"),
        pytest.param([], ExitCode.OK, id="no groups"),
    ],
)
def test_code_is_that_of_the_worst_group(groups: list[dict[str, Any]], code: ExitCode) -> None:
    """The exit code is the worst of all groups."""
    with Instance(groups) as address:
        assert cli.main(["check", "--all", "--url", address]) == code


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        (
            "billing",
            ExitCode.GROUP_CRITICAL,
            "critical billing stopped: 1 of 2 partitions; orders-0: No commit for 30 s",
        ),
        ("plain", ExitCode.GROUP_UNKNOWN, "unknown plain unknown: The group has committed no offsets."),
        ("gone", ExitCode.GROUP_UNKNOWN, "unknown gone dead"),
        ('say "hi"\\\nthere', ExitCode.OK, r'fine say "hi"\\nthere caught_up'),
    ],
)
def test_output_of_a_group(url: str, name: str, code: ExitCode, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is a line with severity, name, verdict and sentence, also for a group that is fine."""
    assert cli.main(["check", name, "--url", url]) == code
    assert capsys.readouterr().out.startswith(line)


def test_all_prints_what_needs_attention_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Groups that are fine are only counted."""
    with Instance([FINE, NOTICE, WARNING, CRITICAL, {**FINE, "group": "g"}]) as address:
        cli.main(["check", "--all", "--url", address])
    assert capsys.readouterr().out.splitlines() == [
        "critical c stopped: It stands.",
        "warning w falling_behind",
        "notice n abandoned",
        "5 groups: 1 critical, 1 warning, 1 notice, 2 fine",
    ]


def test_json_has_all_groups_and_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has the number of groups by severity and the groups, the worst first. The exit code is the same."""
    with Instance([FINE, CRITICAL]) as address:
        assert cli.main(["check", "--all", "--json", "--url", address]) == ExitCode.GROUP_CRITICAL
    answer = json.loads(capsys.readouterr().out)
    assert answer["severities"] == {"critical": 1, "fine": 1}
    assert answer["groups"][0] == {
        "severity": "critical", "group": "c", "state": "Stable", "verdict": "stopped", "sentence": "It stands."
    }  # fmt: skip


@pytest.mark.parametrize("arguments", [[], ["g", "--all"]], ids=["neither", "both"])
def test_one_group_or_all(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a name nor --all, or both of them, is wrong usage."""
    assert cli.main(["check", *arguments]) == ExitCode.USAGE
    assert "the name of one group, or --all" in capsys.readouterr().err


def test_unknown_group(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no group has is a separate error with the nearest names."""
    assert cli.main(["check", "biling", "--url", url]) == ExitCode.NO_SUCH_GROUP
    assert "did you mean billing?" in capsys.readouterr().err


def test_no_instance(capsys: pytest.CaptureFixture[str]) -> None:
    """A monitor that does not answer has another exit code than a sick group."""
    assert cli.main(["check", "--all", "--url", "http://127.0.0.1:1"]) == ExitCode.NO_INSTANCE
    assert "no lagwarden answers" in capsys.readouterr().err


def test_hostile_names_have_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """No name moves the cursor or begins a line."""
    with Instance([{**CRITICAL, "group": name} for name in HOSTILE_NAMES]) as address:
        cli.main(["check", "--all", "--url", address])
    out = capsys.readouterr().out
    assert len(out.splitlines()) == len(HOSTILE_NAMES) + 1
    assert out.replace("\n", "").isprintable()


def test_interrupt_of_the_start_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the command begins gives the exit code INTERRUPTED."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "hide_types", interrupt)
    assert cli.main(["check", "--all"]) == ExitCode.INTERRUPTED


def test_interrupt_is_no_success() -> None:
    """Ctrl-C while the instance does not answer has its own code: exit code 0 would mean that all is well."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen([sys.executable, "-m", "stream.cli", "check", "--all", "--url", address])
        try:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == ExitCode.INTERRUPTED
        finally:
            process.kill()
            process.wait()
