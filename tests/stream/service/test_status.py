"""Readiness and the status of the monitor: each reason is a sentence."""

from collections import Counter
from collections.abc import Sequence

import structlog

from exporters.readmodel import ExecutorCount, OtherInstance, TickStatus
from stream.groups.decode_stats import DecodeFault, DecodeStats
from stream.groups.placement import InstancePart
from stream.service import status as phases
from stream.service.catch_up import CatchUpProgress
from stream.service.status import ServiceStatus
from stream.tick.offsets_topic_lag import UnansweredPartition

LIMIT = 60.0
NOW = 1_000_000_000.0
AWAY = "127.0.0.1:9092 refuses the connection: nothing listens there"


def status_in(
    phase: str, *, trouble: str | None = None, age: float | None = None, unanswered: Sequence[UnansweredPartition] = ()
) -> ServiceStatus:
    """Return the status in a phase, with or without trouble and a snapshot of some age in seconds."""
    own = ServiceStatus("1.2.3", LIMIT, clock=lambda: NOW)
    own.phase, own.trouble, own.cluster_id = phase, trouble, "cluster"
    own.unanswered = unanswered
    own.failure_of = {2: "b is away"}.get
    own.tick = TickStatus(taken_at=None if age is None else NOW - age)
    own.progress = CatchUpProgress({0: 0, 1: 0, 2: 0}, {0: 5, 1: 5, 2: 0})
    return own


def with_executors(own: ServiceStatus, running: int, none_since: float | None = None) -> ServiceStatus:
    """Return the status of a monitor with two executors, of which some run."""
    own.executors = lambda: ExecutorCount(expected=2, running=running, none_since=none_since)
    return own


def silent(seconds: float, trouble: str | None = None) -> ServiceStatus:
    """Return the status of a monitor that ticks, while its query has reported nothing for so long."""
    own = status_in(phases.RUNNING, age=1, trouble=trouble)
    own.query_seen_at = NOW - seconds
    return own


UNREAD = "offsets partitions not read to their ends yet: 2"
NONE_REGISTERED = "no executor has been registered with Spark for {} s (expected 2)"
OLD = "the snapshot is 99 s old (limit 60 s)"
NO_TOPIC = "the cluster has no topic __consumer_offsets yet: no group has ever committed"
LEADERLESS = [UnansweredPartition(number, "no_leader", NOW - since) for number, since in ((3, 61), (7, 99))]
TIMED_OUT = [UnansweredPartition(number, "timed_out", NOW - 99, leader) for number, leader in ((8, 2), (9, 2), (11, 1))]
JUST_LEADERLESS = UnansweredPartition(3, "no_leader", NOW - 59)
RUNNING, CATCHING_UP = phases.RUNNING, phases.CATCHING_UP
READINESS: dict[str, tuple[ServiceStatus, list[str]]] = {
    "running, fresh": (status_in(RUNNING, age=1), []),
    "Kafka unreachable, the snapshot is fresh": (status_in(RUNNING, age=1, trouble=AWAY), []),
    "Kafka unreachable for long": (status_in(RUNNING, age=99, trouble=AWAY), [AWAY, OLD]),
    "the query reports nothing": (silent(60), []),
    "the query has reported nothing for long": (silent(61), ["the query has reported nothing for 61 s (limit 60 s)"]),
    "the query waits for Kafka": (silent(61, trouble=AWAY), []),
    "no recent tick": (status_in(RUNNING, age=99), [OLD]),
    "caught up, no tick yet": (status_in(RUNNING), ["no snapshot yet"]),
    "just started": (status_in(phases.CONNECTING), ["no broker has answered yet"]),
    "no broker at the start": (status_in(phases.CONNECTING, trouble=AWAY), [AWAY]),
    "a new cluster": (status_in(phases.WAITING), [NO_TOPIC]),
    "Spark boots": (status_in(phases.STARTING), ["the monitor is starting"]),
    "executors are never registered": (
        with_executors(status_in(phases.STARTING), 0, NOW - 45),
        ["the monitor is starting", NONE_REGISTERED.format(45)],
    ),
    "one of two executors is lost": (with_executors(status_in(RUNNING, age=1), 1), []),
    "all executors are being replaced": (with_executors(status_in(RUNNING, age=1), 0, NOW - 59), []),
    "all executors are gone": (with_executors(status_in(RUNNING, age=1), 0, NOW - 60), [NONE_REGISTERED.format(60)]),
    "two of three partitions to read": (status_in(CATCHING_UP), [UNREAD]),
    "Kafka unreachable while catching up": (status_in(CATCHING_UP, trouble=AWAY), [UNREAD, AWAY]),
    "an offsets partition has just lost its leader": (status_in(RUNNING, age=1, unanswered=[JUST_LEADERLESS]), []),
    "offsets partitions without a leader": (
        status_in(RUNNING, age=1, unanswered=[*LEADERLESS, *TIMED_OUT]),
        [
            "offsets partitions that have no leader: 3, 7",
            "offsets partitions that have no known end offsets (timed_out): 8-9; they are led by broker 2: b is away",
            "offsets partitions that have no known end offsets (timed_out): 11",
        ],
    ),
    "offsets partition without a leader during the catch-up": (
        status_in(CATCHING_UP, unanswered=[UnansweredPartition(3, "no_leader", NOW)]),
        [UNREAD, "offsets partitions that have no leader: 3"],
    ),
    "stopping": (status_in(phases.STOPPING, age=1), ["the monitor is stopping"]),
    "the query failed": (status_in(phases.FAILED, age=1), ["the monitor is failed"]),
}


