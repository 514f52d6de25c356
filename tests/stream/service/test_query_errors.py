"""Only missing permissions, a refused login and a full volume are refusals."""

from __future__ import annotations

import pytest

from stream.errors import ExitCode
from stream.service.query_errors import refusal_in

REFUSED = [
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


@pytest.mark.parametrize(("error", "code", "advice"), REFUSED, ids=["group", "topic", "login", "volume", "quota"])
def test_a_refusal_has_an_exit_code_and_advice(error: str, code: ExitCode, advice: str) -> None:
    """A restart does not fix it, so it differs from a failure."""
    refusal = refusal_in(f"STREAM_FAILED {error}")
    assert refusal is not None
    assert refusal.code is code
    assert advice in refusal.advice


@pytest.mark.parametrize("error", ["", "java.lang.OutOfMemoryError: Java heap space", "Connection to node 1 lost"])
def test_other_failures_stay_failures(error: str) -> None:
    """A restart may fix them."""
    assert refusal_in(error) is None
