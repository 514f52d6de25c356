"""Configures logging to stderr: JSON in a container, readable text on a terminal, one form for all libraries.

Sets up structlog, and standard logging for the libraries. Other modules only call `structlog.get_logger(__name__)`.
`_without_secrets` masks secrets in every line, in case one is logged by mistake.
"""

import logging
import os
import re
import sys
from typing import Final, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

STARS: Final = "**********"
_PY4J_FOLDER: Final = f"{os.sep}py4j{os.sep}"
_SECRET_NAME: Final = re.compile(r"password|secret|token|jaas|keystore", re.IGNORECASE)
# A login in the syntax of JAAS (password="x"), and printed options (sasl.password=x, "sasl_password": "x").
_SECRET_TEXT: Final = re.compile(
    r"""((?:password|secret|token)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;"'}]+)""", re.IGNORECASE
)

QUIET: Final = {
    # Connection errors are raised as exceptions; the library also logs each step.
    "kafka": logging.CRITICAL,
    # An exception that ends one of the library's tasks is logged here, and raised nowhere.
    "kafka.net.selector": logging.ERROR,
    # py4j logs every connection that the JVM closes at its end, in addition to the exception.
    "py4j": logging.CRITICAL,
    # Start and stop of the server, which service/run.py logs, and a warning per malformed request, which is counted.
    "uvicorn": logging.ERROR,
    "asyncio": logging.WARNING,
    # Where it found credentials, at level info; errors are raised as exceptions.
    "botocore": logging.WARNING,
    "urllib3": logging.ERROR,
}


_PRINTS_MESSAGES: Final = ("kafka.net.connection", "kafka.protocol.parser", "botocore", "urllib3")
"""Loggers that print every request at level debug, logins, their passwords and signatures included."""


def configure(
    level: str = "info", style: Literal["auto", "json", "console"] = "auto", stream: TextIO | None = None
) -> None:
    """Send all log lines of the process from `level` on to `stream` (default stderr). Replaces an earlier setup.

    `auto` is console on a terminal and JSON elsewhere. At level debug, the libraries in `QUIET` log too.
    """
    out = stream or sys.stderr
    console = style == "console" or (style == "auto" and out.isatty())
    # Of all lines, those of lagwarden and those of libraries.
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.stdlib.ExtraAdder(),
        _without_colours,
    ]
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if console:
        renderer = structlog.dev.ConsoleRenderer(colors=out.isatty(), timestamp_key="time", pad_event_to=0)
    meta, traceback = structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.format_exc_info
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            # Secrets are masked after tracebacks have become text.
            processors=[meta, traceback, _without_secrets, renderer],
        )
    )
    handler.addFilter(_to_logger_of_py4j)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, quiet in QUIET.items():
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else quiet)
    for name in _PRINTS_MESSAGES:
        logging.getLogger(name).setLevel(logging.INFO if level == "debug" else QUIET.get(name, logging.NOTSET))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *common,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Tests and the command line call this more than once.
        cache_logger_on_first_use=False,
    )
    logging.captureWarnings(True)


def _to_logger_of_py4j(record: logging.LogRecord) -> bool:
    """Assign records that py4j logs on the root logger to its own logger, and apply that logger's level.

    py4j logs the traceback of each broken connection on the root logger, at level info.
    """
    if record.name != "root" or _PY4J_FOLDER not in record.pathname:
        return True
    record.name = "py4j"
    return logging.getLogger("py4j").isEnabledFor(record.levelno)


def _without_colours(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Remove the coloured copy of the message that uvicorn adds for terminals."""
    line.pop("color_message", None)
    return line


def _without_secrets(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Replace values by stars if their name, or the text before them, marks them as a secret."""
    for name, value in line.items():
        if _SECRET_NAME.search(name):
            line[name] = STARS
        elif isinstance(value, str):
            line[name] = hide_secrets(value)
        elif isinstance(value, dict):
            line[name] = dict(_without_secrets(None, "", dict(value)))
    return line


def hide_secrets(text: str) -> str:
    """Replace the values after `password=`, `secret:` and similar names by stars."""
    return _SECRET_TEXT.sub(rf"\g<1>{STARS}", text)