def test_readiness_has_a_reason_per_problem() -> None:
    """A monitor is ready if its data is complete and fresh."""
    found = {name: own.monitor_status() for name, (own, _) in READINESS.items()}
    assert {name: list(status.not_ready_reasons) for name, status in found.items()} == {
        name: reasons for name, (_, reasons) in READINESS.items()
    }
    assert [name for name, status in found.items() if status.ready is bool(READINESS[name][1])] == []


def test_added_partitions_that_are_not_read_yet_are_a_reason() -> None:
    """The monitor is not ready while the commits of added partitions are not shown yet, or its storage is away."""
    own = status_in(RUNNING, age=1)
    own.partitions_added = (50, 51)
    assert own.monitor_status().not_ready_reasons == ("offsets partitions not read yet: 50-51",)
    own.partitions_added = ()
    assert own.monitor_status().ready
    own.storage_trouble = lambda: "the storage of the checkpoint /mnt is away: Stale file handle"
    assert own.monitor_status().not_ready_reasons == (own.storage_trouble(),)


def test_counts_of_batches_add_up() -> None:
    """Records and errors of all batches since the start are summed by type, version and reason."""
    own = status_in(phases.RUNNING, age=0)
    short, newer = DecodeFault(None, None, "short"), DecodeFault(1, 99, "unknown_version")
    own.count(DecodeStats(Counter({1: 5, None: 1, 99: 2}), Counter({newer: 1, short: 1})))
    own.count(DecodeStats(Counter({1: 2, 2: 1}), Counter({short: 2})))
    own.count(DecodeStats())
    status = own.monitor_status()
    records = {row["record_type"]: (row["tracking"], row["records"]) for row in status.records.read.to_pylist()}
    assert records == {
        "OFFSET_COMMIT": ("tracked", 7),
        "GROUP_METADATA": ("tracked", 1),
        "none": ("unknown", 1),
        "99": ("unknown", 2),
    }
    assert status.records.errors.to_pylist() == [
        {"record_type": "OFFSET_COMMIT", "version": "99", "reason": "unknown_version", "records": 1},
        {"record_type": "none", "version": "", "reason": "short", "records": 3},
    ]


def test_skipped_offsets_are_counted_and_logged() -> None:
    """Skipped offsets are counted by reason; a batch without skipped offsets logs no line."""
    own = status_in(phases.RUNNING, age=0)
    with structlog.testing.capture_logs() as lines:
        own.count(DecodeStats(skipped=Counter(deleted=4)))
        own.count(DecodeStats())
        own.count(DecodeStats(skipped=Counter(deleted=1, damaged=2)))
    assert own.monitor_status().records.skipped.to_pylist() == [
        {"reason": "damaged", "offsets": 2},
        {"reason": "deleted", "offsets": 5},
    ]
    line = {"event": "offsets of __consumer_offsets skipped", "log_level": "warning"}
    assert lines == [{**line, "deleted": 4}, {**line, "deleted": 1, "damaged": 2}]


def test_what_is_not_known_is_none() -> None:
    """The catch-up before the start, executors with a local master, and a webhook that is not configured are None."""
    empty = ServiceStatus("1.2.3", LIMIT).monitor_status()
    assert (empty.catch_up, empty.executors, empty.webhook, empty.cluster_name) == (None,) * 4
    assert ServiceStatus("1", LIMIT, cluster_name="eu").monitor_status().cluster_name == "eu"


def test_a_group_of_another_instance_has_its_address() -> None:
    """The partition of a group determines its instance.

    There is no other instance for groups of this instance, for a single instance, and before the first tick.
    """
    urls = ("http://a", "http://b", "http://c")
    own = ServiceStatus("1", LIMIT, part=InstancePart(2, 3), siblings=urls)
    assert own.other_instance("my-group") is None
    own.tick = TickStatus(topic_partitions=50)
    # Of 50 partitions, "my-group" is in 12 and the face in 49.
    assert own.other_instance("my-group") == OtherInstance("0/3", "http://a")
    assert own.other_instance("\N{GRINNING FACE}") == OtherInstance("1/3", "http://b")
    unnamed = ServiceStatus("1", LIMIT, part=InstancePart(1, 3))
    unnamed.tick = own.tick
    assert unnamed.other_instance("my-group") == OtherInstance("0/3", None)
    assert unnamed.other_instance("\N{GRINNING FACE}") is None
    single = ServiceStatus("1", LIMIT)
    single.tick = own.tick
    assert single.other_instance("my-group") is None
    shown = own.monitor_status()
    assert (shown.part, shown.instances, shown.siblings) == ("2/3", 3, urls)
