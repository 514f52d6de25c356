"""Tests of coordinators: batched lookups, the cache, and reasons for unknown coordinators."""

from typing import Any

import pytest

from stream.cluster.describe_groups import Coordinators
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, SILENT, TOO_OLD, ScriptedCluster, says

FIND = "FindCoordinatorRequest"


def node_of(key: str) -> int:
    """Return the node that coordinates a key: the number at its end."""
    return int(key[-1])


def batched(_: int | None, request: Any) -> Any:
    coordinators = [
        says(key=key, error_code=30 if key.startswith("denied") else 0, node_id=node_of(key))
        for key in reversed(request.coordinator_keys)
        if not key.startswith("left out")
    ]
    return says(coordinators=coordinators)


def test_a_coordinator_is_cached_until_it_is_removed() -> None:
    """Each key is looked up once; a reason is not cached."""
    cluster = ScriptedCluster({FIND: batched})
    coordinators = Coordinators(cluster)  # type: ignore[arg-type]
    wanted = {"a1": 1, "b2": 2, "denied1": ErrorReason.NOT_AUTHORIZED, "left out1": ErrorReason.OTHER}
    assert coordinators.find(list(wanted)) == wanted
    assert coordinators.find(["a1", "b2"]) == {"a1": 1, "b2": 2}
    assert cluster.count(FIND) == 1
    coordinators.forget(["a1", "never requested"])
    assert coordinators.find(["a1", "b2", "denied1"]) == {"a1": 1, "b2": 2, "denied1": ErrorReason.NOT_AUTHORIZED}
    assert [request.coordinator_keys for _, request in cluster.asked[1:]] == [["a1", "denied1"]]


def test_batches_and_the_cache_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests and the cache do not exceed their limits."""
    monkeypatch.setattr("stream.cluster.describe_groups._KEYS_AT_ONCE", 4)
    cluster = ScriptedCluster({FIND: batched})
    coordinators = Coordinators(cluster, most=6)  # type: ignore[arg-type]
    keys = [f"k{n:02}" for n in range(10)]
    assert coordinators.find(keys) == {key: node_of(key) for key in keys}
    assert [len(request.coordinator_keys) for _, request in cluster.asked] == [4, 4, 2]
    coordinators.find(keys[-6:])
    assert cluster.count(FIND) == 3
    coordinators.find(keys)
    assert cluster.asked[-1][1].coordinator_keys == keys[:4]


def test_old_brokers_get_one_key_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers before 3.0 have no batches: a limited number of keys is looked up, the other keys are NOT_ASKED."""
    monkeypatch.setattr("stream.cluster.describe_groups._SINGLE_KEYS", 3)

    def single(_: int | None, request: Any) -> Any:
        return TOO_OLD if request.coordinator_keys else says(error_code=0, node_id=node_of(request.key))

    coordinators = Coordinators(ScriptedCluster({FIND: single}))  # type: ignore[arg-type]
    assert coordinators.find(["a1", "b2", "c3", "d4"]) == {"a1": 1, "b2": 2, "c3": 3, "d4": ErrorReason.NOT_ASKED}
    assert coordinators.find(["d4"]) == {"d4": 4}


def test_the_first_failure_of_an_old_broker_ends_the_lookup() -> None:
    """No key is looked up after a failure, because each lookup would probably wait as long."""
    answers = iter([TOO_OLD, says(error_code=0, node_id=1), SILENT])
    coordinators = Coordinators(ScriptedCluster({FIND: lambda *_: next(answers)}))  # type: ignore[arg-type]
    assert coordinators.find(["a", "b", "c"]) == {"a": 1, "b": ErrorReason.TIMED_OUT, "c": ErrorReason.NOT_ASKED}


def test_an_unreachable_cluster_is_the_reason_of_every_key() -> None:
    """An unreachable cluster raises no exception; every key has the reason."""
    coordinators = Coordinators(ScriptedCluster({FIND: lambda *_: AWAY}))  # type: ignore[arg-type]
    assert coordinators.find(["a", "b"]) == {"a": ErrorReason.UNREACHABLE, "b": ErrorReason.UNREACHABLE}
    assert coordinators.find([]) == {}
