"""The command line: an error is one line on stderr with advice and an exit code, and nothing on stdout."""

# ruff: noqa: S105 -- the passwords of test users

import contextlib
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from exporters.catalogue.metrics import METRICS
from stream.cli import preflight
from stream.config.config_follower import ConfigFollower
from stream.config.loader import load
from stream.config.options import Config
from stream.errors import Caution, ExitCode, Refusal
from tests.stream.cli.command_line import CommandLine

WRONG = {
    "--nope": "error: No such option: --nope; see `lagwarden --help`",
    "run --nope": "see `lagwarden run --help`",
    "groups --state": "requires an argument; see `lagwarden groups --help`",
    "groups --state stabel": "--state stabel: did you mean Stable?",
    "groups --kind x": "must be one of simple, classic",
    "groups --url localhost:1": "is not an http or https URL",
    "groups --url file:///etc/passwd": "is not an http or https URL",
    "groups describe": "see `lagwarden groups describe --help`",
    "history a --url http://x --capture y": "exclude each other",
    "walk": "No such command 'walk'",
    "check": "error: give the name of one group, or --all; see",
    "check g --all": "the name of one group, or --all",
    "run -s x": "'x' must be KEY=VALUE",
    "run --http-port x": "Invalid value for '--http-port'",
    "check-config": "kafka.bootstrap_servers (not set): is required",
    "run -b a:1 -s job.shard=1": "did you mean job.shards?",
    "run -b a:1 -c /no.yaml": "/no.yaml (configuration file): cannot be read",
    "decode 00 --encoding x": "must be one of auto, hex, base64",
    "decode --topic orders": "must be one of __consumer_offsets",
    "decode 00 -b a:1": "exclude each other",
    "capture x --from noon -b a:1": "'noon' is neither ISO 8601",
    "capture x": "kafka.bootstrap_servers (not set): is required",
    "dump-log x --offsets-decoder --transaction-log-decoder": "exclude each other",
    "mcp --url nonsense": "--url nonsense is not an http or https URL",
    **{
        f"metrics '--estimate={text}'": f"{text!r} is not GROUPSxPARTITIONS, such as 2000x17"
        for text in ("2000", "x17", "2000x", "-1x2", "2 x 3", "2x3x4", "9999999999x1")
    },
}
"""Command lines with a part of their error."""


def test_wrong_usage_is_one_sentence_and_code_2(command: CommandLine) -> None:
    """Nothing is printed on stdout; stderr has the error and the command for help, without a traceback."""
    assert [line for line, error in WRONG.items() if error not in command.fails(*shlex.split(line))] == []


def test_versions_are_those_that_a_bug_report_needs(command: CommandLine) -> None:
    """One line has the versions of lagwarden, Python and the main libraries; the JSON has them by name.

    The option prints only that of lagwarden, for scripts.
    """
    command.run("--version")
    option = command.out.strip()
    command.run("version")
    line = command.out
    assert line.count("\n") == 1
    assert line.startswith(f"{option} (Python ")
    versions = command.json("version")
    assert list(versions) == ["lagwarden", "python", "pyspark", "kafka-python", "pyarrow"]
    assert all(version in line for version in versions.values())
    assert all(word in line for word in ("lagwarden 0", "Python 3", "pyspark 4", "kafka-python 3"))


def test_acls_are_commands_for_a_principal(command: CommandLine) -> None:
    """The commands have the given principal and the given brokers; the JSON is a list of objects with commands."""
    command.run("acls", "--principal", "User:x", "-b", "k:1")
    assert "bin/kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:x" in command.out
    assert all("User:me" in acl["command"] for acl in command.json("acls", "--principal", "User:me"))


