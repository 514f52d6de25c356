"""The exit codes are an interface, and a refusal has a message, advice and an exit code."""

from stream.errors import ExitCode


def test_exit_codes_do_not_change() -> None:
    """A published code keeps its number, because supervisors and scripts depend on it."""
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
        "TOPIC_CHANGED": 32,
        "CHECKPOINT_DAMAGED": 33,
        "UNREADABLE": 40,
        "UNWRITABLE": 41,
        "NO_INSTANCE": 50,
        "NOT_READY": 51,
        "NO_SUCH_GROUP": 52,
        "GROUP_WARNING": 60,
        "GROUP_CRITICAL": 61,
        "GROUP_UNKNOWN": 62,
        "INTERRUPTED": 130,
    }
