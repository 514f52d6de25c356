"""What of a failed query is no failure: a cluster that refuses the reader, or a full volume; no restart mends it.

Spark reports everything as one kind of error whose text holds the Kafka client's. The few texts that say "no" are told
apart here, by the names of Kafka's own exception classes and by the words of the operating system.
"""

from __future__ import annotations

from typing import Final

from stream.errors import ExitCode, Refusal

_REFUSALS: Final = (
    (
        ("GroupAuthorizationException", "Not authorized to access group"),
        "the broker lets this user read no group",
        (
            "grant Read on groups beginning with spark-kafka-source- (`lagwarden acls` prints the command): "
            "Spark's reader names one, though it never joins it"
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
        "check kafka.sasl_username, kafka.sasl_password and kafka.sasl_mechanism",
        ExitCode.LOGIN_REFUSED,
    ),
    (
        ("No space left on device", "Disk quota exceeded"),
        "no space left on a volume that Spark writes to: that of the checkpoint, or of temporary files",
        "make room on the volume of checkpoint.dir and in the folder for temporary files, then start again",
        ExitCode.CHECKPOINT_UNUSABLE,
    ),
)


def refusal_in(error: str) -> Refusal | None:
    """Give the refusal that the text of a query's error tells of; None if it tells of something else."""
    for marks, what, advice, code in _REFUSALS:
        if any(mark in error for mark in marks):
            return Refusal(what, advice, code)
    return None
