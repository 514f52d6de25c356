"""Log lines: JSON in a container, readable on a terminal, on stderr, with every library's lines in the same form.

Owns the set-up of structlog and of standard logging, which libraries use. Other modules only call
`structlog.get_logger(__name__)`. No secret is ever printed, not even by mistake: see `_without_secrets`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import TYPE_CHECKING, Final, Literal, TextIO

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

STARS: Final = "**********"
_PY4J_FOLDER: Final = f"{os.sep}py4j{os.sep}"
_SECRET_NAME: Final = re.compile(r"password|secret|token|jaas|keystore", re.IGNORECASE)
# As Java writes a login (password="x"), and as options are printed (sasl.password=x, "sasl_password": "x").
_SECRET_TEXT: Final = re.compile(
    r"""((?:password|secret|token)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;"'}]+)""", re.IGNORECASE
)

QUIET: Final = {
    # What goes wrong with a connection reaches us as a named error; the library says each step of it again.
    "kafka": logging.CRITICAL,
    # py4j reports every connection that the JVM closes when it ends, on top of the exception.
    "py4j": logging.CRITICAL,
    # The server's start and stop, which run.py logs, and a warning for each malformed request, which is counted.
    "uvicorn": logging.ERROR,
    "asyncio": logging.WARNING,
}


def configure(
    level: str = "info", style: Literal["auto", "json", "console"] = "auto", stream: TextIO | None = None
) -> None:
    """Send all log lines of the process to `stream` (default stderr), from `level` on. Calling again replaces it.

    `auto` is console on a terminal and JSON elsewhere. At level debug the libraries speak too.
    """
    out = stream or sys.stderr
    console = style == "console" or (style == "auto" and out.isatty())
    common = _common()
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=common, processors=_rendering(console=console, out=out))
    )
    handler.addFilter(_to_logger_of_py4j)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, quiet in QUIET.items():
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else quiet)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *common,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Tests and the command line configure more than once.
        cache_logger_on_first_use=False,
    )
    logging.captureWarnings(True)


def _to_logger_of_py4j(record: logging.LogRecord) -> bool:
    """Treat what py4j logs on the root logger as logged on its own, whose level is set in `QUIET`.

    py4j logs the traceback of each connection that breaks on the root logger, at level info.
    """
    if record.name != "root" or _PY4J_FOLDER not in record.pathname:
        return True
    record.name = "py4j"
    return logging.getLogger("py4j").isEnabledFor(record.levelno)


def _common() -> list[Processor]:
    """Give what every line gets, ours and the libraries'."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.stdlib.ExtraAdder(),
        _without_colours,
    ]


def _without_colours(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Leave out the copy of its message that uvicorn adds for terminals."""
    line.pop("color_message", None)
    return line


def _rendering(*, console: bool, out: TextIO) -> list[Processor]:
    """Give what turns a line into text. Secrets go last, when tracebacks are text too."""
    meta: Processor = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    traceback: Processor = structlog.processors.format_exc_info
    if console:
        renderer: Processor = structlog.dev.ConsoleRenderer(colors=out.isatty(), timestamp_key="time", pad_event_to=0)
    else:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    return [meta, traceback, _without_secrets, renderer]


def _without_secrets(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Put stars for a value whose name, or whose place in a text, says that it is a secret."""
    for name, value in line.items():
        if _SECRET_NAME.search(name):
            line[name] = STARS
        elif isinstance(value, str):
            line[name] = hide_secrets(value)
        elif isinstance(value, dict):
            line[name] = dict(_without_secrets(None, "", dict(value)))
    return line


def hide_secrets(text: str) -> str:
    """Put stars for what stands after `password=`, `secret:` and the like."""
    return _SECRET_TEXT.sub(rf"\g<1>{STARS}", text)
