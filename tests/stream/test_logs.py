"""Log lines: one form for all loggers, levels of libraries, and masked secrets."""

# ruff: noqa: S106 -- the passwords of test users

import io
import json
import logging
from typing import Any

import pytest
import structlog
from kafka.net.selector import NetworkSelector
from py4j.java_gateway import GatewayClient
from py4j.protocol import ERROR_ON_SEND, Py4JNetworkError

from stream import logs


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_lines_are_json_without_a_terminal() -> None:
    """Each line without a terminal, also of a library, is a JSON object with time, level, logger and event."""
    out = io.StringIO()
    logs.configure(stream=out)
    structlog.get_logger("stream.service.run").info("ready", groups=3)
    logging.getLogger("some.library").warning("odd: %s", "thing", extra={"partition": 7})
    first, second = lines(out)
    found = (first["event"], first["level"], first["logger"], first["groups"])
    assert found == ("ready", "info", "stream.service.run", 3)
    assert (second["event"], second["level"], second["partition"]) == ("odd: thing", "warning", 7)
    assert first["time"].endswith("Z")


def test_lines_of_uvicorn() -> None:
    """The coloured copy of a message is not logged. Neither are malformed requests, which are counted by a metric."""
    out = io.StringIO()
    logs.configure(stream=out)
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.error").error("busy", extra={"color_message": "\x1b[31mbusy\x1b[0m"})
    (line,) = lines(out)
    assert line["event"] == "busy"
    assert "color_message" not in line


def test_level_applies_to_all_loggers() -> None:
    """Lines below the level are dropped for lagwarden and for libraries.

    The Kafka client and py4j also raise the errors that they log, so that the lines have level debug.
    """
    for expected, level in enumerate(("error", "warning", "info", "debug"), 1):
        for logger in (structlog.get_logger("stream.x"), logging.getLogger("some.library")):
            out = io.StringIO()
            logs.configure(level, "json", out)
            for method in ("debug", "info", "warning", "error"):
                getattr(logger, method)("hello")
            assert len(lines(out)) == expected, level
        for name in ("kafka.net.manager", "py4j.clientserver"):
            out = io.StringIO()
            logs.configure(level, "json", out)
            logging.getLogger(name).error("connection lost")
            assert len(lines(out)) == (level == "debug"), (name, level)


class BrokenConnection:
    """A connection of py4j to a JVM that has just ended."""

    def send_command(self, _command: str) -> str:
        """Raise the error of py4j for a broken connection."""
        raise Py4JNetworkError("Error while sending", when=ERROR_ON_SEND)

    def close(self, _reset: object) -> None:
        """Do nothing."""


def test_exceptions_in_the_tasks_of_kafka_python_are_logged() -> None:
    """Such an exception is raised nowhere, unlike an error of a connection."""

    async def fail() -> None:
        raise ValueError("unexpected")

    out = io.StringIO()
    logs.configure(stream=out)
    selector = NetworkSelector()
    selector.call_soon(fail)
    selector.drain()
    selector.close()
    logging.getLogger("kafka.net.connection").error("connection lost")
    assert [line["logger"] for line in lines(out)] == ["kafka.net.selector"]
    assert "ValueError: unexpected" in lines(out)[0]["exception"]


def test_connection_errors_of_py4j_are_logged_at_debug_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """py4j logs tracebacks on the root logger, at levels info and error, when the JVM ends."""
    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", BrokenConnection)
    for level, expected in (("info", 0), ("debug", 2)):
        out = io.StringIO()
        logs.configure(level, "json", out)  # type: ignore[arg-type]
        client.send_command("x")
        logging.getLogger().info("ours")
        of_py4j = [line for line in lines(out) if line["event"] == "Exception while sending command."]
        assert [line["logger"] for line in of_py4j] == ["py4j"] * expected
        assert lines(out)[-1]["event"] == "ours"


LOG_A_SECRET: dict[str, Any] = {
    "in a value with a secret name": lambda log: log.info("x", sasl_password="hunter2"),
    "inside a mapping": lambda log: log.info("x", options={"kafka.sasl.jaas.config": "hunter2"}),
    "in a JAAS login": lambda log: log.info('Plain required username="u" password="hunter2";'),
    "with an escaped quote": lambda log: log.info('password="hun\\"hunter2"'),
    "in the text of a value": lambda log: log.info("x", why="sasl.password=hunter2, y=1"),
    "in the repr of a mapping": lambda log: log.info("{'ssl_key_password': 'hunter2'}"),
    "in a traceback": lambda log: log.error("x", exc_info=ValueError("password=hunter2")),
}


@pytest.mark.parametrize("style", ["json", "console"])
def test_secrets_are_masked(style: Any) -> None:
    """A password in any part of a line is replaced by stars."""
    for place, log_secret in LOG_A_SECRET.items():
        out = io.StringIO()
        logs.configure("debug", style, out)
        log_secret(structlog.get_logger("ours"))
        assert "hunter2" not in out.getvalue(), place
        assert logs.STARS in out.getvalue(), place
