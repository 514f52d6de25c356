"""Tests of responses that are decoded by two I/O threads at once, and of decoders that fail."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.schemas.fields.struct import StructField

from stream.cluster.transport.client import Cluster
from stream.cluster.transport.corrections import decoder_threads
from stream.cluster.transport.errors import Malformed
from tests.stream.cluster.transport.fake_broker import FakeBroker, Login

VERSION = 3
RESPONSE = bytes(ApiVersionsResponse(error_code=0, api_keys=[]).encode(version=VERSION))


def test_two_threads_that_compile_one_decoder_get_a_usable_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread begins while the first one compiles, and ends after it; kafka-python alone fails forever.

    Each client has the correction.
    """
    monkeypatch.setattr(StructField, "compiled_decode_from", decoder_threads._decoder_of_library)
    Cluster(["127.0.0.1:1"]).close()
    struct: Any = ApiVersionsResponse._struct
    monkeypatch.setattr(struct, "_compiled_encoders", {})
    compile_fields = StructField.emit_decode_from
    first_compiles, second_compiles, first_has_ended = threading.Event(), threading.Event(), threading.Event()

    def emit(self: Any, *args: Any, **options: Any) -> Any:
        if self is struct and not first_compiles.is_set():
            first_compiles.set()
            second_compiles.wait(0.5)
        elif self is struct:
            second_compiles.set()
            first_has_ended.wait(0.5)
        return compile_fields(self, *args, **options)

    monkeypatch.setattr(StructField, "emit_decode_from", emit)

    def decode_first() -> Any:
        response = ApiVersionsResponse.decode(RESPONSE, version=VERSION)
        first_has_ended.set()
        return response

    def decode_second() -> Any:
        first_compiles.wait(5)
        return ApiVersionsResponse.decode(RESPONSE, version=VERSION)

    with ThreadPoolExecutor(2) as threads:
        decoded = [each.result() for each in [threads.submit(decode_first), threads.submit(decode_second)]]
    decoded.append(ApiVersionsResponse.decode(RESPONSE, version=VERSION))
    assert [response.error_code for response in decoded] == [0, 0, 0]


def test_an_error_of_a_decoder_is_the_error_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request fails with the error, not with a time-out, and the next request succeeds."""

    def fail(*_: Any) -> None:
        raise TypeError("not a type object")

    with FakeBroker(lambda _: Login()) as broker, Cluster([broker.address], request_timeout=10.0) as cluster:
        with monkeypatch.context() as patched:
            patched.setattr("kafka.protocol.parser.KafkaProtocol._process_response", fail)
            with pytest.raises(Malformed, match="not a type object"):
                cluster.metadata()
        cluster.connect(5.0)
        assert cluster.cluster_id == "fake"
