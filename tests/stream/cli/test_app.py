"""The command line: it starts without Spark, and an error is one line on stderr with advice and an exit code."""

# ruff: noqa: S105 -- the passwords of test users
from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from exporters.catalogue.estimate import estimate_lines
from exporters.catalogue.metrics import METRICS
from stream.cli import app as cli
from stream.cli import preflight
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.options import Config

HEAVY = ("pyspark", "kafka", "pandas", "pyarrow", "starlette", "textual")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the options of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)
    return


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(["--nope"], "error: No such option: --nope; see `lagwarden --help`", id="unknown option"),
        pytest.param(["run", "--nope"], "see `lagwarden run --help`", id="unknown option of a command"),
        pytest.param(
            ["groups", "--state"], "requires an argument; see `lagwarden groups --help`", id="option without a value"
        ),
        pytest.param(["check"], "error: give the name of one group, or --all; see", id="neither a group nor --all"),
        pytest.param(["walk"], "No such command 'walk'", id="unknown command"),
        pytest.param(["run", "-s", "x"], "'x' must be KEY=VALUE", id="setting without a value"),
        pytest.param(["run", "--http-port", "x"], "Invalid value for '--http-port'", id="port that is not a number"),
        pytest.param(["check-config"], "kafka.bootstrap_servers (not set): is required", id="missing brokers"),
        pytest.param(["run", "-b", "a:1", "-s", "job.shard=1"], "did you mean job.shards?", id="misspelt setting"),
        pytest.param(
            ["run", "-b", "a:1", "-c", "/no.yaml"], "/no.yaml (configuration file): cannot be read", id="missing file"
        ),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is printed on stdout; stderr has the error and the command for help, without a traceback."""
    assert cli.main(arguments) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err
    assert "Traceback" not in err


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The help lists the commands; the exit code is still that of wrong usage."""
    assert cli.main([]) == ExitCode.USAGE
    assert "check-config" in capsys.readouterr().out


def test_help_and_version_need_nothing_heavy() -> None:
    """The commands of the test load neither Spark nor the Kafka client nor Arrow."""
    for arguments in (["--help"], ["version"], ["acls"], ["check-config", "-b", "a:1"]):
        script = (
            "import sys; from stream.cli.app import main; code = main(sys.argv[1:]);"
            f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(cli.__file__).parents[2],
        )
        assert ran.stderr.strip() == "[]", arguments


def test_version_prints_what_a_bug_report_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """One line has the versions of lagwarden, Python and the main libraries."""
    assert cli.main(["version"]) == ExitCode.OK
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert all(word in line for word in ("lagwarden 0", "Python 3", "pyspark 4", "kafka-python 3"))


def test_version_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has the same versions by name."""
    assert cli.main(["version"]) == ExitCode.OK
    line = capsys.readouterr().out
    assert cli.main(["version", "--json"]) == ExitCode.OK
    versions = json.loads(capsys.readouterr().out)
    assert list(versions) == ["lagwarden", "python", "pyspark", "kafka-python", "pyarrow"]
    assert all(version in line for version in versions.values())


def test_acls_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON is a list of objects with their commands."""
    assert cli.main(["acls", "--principal", "User:me", "--json"]) == ExitCode.OK
    assert all("User:me" in acl["command"] for acl in json.loads(capsys.readouterr().out))


