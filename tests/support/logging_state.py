"""The logging configuration of tests: cheap tracebacks, and the state of before after a test has changed it."""

import contextlib
import logging
from collections.abc import Iterator

import structlog

from stream.logs import QUIET


def log_plain_tracebacks() -> None:
    """Make structlog's default renderer print tracebacks as Python does.

    By default structlog prints them with the values of all variables, through rich, which takes a third of a second per
    line. Only a process that does not call `stream.logs.configure` uses the default renderer.
    """
    structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback


@contextlib.contextmanager
def logging_as_before() -> Iterator[None]:
    """Undo the changes of `stream.logs.configure` at the end of the block.

    Its handlers write to a stream that is closed after the test. A thread that logs later, such as that of a starting
    server, would print the error to stderr of the test that runs then.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in QUIET}
    yield
    if not structlog.is_configured():
        return
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    logging.captureWarnings(False)
    structlog.reset_defaults()
