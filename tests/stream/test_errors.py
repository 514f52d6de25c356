"""The exit codes are an interface: numbers with one meaning each, and refusals that say what to do."""

from __future__ import annotations

from stream.errors import ExitCode, Refusal


def test_numbers_stay_what_they_were() -> None:
    """A supervisor's configuration of last year still means the same: no number moves, none is given away twice."""
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "INTERNAL": 1,
        "USAGE": 2,
        "KAFKA_UNREACHABLE": 10,
        "WRONG_PROTOCOL": 11,
        "TLS_REFUSED": 12,
        "LOGIN_REFUSED": 13,
        "NOT_AUTHORISED": 14,
        "PORT_IN_USE": 20,
        "CHECKPOINT_FORMAT": 21,
        "CHECKPOINT_CLUSTER": 22,
        "CHECKPOINT_UNUSABLE": 23,
        "SPARK_UNAVAILABLE": 24,
        "QUERY_FAILED": 30,
        "WATCHDOG": 31,
        "READ_ANEW": 32,
        "CHECKPOINT_DAMAGED": 33,
        "UNREADABLE": 40,
        "UNWRITABLE": 41,
        "NO_INSTANCE": 50,
        "NOT_READY": 51,
        "NO_SUCH_GROUP": 52,
    }


def test_numbers_meet_no_foreign_meaning() -> None:
    """A code is told apart from the shell's own codes, from death by signal and from sysexits."""
    assert all(0 <= code < 64 for code in ExitCode)


def test_refusal_carries_what_advice_and_code() -> None:
    """Who catches a refusal has both sentences and the number; its text is one line."""
    refusal = Refusal("port 1 is taken", "choose another", ExitCode.PORT_IN_USE)
    assert (refusal.what, refusal.advice, refusal.code) == ("port 1 is taken", "choose another", ExitCode.PORT_IN_USE)
    assert str(refusal) == "port 1 is taken: choose another"