def test_configuration_as_json_masks_secrets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The JSON has the sections of the YAML without secrets, and no checks without --connect."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "kafka: {bootstrap_servers: 'a:1', security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN,"
        " sasl_username: me, sasl_password: hunter2}"
    )
    assert cli.main(["check-config", "-c", str(file), "--json"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "hunter2" not in out
    answer = json.loads(out)
    assert list(answer) == ["config"]
    assert answer["config"]["http"]["port"] == 10848


def test_checks_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each failed check has its advice and exit code, and the command returns the code of the first one."""
    taken = Refusal("the port is taken", "choose another", ExitCode.PORT_IN_USE)
    monkeypatch.setattr(preflight, "run_checks", lambda _: iter(["java is there", taken]))
    assert cli.main(["check-config", "-b", "a:1", "--connect", "--json"]) == ExitCode.PORT_IN_USE
    assert json.loads(capsys.readouterr().out)["checks"] == [
        {"ok": True, "text": "java is there"},
        {"ok": False, "text": "the port is taken", "advice": "choose another", "code": int(ExitCode.PORT_IN_USE)},
    ]


def test_metrics_prints_the_whole_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    """Every metric is documented without a running instance."""
    assert cli.main(["metrics"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert METRICS
    assert all(metric.name in out for metric in METRICS)


def test_metrics_are_data_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has one object per metric, with what a generator of rules or dashboards needs."""
    assert cli.main(["metrics", "--json"]) == ExitCode.OK
    described = json.loads(capsys.readouterr().out)
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


def test_metrics_estimates_the_series(capsys: pytest.CaptureFixture[str]) -> None:
    """Each preset has one line with the most series of this number of groups and partitions."""
    assert cli.main(["metrics", "--estimate", "2000x17"]) == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == estimate_lines(2000, 17)


@pytest.mark.parametrize("text", ["2000", "x17", "2000x", "-1x2", "2 x 3", "2x3x4", "9999999999x1"])
def test_an_estimate_needs_two_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the value and an example."""
    assert cli.main(["metrics", f"--estimate={text}"]) == ExitCode.USAGE
    assert f"{text!r} is not GROUPSxPARTITIONS, such as 2000x17" in capsys.readouterr().err


def test_acls_prints_commands_for_a_principal(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands have the given principal and the given brokers."""
    assert cli.main(["acls", "--principal", "User:x", "-b", "k:1"]) == ExitCode.OK
    assert "bin/kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:x" in capsys.readouterr().out


def test_check_config_prints_the_effective_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The merged values of all sources are printed as YAML with masked secrets."""
    path = tmp_path / "c.yaml"
    path.write_text(
        "kafka: {security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, sasl_username: u, sasl_password: hunter2}"
    )
    assert cli.main(["check-config", "-c", str(path), "-b", "a:1,b:2", "-s", "job.tick_interval=20s"]) == ExitCode.OK
    out = capsys.readouterr().out
    tree = yaml.safe_load(out)
    assert tree["kafka"]["bootstrap_servers"] == ["a:1", "b:2"]
    assert tree["kafka"]["sasl_password"] == "**********"
    assert tree["job"]["tick_interval"] == 20.0
    assert "hunter2" not in out


class TestConnect:
    """`check-config --connect` runs the checks of `run`."""

    def test_all_failed_checks_are_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Every check runs; the exit code is that of the first failed one."""
        with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            settings = {
                "http.host": "127.0.0.1",
                "http.port": port,
                "checkpoint.dir": Path(__file__) / "checkpoint",
            }
            flags = [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
            server = f"127.0.0.1:{closed.getsockname()[1]}"
            code = cli.main(["check-config", "--connect", "-b", server, *flags])
        assert code == ExitCode.PORT_IN_USE
        errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 3
        for text, line in zip(
            ("address already in use", "cannot write the checkpoint", "nothing listens there"),
            errors,
            strict=True,
        ):
            assert text in line

    def test_missing_token_file_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The login is tried, and the error names the missing file of the token."""
        settings = {
            "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "OAUTHBEARER",
            "kafka.oauth_token_file": tmp_path / "token",
            "http.port": 0,
            "checkpoint.dir": tmp_path / "checkpoint",
        }
        flags = [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
        assert cli.main(["check-config", "--connect", "-b", "127.0.0.1:1", *flags]) != ExitCode.OK
        errors = capsys.readouterr().err
        assert f"the token file {tmp_path / 'token'} cannot be read: No such file or directory" in errors

    def test_master_and_interpreter_of_executors_are_checked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The master must answer, the output has the address for executors, and their interpreter must exist."""
        with socket.create_server(("127.0.0.1", 0)) as master, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            settings = {
                "job.authenticate": "false",
                "checkpoint.shared": "true",
                "checkpoint.dir": tmp_path,
                "http.port": 0,
            }
            flags = [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
            flags += ["-b", f"127.0.0.1:{closed.getsockname()[1]}"]
            answering, away = (f"spark://127.0.0.1:{each.getsockname()[1]}" for each in (master, closed))
            cli.main(["check-config", "--connect", *flags, "-s", f"job.master={answering}"])
            assert f"ok: Spark's master is {answering}, and this machine is 127.0.0.1" in capsys.readouterr().out
            cli.main(["check-config", "--connect", *flags, "-s", f"job.master={away}"])
            assert "Spark's master does not answer" in capsys.readouterr().err
            python = ["-s", f"job.master={answering}", "-s", "job.executor_python=/no/such/python"]
            cli.main(["check-config", "--connect", *flags, *python])
            assert "/no/such/python, is not on this machine" in capsys.readouterr().err

    def test_checks_create_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The directory of the checkpoint is checked and not created."""
        wanted = tmp_path / "new" / "checkpoint"
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            server = f"127.0.0.1:{closed.getsockname()[1]}"
            code = cli.main(
                ["check-config", "--connect", "-b", server, "-s", f"checkpoint.dir={wanted}", "-s", "http.port=0"]
            )
        assert f"the checkpoint {wanted} will be created" in capsys.readouterr().out
        assert not wanted.exists()
        assert code in (ExitCode.KAFKA_UNREACHABLE, ExitCode.SPARK_UNAVAILABLE)


class TestRun:
    """`run` passes the configuration to the service and returns its exit code."""

    @pytest.fixture
    def seen(self, monkeypatch: pytest.MonkeyPatch) -> list[Config]:
        """Replace the service by a function that records its configuration; `http.port` selects its result."""
        seen: list[Config] = []
        booting = object()

        def run(config: Config, jvm: object) -> int:
            assert jvm is booting
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

    def test_flags_become_configuration(self, seen: list[Config]) -> None:
        """Each flag sets its option; the exit code is that of the service."""
        arguments = [
            "-b",
            "a:1",
            "--http-port",
            "31",
            "--checkpoint-dir",
            "/x",
            "--log-level",
            "debug",
            "--log-format",
            "json",
        ]
        assert cli.main(["run", *arguments]) == ExitCode.WATCHDOG
        config = seen[0]
        assert (config.kafka.bootstrap_servers, config.http.port, config.checkpoint.dir) == (("a:1",), 31, Path("/x"))
        assert (config.log.level, config.log.format) == ("debug", "json")

    def test_configuration_from_the_environment(
        self, seen: list[Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Variables name the configuration file and the brokers, as in a container."""
        (tmp_path / "c.yaml").write_text("job: {shards: 256}")
        monkeypatch.setenv("LAGWARDEN_CONFIG", str(tmp_path / "c.yaml"))
        monkeypatch.setenv("LAGWARDEN_KAFKA_BOOTSTRAP_SERVERS", "k:1")
        assert cli.main(["run", "--http-port", "0"]) == ExitCode.OK
        assert (seen[0].job.shards, seen[0].kafka.bootstrap_servers) == (256, ("k:1",))

    def test_refusal_is_one_line_and_an_exit_code(self, seen: list[Config], capsys: pytest.CaptureFixture[str]) -> None:
        """The line has the error and the advice."""
        assert cli.main(["run", "-b", "a:1", "--http-port", "1"]) == ExitCode.PORT_IN_USE
        assert seen
        assert capsys.readouterr().err == "error: port 1 is taken; choose another\n"

    def test_internal_error_has_a_traceback(self, seen: list[Config], capsys: pytest.CaptureFixture[str]) -> None:
        """An unexpected error is printed with its traceback and a request to report it."""
        assert cli.main(["run", "-b", "a:1", "--http-port", "2"]) == ExitCode.INTERNAL
        assert seen
        err = capsys.readouterr().err
        assert "RuntimeError: boom" in err
        assert err.rstrip().endswith("please report it with the lines above")


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", [[], ["groups"], ["groups", "describe"], ["check"], ["log", "find"]], ids=" ".join)
def test_help_has_a_short_option(command: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command accepts both `-h` and `--help`."""
    assert cli.main([*command, option]) == ExitCode.OK
    assert "Usage: lagwarden" in capsys.readouterr().out


def test_version_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """The option prints one line for scripts. The command `version` adds the libraries."""
    assert cli.main(["--version"]) == ExitCode.OK
    option = capsys.readouterr().out
    assert cli.main(["version"]) == ExitCode.OK
    assert capsys.readouterr().out.startswith(f"{option.strip()} (Python ")


@pytest.mark.parametrize(
    ("shell", "command"),
    [("bash", "complete -o default -F"), ("zsh", "compdef"), ("fish", "complete --command lagwarden")],
)
def test_completion_script(shell: str, command: str) -> None:
    """The script is printed and not installed. click ends the process, so the test starts one.

    Without an argument the script is that of the shell which runs lagwarden; Typer takes a shell where it finds none.
    """
    arguments = [sys.executable, "-m", "stream.cli", "--show-completion", shell]
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=named)
    assert command in done.stdout
    assert "_COMPLETE=" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("lagwarden gr", {"groups"}),
        ("lagwarden groups de", {"describe"}),
        ("lagwarden groups --so", {"--sort"}),
        ("lagwarden no-such-", set()),
    ],
)
def test_completion_of_a_word(words: str, expected: set[str]) -> None:
    """Completion in bash finds commands, their subcommands and options."""
    asked = {"_LAGWARDEN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "stream.cli"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **asked})
    assert set(done.stdout.split()) == expected
