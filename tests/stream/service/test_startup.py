"""Startup: waiting for the cluster, the offsets topic and the bounds of its partitions."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from stream.cluster.offsets_topic import NAME, OffsetsTopic
from stream.cluster.transport.errors import LoginRefused, Unreachable
from stream.errors import ExitCode, Refusal
from stream.groups.placement import InstancePart
from stream.service import startup
from stream.service.startup import check_part, wait_for_ends, wait_for_offsets_topic
from stream.service.status import RUNNING, WAITING, ServiceStatus
from stream.tick.offsets_topic_lag import UnansweredPartition
from tests.support.driver_states import ends_of

AWAY = Unreachable("a:1 does not answer", "is it up?")
TOPIC = OffsetsTopic("cluster", None, (0, 1))
BOTH: list[Any] = [(NAME, 0, 10, 9, 1, None), (NAME, 1, 5, 5, 0, None)]


CLUSTER: Any = SimpleNamespace(cluster_id="cluster")


@pytest.fixture
def status() -> ServiceStatus:
    """Return the status of a monitor that has just started."""
    return ServiceStatus("1", 60)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "_RETRY_SECONDS", 0.0)


def one_by_one(answers: list[Any]) -> Callable[..., Any]:
    """Return a function that returns or raises the next answer at each call."""
    remaining = iter(answers)

    def answer(*_: object) -> Any:
        found = next(remaining)
        if isinstance(found, Exception):
            raise found
        return found

    return answer


def wait_for_topic(status: ServiceStatus, stopping: threading.Event | None = None) -> OffsetsTopic | None:
    return wait_for_offsets_topic(CLUSTER, status, stopping or threading.Event(), lambda: None)


def wait_for_both(status: ServiceStatus, *part: InstancePart) -> Any:
    ends = wait_for_ends(CLUSTER, TOPIC, status, threading.Event(), *part)
    return ends and ends.logs


def test_the_start_waits_for_the_topic(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start waits while the cluster is unreachable or has no offsets topic, and logs each reason once."""
    monkeypatch.setattr(startup, "describe", one_by_one([AWAY, AWAY, None, None, TOPIC]))
    with structlog.testing.capture_logs() as lines:
        assert wait_for_topic(status) == TOPIC
    assert [line["log_level"] for line in lines] == ["warning", "info"]
    assert (status.trouble, status.cluster_id, status.phase) == (None, "cluster", WAITING)


def test_an_error_that_does_not_pass_ends_every_wait(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A permanent error, such as a refused login, is raised, because waiting does not fix it."""
    refused = LoginRefused("login refused", "check the password")
    for name, wait in (("describe", wait_for_topic), ("read_ends", wait_for_both)):
        monkeypatch.setattr(startup, name, one_by_one([refused]))
        with pytest.raises(LoginRefused):
            wait(status)  # type: ignore[operator]


def test_a_stop_ends_every_wait(status: ServiceStatus) -> None:
    """A wait that is stopped has no result."""
    stopping = threading.Event()
    stopping.set()
    assert wait_for_topic(status, stopping) is None
    assert wait_for_ends(CLUSTER, TOPIC, status, stopping) is None


def test_the_start_waits_for_the_bounds_of_all_partitions(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start waits for an unreachable cluster and for a partition without a leader.

    A cause that stays the same is logged once, not at each attempt every two seconds.
    """
    leaderless = ends_of([BOTH[0], (NAME, 1, None, None, None, "no_leader")])
    monkeypatch.setattr(startup, "read_ends", one_by_one([*[AWAY] * 20, leaderless, ends_of(BOTH)]))
    with structlog.testing.capture_logs() as lines:
        bounds = wait_for_both(status)
    assert bounds == {0: (1, 10, 9), 1: (0, 5, 5)}
    assert [line["cause"] for line in lines if "cause" in line] == [
        str(AWAY),
        "offsets partitions that have no leader: 1",
    ]
    assert status.trouble is None


def test_the_start_does_not_wait_for_a_leader_for_ever(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the partitions that are known are enough; the others are named, and the monitor is not ready.

    While none is known, the start waits on.
    """
    neither, one = (
        ends_of([*known, *[(NAME, each, None, None, None, "timed_out") for each in away]], {(NAME, 1): 2})
        for known, away in (([], (0, 1)), (BOTH[:1], (1,)))
    )
    monkeypatch.setattr(startup, "_WAIT_FOR_ALL_SECONDS", 0.0)
    monkeypatch.setattr(startup, "read_ends", one_by_one([neither, neither, one]))
    status.failure_of = {2: "broker-2 has no address"}.get
    assert wait_for_both(status) == {0: (1, 10, 9)}
    status.phase = RUNNING
    status.record_unanswered([UnansweredPartition(1, "timed_out", status.started_at + 99, 2)])
    reasons, broker = status.monitor_status().not_ready_reasons, "they are led by broker 2: broker-2 has no address"
    assert f"offsets partitions that have no known end offsets (timed_out): 1; {broker}" in reasons
    assert status.trouble is None


def test_more_instances_than_partitions_are_refused() -> None:
    """An instance that would have no partition, and so no groups, is refused."""
    check_part(InstancePart(1, 2), TOPIC)
    with pytest.raises(Refusal, match=r"job.instance is 1/3, but __consumer_offsets has 2 partitions") as refused:
        check_part(InstancePart(1, 3), TOPIC)
    assert refused.value.code == ExitCode.USAGE
