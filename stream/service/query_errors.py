"""Recognises query failures that a restart does not fix: missing rights, a refused login, a full volume.

Spark reports everything as one type of error, with the text of the exception that a Python process raised. Permanent
errors of the cluster are recognised by the names of their classes, a full volume by the messages of the system.
"""

from __future__ import annotations

import re
from typing import Final

from stream.cluster.transport import errors
from stream.errors import ExitCode, Refusal

CLUSTER_ERROR: Final = re.compile(rf"\b{re.escape(errors.__name__)}\.(\w+): (.+)")
"""Matches a ClusterError in the text of a traceback: the name of its class, and its message with the advice."""
_NO_SPACE: Final = ("No space left on device", "Disk quota exceeded")


def refusal_in(error: str) -> Refusal | None:
    """Return the refusal that the text of a query error indicates; None for any other error."""
    for name, text in CLUSTER_ERROR.findall(error):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.ClusterError) and not kind.passes:
            return Refusal(text.strip(), "", kind.code)
    if any(mark in error for mark in _NO_SPACE):
        return Refusal(
            "no space left on a volume that Spark writes to: that of the checkpoint, or of temporary files",
            "free space on the volume of checkpoint.dir and in the folder for temporary files, then restart",
            ExitCode.CHECKPOINT_UNUSABLE,
        )
    return None
