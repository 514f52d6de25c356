"""The command `check`: the exit code is the severity of the worst group."""

import dataclasses
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from exporters.readmodel import Snapshot
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.exporters.serving import serving_url
from tests.exporters.snapshots import snapshot
from tests.stream.cli.command_line import CommandLine


def group(name: str, severity: str | None, verdict: str | None, **more: Any) -> dict[str, Any]:
    return {"group": name, "state": "Stable", "severity": severity, "verdict": verdict, **more}


CRITICAL = group("c", "critical", "stopped", sentence="It stands.")
WARNING = group("w", "warning", "falling_behind")
NOTICE = group("n", "notice", "abandoned", state="Empty")
UNKNOWN = group("u", "unknown", "unknown")
FINE = group("f", "fine", "ok")
DEAD = group("d", None, None, state="Dead")
NEW = group("new", None, None)
WORST = [
    ("critical is the worst", [FINE, CRITICAL, WARNING, UNKNOWN], ExitCode.GROUP_CRITICAL),
    ("a warning is worse than unknown", [UNKNOWN, WARNING, FINE], ExitCode.GROUP_WARNING),
    ("unknown is not well", [FINE, UNKNOWN], ExitCode.GROUP_UNKNOWN),
    ("no verdict yet", [FINE, NEW], ExitCode.GROUP_UNKNOWN),
    ("a notice needs no action", [FINE, NOTICE], ExitCode.OK),
    ("dead groups are not among all groups", [FINE, DEAD], ExitCode.OK),
    ("no groups", [], ExitCode.OK),
]


@pytest.mark.parametrize(("groups", "code"), [row[1:] for row in WORST], ids=[row[0] for row in WORST])
def test_code_is_that_of_the_worst_group(groups: list[dict[str, Any]], code: ExitCode, command: CommandLine) -> None:
    """The exit code is the worst of all groups."""
    with serving_url(snapshot(groups=groups)) as address:
        command.run("check", "--all", "--url", address, code=code)


def test_output_of_a_group(url: str, command: CommandLine) -> None:
    """The output is a line with severity, name, verdict and sentence, also for a group that is fine."""
    for name, code, line in (
        ("billing", ExitCode.GROUP_CRITICAL, "critical billing stopped: orders-0 has had no commit for"),
        ("plain", ExitCode.GROUP_UNKNOWN, "unknown plain unknown: The group has committed no offsets."),
        ("gone", ExitCode.GROUP_UNKNOWN, "unknown gone dead"),
        ('say "hi"\\\nthere', ExitCode.OK, r'fine say "hi"\\nthere caught up'),
    ):
        command.run("check", name, "--url", url, code=code)
        assert command.out.startswith(line)
    assert "did you mean billing?" in command.fails("check", "biling", "--url", url, code=ExitCode.NO_SUCH_GROUP)
    line = ["check", "--all", "--url", "http://127.0.0.1:1"]
    assert "no lagwarden answers" in command.fails(*line, code=ExitCode.NO_INSTANCE), "not that of a sick group"


def test_all_prints_what_needs_attention_first(command: CommandLine) -> None:
    """Groups that are fine are only counted. The JSON has the number of groups by severity, and all groups."""
    with serving_url(snapshot(groups=[FINE, NOTICE, WARNING, CRITICAL, {**FINE, "group": "g"}])) as address:
        command.run("check", "--all", "--url", address, code=ExitCode.GROUP_CRITICAL)
        lines = command.out.splitlines()
        answer = command.json("check", "--all", "--url", address, code=ExitCode.GROUP_CRITICAL)
    assert lines == [
        "critical c stopped: It stands.",
        "warning w falling behind",
        "notice n abandoned",
        "5 groups: 1 critical, 1 warning, 1 notice, 2 fine",
    ]
    assert answer["severities"] == {"critical": 1, "warning": 1, "notice": 1, "fine": 2}
    assert answer["groups"][0] == CRITICAL


def test_plugin_has_the_codes_of_nagios(command: CommandLine) -> None:
    """The first line has the state and, after the only bar, performance data. Errors and old snapshots are UNKNOWN."""

    def new(groups: list[dict[str, Any]]) -> Snapshot:
        return dataclasses.replace(snapshot(groups=groups), taken_at=time.time())

    states = [([FINE, NOTICE], 0), ([WARNING, UNKNOWN], 1), ([CRITICAL, WARNING], 2), ([FINE, UNKNOWN], 3)]
    for groups, code in states:
        with serving_url(new(groups)) as address:
            command.run("check", "--all", "--nagios", "--url", address, code=code)
    hostile = {**CRITICAL, "group": "a|b", "sentence": "It | stands."}
    with serving_url(new([hostile, FINE])) as address:
        command.run("check", "--all", "--nagios", "--url", address, code=2)
        counts = "critical=1 warning=0 notice=0 unknown=0 fine=1"
        assert command.out.splitlines() == [
            f"CRITICAL - 2 groups: 1 critical, 1 fine | {counts}",
            "critical a/b stopped: It / stands.",
        ]
        command.run("check", "a|b", "--nagios", "--url", address, code=2)
        assert command.out.startswith("CRITICAL - critical a/b stopped: It / stands. | critical=1 ")
        command.run("check", "none|such", "--nagios", "--url", address, code=3)
        assert command.out.startswith("UNKNOWN - there is no group named none/such")
    for wrong, problem in (((), "give the name of one group, or --all"), (("--al",), "No such option: --al")):
        command.run("check", "--nagios", *wrong, code=3)
        assert command.out.startswith(f"UNKNOWN - {problem}")
        assert command.out.count("\n") == 1
    with serving_url(snapshot(groups=[FINE])) as address:
        command.run("check", "f", "--nagios", "--url", address, code=3)
        assert command.out.startswith("UNKNOWN - fine f ok; these numbers are ")


def test_interrupt_of_the_start_is_no_success(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the command begins gives the exit code INTERRUPTED."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "hide_types", interrupt)
    command.run("check", "--all", code=ExitCode.INTERRUPTED)


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
