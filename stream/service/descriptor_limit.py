"""The limit on open file descriptors of this process and its later children."""

from __future__ import annotations

import resource

import structlog

_log = structlog.get_logger(__name__)


def raise_limit() -> None:
    """Raise the soft limit on open descriptors of this process to the hard limit; later children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        _log.debug("limit on open descriptors not raised", limit=soft, hard_limit=hard, cause=str(error))
    else:
        _log.debug("limit on open descriptors", limit=hard, before=soft)
