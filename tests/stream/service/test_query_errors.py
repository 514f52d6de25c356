"""A cluster that says no, or a full volume, is told as a refusal, and nothing else is."""

from __future__ import annotations

import pytest

from stream.errors import ExitCode
from stream.service.query_errors import refusal_in

TOLD = [
    (
        "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: spark-kafka-…",
        ExitCode.NOT_AUTHORISED,
        "spark-kafka-source-",
    ),
    (
        "TopicAuthorizationException: Not authorized to access topics: [__consumer_offsets]",
        ExitCode.NOT_AUTHORISED,
        "__consumer_offsets",
    ),
    ("Authentication failed: Invalid username or password", ExitCode.LOGIN_REFUSED, "kafka.sasl_password"),
    ("java.io.IOException: No space left on device", ExitCode.CHECKPOINT_UNUSABLE, "checkpoint.dir"),
    ("java.io.IOException: Disk quota exceeded", ExitCode.CHECKPOINT_UNUSABLE, "checkpoint.dir"),
]


@pytest.mark.parametrize(("error", "code", "advice"), TOLD, ids=["group", "topic", "login", "volume", "quota"])
def test_what_is_refused_has_its_code_and_says_what_to_do(error: str, code: ExitCode, advice: str) -> None:
    """No restart will mend it, so the supervisor and the person are told apart from a failure."""
    refusal = refusal_in(f"STREAM_FAILED {error}")
    assert refusal is not None
    assert refusal.code is code
    assert advice in refusal.advice


@pytest.mark.parametrize("error", ["", "java.lang.OutOfMemoryError: Java heap space", "Connection to node 1 lost"])
def test_other_failures_stay_failures(error: str) -> None:
    """What may pass is worth a restart."""
    assert refusal_in(error) is None
