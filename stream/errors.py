"""Exit codes, and the refusal: an error that a person can act on.

Owns the numbers with which `lagwarden` ends, so that a supervisor, a script or a runbook can tell the cases apart, and
the one exception that carries such a number with two sentences: what is wrong, and what to do about it.

The numbers are an interface: a number once published keeps its meaning. They stay below 64 so that they meet neither
the shell's own codes (126 and above) nor those of `sysexits.h`.
"""

from __future__ import annotations

import enum
from typing import Self


class ExitCode(enum.IntEnum):
    """With which number the process ends. Each member's `meaning` is the sentence of the documentation."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        """Give the number its sentence."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    OK = 0, "Done, or stopped in good order by SIGTERM or SIGINT."
    INTERNAL = 1, "A fault of lagwarden itself; the log holds the traceback."
    USAGE = 2, "A wrong option, or a fault in the configuration."

    KAFKA_UNREACHABLE = 10, "No broker could be reached (`check-config --connect`; `run` stays up and keeps trying)."
    WRONG_PROTOCOL = 11, "What answers at the address does not speak the configured security protocol, or not Kafka."
    TLS_REFUSED = 12, "The TLS handshake failed: a certificate is not trusted, not valid, or missing."
    LOGIN_REFUSED = 13, "The broker refused the login: user, password, token or mechanism."
    NOT_AUTHORISED = 14, "The login is good, but a right on the cluster is missing."

    PORT_IN_USE = 20, "The HTTP port is taken, or may not be opened."
    CHECKPOINT_FORMAT = 21, "The checkpoint was written in a format that this version does not read."
    CHECKPOINT_CLUSTER = 22, "The checkpoint belongs to another cluster."
    CHECKPOINT_UNUSABLE = (
        23,
        ("The checkpoint directory cannot be created or written, is in use by another process, or a volume is full."),
    )
    SPARK_UNAVAILABLE = 24, "Spark cannot start: no Java, or the connector's jars are missing."

    QUERY_FAILED = 30, "The streaming query failed; the supervisor should start the process again."
    WATCHDOG = 31, "No batch ended within the watchdog's limit; the process ended itself to be started again."
    READ_ANEW = 32, "The offsets topic is not what was read any more; started again, the topic is read from its start."
    CHECKPOINT_DAMAGED = (
        33,
        (
            "The checkpoint was deleted while it was in use, or its state cannot be read; started again, "
            "the topic is read from its start."
        ),
    )

    UNREADABLE = 40, "A file, or some of its records, could not be read; all that could be has been given."
    UNWRITABLE = 41, "A file could not be written; what was written to it before is kept."

    NO_INSTANCE = 50, "No running lagwarden answers at the address that was asked."
    NOT_READY = 51, "The lagwarden that was asked has no numbers yet."
    NO_SUCH_GROUP = 52, "No group of that name is known, living or lately dead."


class Refusal(Exception):  # noqa: N818 -- it is no error of the program: it names what the world refuses
    """Something that lagwarden cannot do, said so that a person can act.

    `what` is one line saying what is wrong and where, without a full stop; `advice` is one line saying what to do.
    Neither ever holds a secret. `code` is what the process ends with where nobody handles the refusal.
    """

    code: ExitCode = ExitCode.INTERNAL

    def __init__(self, what: str, advice: str, code: ExitCode | None = None) -> None:
        super().__init__(what, advice)
        self.what = what
        self.advice = advice
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.what}: {self.advice}" if self.advice else self.what
