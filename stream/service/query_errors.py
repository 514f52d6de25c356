"""Recognises query failures that a restart does not fix: missing permissions, a refused login, a full volume.

Spark reports everything as one type of error whose text contains that of the Kafka client. These causes are recognised
by the names of Kafka's exception classes and by the messages of the operating system.
"""

from __future__ import annotations

from typing import Final

from stream.errors import ExitCode, Refusal

_REFUSALS: Final = (
    (
        ("GroupAuthorizationException", "Not authorized to access group"),
        "the broker does not let this user read any group",
        (
            "grant Read on groups beginning with spark-kafka-source- (`lagwarden acls` prints the command): "
            "Spark's reader names a group, although it never joins it"
        ),
        ExitCode.NOT_AUTHORISED,
    ),
    (
        ("TopicAuthorizationException", "Not authorized to access topics"),
        "the broker does not let this user read __consumer_offsets",
        "grant Read on topic __consumer_offsets (`lagwarden acls` prints the command)",
        ExitCode.NOT_AUTHORISED,
    ),
    (
        ("SaslAuthenticationException", "Authentication failed"),
        "the broker refused the login of Spark's reader",
        "check kafka.sasl_mechanism, kafka.sasl_username and kafka.sasl_password, or the kafka.oauth_* options",
        ExitCode.LOGIN_REFUSED,
    ),
    (
        ("No space left on device", "Disk quota exceeded"),
        "no space left on a volume that Spark writes to: that of the checkpoint, or of temporary files",
        "free space on the volume of checkpoint.dir and in the folder for temporary files, then restart",
        ExitCode.CHECKPOINT_UNUSABLE,
    ),
)


def refusal_in(error: str) -> Refusal | None:
    """Return the refusal that the text of a query error indicates; None for any other error."""
    for marks, message, advice, code in _REFUSALS:
        if any(mark in error for mark in marks):
            return Refusal(message, advice, code)
    return None
