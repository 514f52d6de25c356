"""A KIP-848 member that must revoke partitions, compared with Kafka's own tool."""

import pytest

from sandbox.kafka.tools import describe_groups
from stream.cluster.transport.client import Cluster
from tests.conftest import MakeBroker
from tests.integration.ticks import Monitor
from tests.integration.traffic import FAST_HEARTBEATS, consumer, join_and_commit, make_topic
from tests.support.processes import LIMIT, patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(patience(200))]


def test_partitions_pending_revocation_belong_to_the_old_member(make_broker: MakeBroker) -> None:
    """The first member does not poll and owns all partitions until it has revoked two for a second one."""
    bootstrap = make_broker(properties=FAST_HEARTBEATS).bootstrap
    make_topic(bootstrap, "t", 4)
    with (
        consumer(bootstrap, "g", group_protocol="consumer") as first,
        consumer(bootstrap, "g", group_protocol="consumer") as second,
        Cluster([bootstrap]) as cluster,
    ):
        cluster.connect(LIMIT)
        monitor = Monitor(cluster)
        names = {topic.topic_id.bytes: topic.name for topic in cluster.metadata(["t"]).topics}
        join_and_commit(first, "t", dict.fromkeys(range(4), 1))
        second.subscribe(["t"])

        def ours() -> dict[tuple[str, int], str]:
            second.poll(0.1)
            monitor.read()
            return {
                (topic, partition): member.member_id
                for member in monitor.members("g", names)
                for topic, partitions in member.assignment
                for partition in partitions
            }

        def must_revoke() -> bool:
            ours()
            return {"unrevoked", "unreleased"} <= {member.state for member in monitor.members("g", names)}

        wait_until(must_revoke, "the first member must revoke partitions")
        theirs = {(row.topic, row.partition): row.consumer_id for row in describe_groups(bootstrap) if row.consumer_id}
        assert ours() == theirs
        assert set(theirs) == {("t", number) for number in range(4)}
        assert len(set(theirs.values())) == 1
