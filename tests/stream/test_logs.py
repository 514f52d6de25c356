"""Log lines: one form for all, quiet libraries, and never a secret."""

# ruff: noqa: S106 -- the passwords of test users
from __future__ import annotations

import io
import json
import logging
import warnings
from typing import Any

import pytest
import structlog
from py4j.java_gateway import GatewayClient
from py4j.protocol import ERROR_ON_SEND, Py4JNetworkError

from stream import logs
from tests.support.logging_state import logging_as_before


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_where_nobody_reads() -> None:
    """Without a terminal each line is one JSON object with time, level, logger and event; others' lines too."""
    out = io.StringIO()
    logs.configure(stream=out)
    structlog.get_logger("stream.service.run").info("ready", groups=3)
    logging.getLogger("some.library").warning("odd: %s", "thing", extra={"partition": 7})
    first, second = lines(out)
    assert (first["event"], first["level"], first["logger"], first["groups"]) == (
        "ready",
        "info",
        "stream.service.run",
        3,
    )
    assert (second["event"], second["level"], second["partition"]) == ("odd: thing", "warning", 7)
    assert first["time"].endswith("Z")


def test_nothing_is_said_twice() -> None:
    """The copy of a message that uvicorn adds, coloured, is left out."""
    out = io.StringIO()
    logs.configure(stream=out)
    logging.getLogger("uvicorn.error").error("busy", extra={"color_message": "\x1b[31mbusy\x1b[0m"})
    (line,) = lines(out)
    assert line["event"] == "busy"
    assert "color_message" not in line


def test_malformed_requests_are_counted_not_logged() -> None:
    """A client that sends garbage must not fill the log: the server's metrics tell of it."""
    out = io.StringIO()
    logs.configure(stream=out)
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    assert lines(out) == []


def test_text_on_a_terminal() -> None:
    """A person at a terminal gets a readable line."""
    out = Terminal()
    logs.configure(stream=out)
    structlog.get_logger("stream.service.run").info("ready", groups=3)
    assert "ready" in out.getvalue()
    with pytest.raises(json.JSONDecodeError):
        lines(out)


@pytest.mark.parametrize(("level", "said"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_level_holds_for_ours_and_for_others(level: str, said: int) -> None:
    """Nothing below the level is printed, whoever says it."""
    for name in ("stream.x", "some.library"):
        out = io.StringIO()
        logs.configure(level, "json", out)
        logger = structlog.get_logger(name) if name == "stream.x" else logging.getLogger(name)
        for method in ("debug", "info", "warning", "error"):
            getattr(logger, method)("hello")
        assert len(lines(out)) == said


@pytest.mark.parametrize("name", ["kafka.net.manager", "py4j.clientserver"])
def test_noise_is_for_debugging(name: str) -> None:
    """What these libraries log as an error reaches us as an exception too; said twice it hides the rest."""
    for level, said in (("info", 0), ("debug", 1)):
        out = io.StringIO()
        logs.configure(level, "json", out)
        logging.getLogger(name).error("connection lost")
        assert len(lines(out)) == said


class BrokenConnection:
    """A connection of py4j to a JVM that has just ended."""

    def send_command(self, _command: str) -> str:
        """Fail as py4j does."""
        raise Py4JNetworkError("Error while sending", when=ERROR_ON_SEND)

    def close(self, _reset: object) -> None:
        """Do nothing."""


def test_connection_errors_of_py4j_are_for_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    """py4j logs them with tracebacks on the root logger, at levels info and error, whenever the JVM ends."""
    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", BrokenConnection)
    for level, said in (("info", 0), ("debug", 2)):
        out = io.StringIO()
        logs.configure(level, "json", out)  # type: ignore[arg-type]
        client.send_command("x")
        logging.getLogger().info("ours")
        of_py4j = [line for line in lines(out) if line["event"] == "Exception while sending command."]
        assert [line["logger"] for line in of_py4j] == ["py4j"] * said
        assert lines(out)[-1]["event"] == "ours"


def test_traceback_is_one_line_of_json() -> None:
    """An exception stays within its line, so that a log collector keeps it together."""
    out = io.StringIO()
    logs.configure(stream=out)
    try:
        raise ValueError("nothing works")  # noqa: TRY301 -- the test is about the traceback
    except ValueError:
        structlog.get_logger().exception("failed")
    assert "ValueError: nothing works" in lines(out)[0]["exception"]


def test_warnings_are_log_lines() -> None:
    """A warning of a library does not break the stream of JSON lines."""
    out = io.StringIO()
    logs.configure(stream=out)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # Off and on: whoever turned it on before may have had the hook put back by pytest since.
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old", stacklevel=1)
    assert lines(out)[0]["logger"] == "py.warnings"


@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize(
    "say",
    [
        pytest.param(lambda log: log.info("x", sasl_password="hunter2"), id="by the name of the value"),
        pytest.param(lambda log: log.info("x", options={"kafka.sasl.jaas.config": "hunter2"}), id="inside a mapping"),
        pytest.param(
            lambda log: log.info('Plain required username="u" password="hunter2";'), id="as Java writes a login"
        ),
        pytest.param(lambda log: log.info('password="hun\\"hunter2"'), id="with an escaped quote in it"),
        pytest.param(lambda log: log.info("x", why="sasl.password=hunter2, y=1"), id="in the text of a value"),
        pytest.param(lambda log: log.info("{'ssl_key_password': 'hunter2'}"), id="as Python prints a mapping"),
        pytest.param(lambda log: log.error("x", exc_info=ValueError("password=hunter2")), id="in a traceback"),
    ],
)
def test_no_secret_is_printed(style: Any, say: Any) -> None:
    """Wherever a password slips in, stars come out."""
    out = io.StringIO()
    logs.configure("debug", style, out)
    say(structlog.get_logger("ours"))
    assert "hunter2" not in out.getvalue()
    assert logs.STARS in out.getvalue()


def test_who_set_up_logging_leaves_it_as_it_was() -> None:
    """Handlers, levels and the hook of warnings belong to the process: the next test has those of before."""
    loggers = [logging.getLogger(), *map(logging.getLogger, logs.QUIET)]

    def state() -> tuple[Any, ...]:
        return [(each.handlers[:], each.level) for each in loggers], warnings.showwarning, structlog.is_configured()

    before = state()
    for level in ("debug", "info"):
        with logging_as_before():
            logs.configure(level, "json", io.StringIO())  # type: ignore[arg-type]
            assert all(there != was for there, was in zip(state(), before, strict=True))
        assert state() == before
