"""Tests of what a tick uses of a poll of the cluster."""

from exporters.catalogue import brokers, topics
from exporters.cluster import model
from exporters.http.openapi.small_world import small_cluster
from stream.health.inputs import FailedReplica
from stream.health.share.progress import SharePartitionProgress
from stream.tick.inputs.polled_cluster import Replicas, polled_cluster, share_progress
from tests.exporters.snapshots import table
from tests.stream.health.columns import ints


def counted(group: str, partitions: int | None) -> dict[str, object]:
    return {"group": group, "partitions": partitions, "lag": None}


def test_a_group_has_its_partitions() -> None:
    """Unknown values are None. The time is that of the read, which may be older than the poll."""
    reads = table(topics.SHARE_READS.schema, [{"read_time": 7_500}])
    polled = small_cluster(
        share_groups=table(topics.SHARE_GROUPS.schema, [counted("jobs", 2)]), taken_at=9.0, share_reads=reads
    )
    found = share_progress(polled)
    assert (found.taken_at, found.unknown_reason) == (7_500, None)
    assert found.incomplete == {}
    assert found.groups == {
        "jobs": (
            SharePartitionProgress("orders", 0, 1600, 390, 10, 2, 3, 1590, 1, 3, end=2000),
            SharePartitionProgress("orders", 1, None, None, None, 0, None, 0, 0, 0, end=7),
        )
    }


def test_a_group_with_missing_partitions_is_incomplete() -> None:
    """A group is unknown if not all of its partitions are kept, or their number is unknown; its topics are known."""
    for partitions in (3, None):
        polled = small_cluster(share_groups=table(topics.SHARE_GROUPS.schema, [counted("jobs", partitions)]))
        assert share_progress(polled).groups == {}
        assert share_progress(polled).incomplete == {"jobs": {"orders"}}, "its topics are known"


def test_unknown_progress_has_the_reason_of_the_poll() -> None:
    """The reason is that of the unknown fact in the poll."""
    unknown = [{"fact": model.SHARE_GROUPS_FACT, "reason": "not_authorized", "amount": 1}]
    found = share_progress(small_cluster(unknown_facts=table(brokers.UNKNOWN_FACTS.schema, unknown)))
    assert (found.unknown_reason, found.groups) == ("not_authorized", {})


def test_followers_and_failed_replicas_of_partitions() -> None:
    """A partition without a leader has followers only. A replica is failed if its broker is there, and the disk not."""
    polled = Replicas(small_cluster())
    at, broker = polled.followers(["gone", "orders"], ints(1, 0, 1, 1), ints(1, 0, 0, 9))
    assert [*zip(at.tolist(), broker.tolist(), strict=True)] == [(0, 1), (0, 2), (2, 2)]
    places = ["gone", "orders"], ints(1, 0, 1), ints(0, 0, 1)
    assert polled.failed(*places) == {2: (FailedReplica(1, ("/data/2",)),)}
    whole = small_cluster()
    without = small_cluster(failed_log_dirs=(), brokers=whole.brokers.slice(0, 1))
    assert Replicas(without).failed(*places) == {2: (FailedReplica(1, ()),)}, "which directory is not known"
    assert Replicas(small_cluster(brokers=whole.brokers.slice(1))).failed(*places) == {}, "the broker is away"
    nothing = Replicas(small_cluster(topic_partitions=topics.TOPIC_PARTITIONS.schema.empty_table()))
    assert [len(each) for each in nothing.followers(*places)] == [0, 0]
    assert polled_cluster(whole.only_share_groups()).replicas is None


def test_topics_with_checkpoints_of_groups_are_named() -> None:
    """The topics are those that MirrorMaker 2 names so."""
    rows = [{"topic": name} for name in ("eu.checkpoints.internal", "eu.orders", "orders")]
    facts = small_cluster(cluster_topics=table(topics.CLUSTER_TOPICS.schema, rows))
    assert polled_cluster(facts).checkpoint_topics == ["eu.checkpoints.internal"]