def test_check_config_prints_the_effective_configuration(tmp_path: Path, command: CommandLine) -> None:
    """The merged values of all sources are printed as YAML or JSON with masked secrets, without checks."""
    path = tmp_path / "c.yaml"
    path.write_text(
        "kafka: {security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, sasl_username: u, sasl_password: hunter2}"
    )
    line = ["check-config", "-c", str(path), "-b", "a:1,b:2", "-s", "job.tick_interval=20s"]
    command.run(*line)
    tree = yaml.safe_load(command.out)
    assert tree["kafka"]["bootstrap_servers"] == ["a:1", "b:2"]
    assert tree["kafka"]["sasl_password"] == "**********"
    assert tree["job"]["tick_interval"] == 20.0
    assert "hunter2" not in command.out
    answer = command.json(*line)
    assert "hunter2" not in command.out
    assert list(answer) == ["config"]
    assert answer["config"]["http"]["port"] == 10848


def test_checks_as_json(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each failed check has its advice and exit code, and the command returns the code of the first one."""
    taken = Refusal("the port is taken", "choose another", ExitCode.PORT_IN_USE)
    monkeypatch.setattr(preflight, "run_checks", lambda _: iter(["java is there", Caution("it is open"), taken]))
    answer = command.json("check-config", "-b", "a:1", "--connect", code=ExitCode.PORT_IN_USE)
    assert answer["checks"] == [
        {"ok": True, "text": "java is there"},
        {"ok": True, "text": "it is open", "warning": True},
        {"ok": False, "text": "the port is taken", "advice": "choose another", "code": int(ExitCode.PORT_IN_USE)},
    ]
    command.run("check-config", "-b", "a:1", "--connect", "--quiet", code=ExitCode.PORT_IN_USE)
    assert (command.out, command.err.splitlines()[0]) == ("", "warning: it is open")


@pytest.mark.parametrize(("host", "warns"), [("::", True), ("127.0.0.1", False), ("localhost", False)])
def test_an_open_http_server_is_a_warning(host: str, *, warns: bool) -> None:
    """A server without a login is a warning unless only this machine reaches it."""
    found = preflight.check_web_access(load(None, {}, {"kafka.bootstrap_servers": "a:1", "http.host": host}))
    assert isinstance(found, Caution) == warns


def test_metrics_prints_the_whole_catalogue(command: CommandLine) -> None:
    """Every metric is documented without an instance; the JSON has one object per metric, for generators of rules."""
    command.run("metrics")
    assert METRICS
    assert all(metric.name in command.out for metric in METRICS)
    described = command.json("metrics")
    assert [each["name"] for each in described] == [metric.name for metric in METRICS]
    assert described[0] == {
        "name": "lagwarden_partition_lag",
        "type": "gauge",
        "unit": "",
        "labels": ["group", "topic", "partition"],
        "stability": "stable",
        "preset": "lean",
        "help": METRICS[0].help,
        "absent": METRICS[0].absent,
    }


def test_metrics_estimates_the_series(command: CommandLine) -> None:
    """Each preset has one line, or one JSON object, with the series of this number of groups and partitions."""
    command.run("metrics", "--estimate", "2000x17")
    lines = [line.split() for line in command.out.splitlines()]
    costs = command.json("metrics", "--estimate", "2000x17")
    assert [line[0] for line in lines] == ["preset", "lean", "standard", "full"]
    assert [line[-1] for line in lines[1:]] == [f"{each['total_unhealthy']:,}" for each in costs]
    lean = costs[0]
    assert lean["total"] == 2000 * (17 * lean["per_partition"] + lean["per_topic"] + lean["per_group"])


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1], closed.getsockname()[1]


def connect(command: CommandLine, server: str, **settings: object) -> tuple[str, str]:
    """Run the checks of `run` with settings (`__` for the dot), which fail; return stdout and stderr."""
    flags = [word for key, value in settings.items() for word in ("-s", f"{key.replace('__', '.')}={value}")]
    command.run("check-config", "--connect", "-b", server, *flags, code=None)
    return command.out, command.err


def test_all_failed_checks_are_printed(ports: tuple[int, int], command: CommandLine) -> None:
    """Every check runs; the exit code is that of the first failed one."""
    flags = ["-s", "http.host=127.0.0.1", "-s", f"http.port={ports[0]}", "-s", f"checkpoint.dir={__file__}/checkpoint"]
    command.run("check-config", "--connect", "-b", f"127.0.0.1:{ports[1]}", *flags, code=ExitCode.PORT_IN_USE)
    errors = [line for line in command.err.splitlines() if line.startswith("error: ")]
    texts = ("address already in use", "cannot write the checkpoint", "nothing listens there")
    assert [text in line for text, line in zip(texts, errors, strict=True)] == [True] * 3


def test_master_and_interpreter_of_executors_are_checked(
    ports: tuple[int, int], tmp_path: Path, command: CommandLine
) -> None:
    """The master must answer, the output has the address for executors, and their interpreter must exist."""
    answering, away = (f"spark://127.0.0.1:{port}" for port in ports)
    settings = {"job__authenticate": "false", "checkpoint__shared": "true", "checkpoint__dir": tmp_path}
    settings |= {"server": f"127.0.0.1:{ports[1]}", "http__port": 0}
    out, _ = connect(command, job__master=answering, **settings)
    assert f"ok: Spark's master is {answering}, and this machine is 127.0.0.1" in out
    assert "Spark's master does not answer" in connect(command, job__master=away, **settings)[1]
    _, errors = connect(command, job__master=answering, job__executor_python="/no/such/python", **settings)
    assert "/no/such/python, is not on this machine" in errors


def test_checks_create_nothing(ports: tuple[int, int], tmp_path: Path, command: CommandLine) -> None:
    """The directory of the checkpoint is checked and not created."""
    wanted = tmp_path / "new" / "checkpoint"
    out, _ = connect(command, f"127.0.0.1:{ports[1]}", checkpoint__dir=wanted, http__port=0)
    assert f"the checkpoint {wanted} will be created" in out
    assert not wanted.exists()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Replace the service by a function that records its configuration; `http.port` selects its result."""
    seen: list[Config] = []
    booting = object()

    def run(config: Config, jvm: object, follower: ConfigFollower) -> int:
        assert jvm is booting
        assert follower._load() == config
        seen.append(config)
        if config.http.port == 1:
            raise Refusal("port 1 is taken", "choose another", ExitCode.PORT_IN_USE)
        if config.http.port == 2:
            raise RuntimeError("boom")
        return config.http.port

    module = type(sys)("stream.service.run")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stream.service.run", module)
    monkeypatch.setattr("stream.logs.configure", lambda *_: None)
    monkeypatch.setattr("stream.service.early_jvm.start_jvm", lambda _: contextlib.nullcontext(booting))
    return seen


def test_flags_of_run_become_configuration(seen: list[Config], command: CommandLine) -> None:
    """Each flag sets its option; the exit code is that of the service."""
    line = "run -b a:1 --http-port 31 --checkpoint-dir /x --log-level debug --log-format json"
    command.run(*line.split(), code=ExitCode.WATCHDOG)
    config = seen[0]
    assert (config.kafka.bootstrap_servers, config.http.port, config.checkpoint.dir) == (("a:1",), 31, Path("/x"))
    assert (config.log.level, config.log.format) == ("debug", "json")


@pytest.mark.usefixtures("seen")
def test_errors_of_the_service(command: CommandLine) -> None:
    """A refusal is one line with error and advice; an internal error has a traceback and a request to report it."""
    error = command.fails("run", "-b", "a:1", "--http-port", "1", code=ExitCode.PORT_IN_USE)
    assert error == "error: port 1 is taken; choose another\n"
    command.run("run", "-b", "a:1", "--http-port", "2", code=ExitCode.INTERNAL)
    assert "RuntimeError: boom" in command.err
    assert command.err.rstrip().endswith("please report it with the lines above")


@pytest.mark.parametrize(
    ("shell", "script"),
    [("bash", "complete -o default -F"), ("zsh", "compdef"), ("fish", "complete --command lagwarden")],
)
def test_completion_script(shell: str, script: str) -> None:
    """The script is printed and not installed. click ends the process, so the test starts one.

    Without an argument the script is that of the shell which runs lagwarden; Typer takes a shell where it finds none.
    """
    arguments = [sys.executable, "-m", "stream.cli", "--show-completion", shell]
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=named)
    assert script in done.stdout
    assert "_COMPLETE=" in done.stdout
