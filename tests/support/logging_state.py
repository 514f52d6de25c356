"""The set-up of logging, which belongs to the process: put back after who changed it."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import structlog

from stream.logs import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def logging_as_before() -> Iterator[None]:
    """Undo at the end what `stream.logs.configure` has done inside.

    What it leaves behind writes to a stream that a test has taken with it; any thread that logs after that, such as a
    server's when it starts, puts the failure on the stderr of whatever test is running then.
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
