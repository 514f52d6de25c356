"""The heap of the driver's JVM."""

import pytest

from exporters.readmodel import HeapUsage
from stream.spark.jvm_process import JvmOptions
from stream.spark.query import heap_usage
from stream.spark.session import SessionOptions, end_session, open_session

MIB = 1 << 20


@pytest.mark.spark
def test_heap_is_known_while_the_jvm_runs() -> None:
    """The maximum is near the memory of the session. The heap is unknown after the end of the JVM."""
    session = open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    usage = heap_usage(session)
    assert usage.used is not None
    assert usage.maximum is not None
    assert 10 * MIB < usage.used <= usage.maximum
    assert 400 * MIB < usage.maximum <= 512 * MIB
    end_session(session, 30)
    assert heap_usage(session) == HeapUsage()
