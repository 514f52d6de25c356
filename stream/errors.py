"""The exit codes of `lagwarden`, `Refusal`, the exception for errors that the user can fix, and `Caution`.

Supervisors, scripts and runbooks distinguish failures by exit code. The codes are an interface: a published code keeps
its meaning. They stay below 64 and so differ from the codes of shells (126 and above) and of `sysexits.h`; that of an
interrupt is the one of shells.
"""

import contextlib
import enum
from collections.abc import Iterator
from typing import Self


class ExitCode(enum.IntEnum):
    """The exit codes of the process. `meaning` is the sentence in the documentation."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        """Create a member from its number and its meaning."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    OK = 0, "Success, or a clean stop by SIGTERM or SIGINT."
    INTERNAL = 1, "An internal error of lagwarden; the log has the traceback."
    USAGE = 2, "An invalid command line or configuration."

    KAFKA_UNREACHABLE = 10, "No broker could be reached (`check-config --connect`; `run` stays up and keeps trying)."
    WRONG_PROTOCOL = 11, "The server at the address does not speak the configured security protocol, or is not Kafka."
    TLS_REFUSED = 12, "The TLS handshake failed: a certificate is untrusted, invalid or missing."
    LOGIN_REFUSED = (
        13,
        (
            "The broker rejected the login: user, password, token or mechanism; or there is no token (`check-config "
            "--connect`; `run` stays up and keeps trying to get one)."
        ),
    )
    NOT_AUTHORISED = 14, "The login succeeded, but a required right on the cluster is missing."

    PORT_IN_USE = 20, "The HTTP port is in use, or must not be opened by this user."
    CHECKPOINT_FORMAT = 21, "The checkpoint has a format that this version does not support."
    CHECKPOINT_CLUSTER = 22, "The checkpoint belongs to another cluster."
    CHECKPOINT_UNUSABLE = (
        23,
        ("The checkpoint directory cannot be created or written, is in use by another process, or its volume is full."),
    )
    SPARK_UNAVAILABLE = (
        24,
        (
            "Spark cannot start: there is no usable Java, or no folder for temporary files, or its master or its "
            "executors cannot be used."
        ),
    )

    QUERY_FAILED = 30, "The streaming query failed; the supervisor should restart the process."
    WATCHDOG = 31, "No micro-batch finished within `job.watchdog_limit`; the supervisor should restart the process."
    TOPIC_CHANGED = (
        32,
        "The offsets topic is no longer the one that was read; after a restart it is read from its start.",
    )
    CHECKPOINT_DAMAGED = (
        33,
        (
            "The checkpoint was deleted while it was in use, or its state cannot be read; after a restart the topic is "
            "read from its start."
        ),
    )

    UNREADABLE = 40, "A file or some of its records could not be read; all readable records were processed."
    UNWRITABLE = 41, "A file could not be written; what was written before is kept."

    NO_INSTANCE = 50, "No running lagwarden answers at the address."
    NOT_READY = 51, "The running lagwarden has no data yet."
    NO_SUCH_GROUP = 52, "There is no group with this name, and none was removed recently."

    GROUP_WARNING = 60, "`check`: the worst of the groups has a verdict of severity warning."
    GROUP_CRITICAL = 61, "`check`: the worst of the groups has a verdict of severity critical."
    GROUP_UNKNOWN = 62, "`check`: a group cannot be judged, or is dead; no other one has severity warning or critical."

    INTERRUPTED = 130, "A command was interrupted by SIGINT (Ctrl-C) before it had ended; `run` and `top` stop cleanly."


class Caution(str):
    """A sentence about a setting that works and may not be wanted."""

    __slots__ = ()


class Refusal(Exception):  # noqa: N818 -- an expected failure, not a program error
    """An expected failure (configuration, permissions, environment) that the user can fix.

    `what` states in one line what is wrong and where, without a full stop; `advice` states in one line what to do.
    Neither contains a secret. `code` is the exit code of the process if the refusal is not handled.
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


@contextlib.contextmanager
def imports_of_extra(extra: str, user: str) -> Iterator[None]:
    """Raise Refusal inside `with` if a package of an extra is not installed; `user` is the command or option."""
    try:
        yield
    except ImportError as error:
        what = f"{user} needs a package that is not installed ({error.name})"
        raise Refusal(what, f"pip install 'lagwarden[{extra}]'", ExitCode.USAGE) from error
