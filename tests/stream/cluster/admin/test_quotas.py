"""Tests of configured quotas."""

from typing import Any

from stream.cluster.admin.features import Quota, read_quotas
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says


def entry(entity: dict[str, str | None], **values: float) -> Any:
    """Describe the quotas of an entity; the name None is the default."""
    return says(
        entity=[says(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        values=[says(key=key, value=value) for key, value in values.items()],
    )


def read(answer: Any) -> Any:
    return read_quotas(ScriptedCluster({"DescribeClientQuotasRequest": lambda *_: answer}))  # type: ignore[arg-type]


def test_each_value_has_its_entity() -> None:
    """An entity is a user, a client, both, or an address, and each of them can be the default."""
    entries = [
        entry({"user": "alice", "client-id": "c"}, request_percentage=50.0, consumer_byte_rate=10.0),
        entry({"client-id": None}, producer_byte_rate=20.0),
        entry({"ip": "127.0.0.1"}, connection_creation_rate=5.0),
    ]
    assert read(says(error_code=0, entries=entries)) == [
        Quota("", "", "127.0.0.1", "connection_creation_rate", 5.0),
        Quota("", "<default>", "", "producer_byte_rate", 20.0),
        Quota("alice", "c", "", "consumer_byte_rate", 10.0),
        Quota("alice", "c", "", "request_percentage", 50.0),
    ]


def test_a_failure_is_a_reason_and_no_empty_list() -> None:
    """A failed request returns its reason and raises no exception; an answer without quotas is an empty list."""
    assert read(says(error_code=0, entries=[])) == []
    denied = says(error_code=31, entries=None)
    assert [read(answer) for answer in (TOO_OLD, AWAY, denied)] == [
        ErrorReason.UNSUPPORTED,
        ErrorReason.UNREACHABLE,
        ErrorReason.NOT_AUTHORIZED,
    ]
