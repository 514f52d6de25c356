"""Only permanent errors of the cluster and a full volume are refusals."""

import traceback

from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import CutOff, LoginRefused, TlsRefused, TokenExpired, Unreachable
from stream.errors import ExitCode, Refusal
from stream.service.kept_state import refusal_in


def text_of(error: Exception) -> str:
    """Return the error as Spark reports it: the traceback of a Python process within texts of Java."""
    try:
        raise error
    except type(error):
        raised = traceback.format_exc()
    return (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed "
        f"when Python streaming data source perform latestOffset: {raised}\n\tat org.apache.Task.run(Task)\n"
    )


def test_a_permanent_error_of_the_cluster_is_a_refusal() -> None:
    """A restart does not fix a permanent error, so the process ends with its message, advice and exit code."""
    errors: dict[Refusal, ExitCode] = {
        no_topic_right("__consumer_offsets", "Read"): ExitCode.NOT_AUTHORISED,
        LoginRefused("b:9092 refuses the login", "check kafka.sasl_password"): ExitCode.LOGIN_REFUSED,
        TlsRefused("the certificate: expired", "renew it"): ExitCode.TLS_REFUSED,
    }
    for error, code in errors.items():
        refusal = refusal_in(text_of(error))
        assert refusal is not None
        assert (str(refusal), refusal.code) == (str(error), code)


def test_other_failures_stay_failures() -> None:
    """A failure that a restart may fix is no refusal."""
    texts = [
        "",
        "java.lang.OutOfMemoryError: Java heap space",
        text_of(Unreachable("partition 3 cannot be read", "see the log")),
        text_of(CutOff("b:9092 is not reachable", "")),
        text_of(TokenExpired("the token has expired", "")),
        "stream.cluster.transport.errors.SomethingElse: no such class",
        "stream.cluster.transport.errors.annotations: no class",
    ]
    assert [text for text in texts if refusal_in(text) is not None] == []
