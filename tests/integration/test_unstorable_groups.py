"""Classic groups whose record is too large for the offsets topic of a real broker: members rebalance for ever."""

import time
from typing import Any

import pytest

from sandbox.kafka.broker import Broker, create_topics
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.groups.driver_state import DriverState
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.tick.context import TickFacts, derive
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import EndsIndex
from stream.tick.snapshot.build import build
from tests.integration.folded_log import FoldedLog
from tests.integration.traffic import OFFSETS_TOPIC, consumer, join_and_commit, set_topic
from tests.support.processes import LIMIT, wait_until

pytestmark = pytest.mark.kafka

LONG = [f"{'x' * 200}-{number}" for number in range(10)]
"""Topics with long names: a subscription to all of them is larger than the limit."""


def test_members_whose_group_cannot_be_stored_are_no_empty_group() -> None:
    """The log has only that a group is empty: a new one, and one that came back with a larger subscription."""
    with Broker(properties={"group.initial.rebalance.delay.ms": "0"}) as broker, Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        create_topics(broker.bootstrap, dict.fromkeys(("t", *LONG), 1))
        with consumer(broker.bootstrap, "comes-back") as member:
            join_and_commit(member, "t", {0: 0})
        set_topic(broker.bootstrap, OFFSETS_TOPIC, {"max.message.bytes": "1000"})
        log, state = FoldedLog(cluster), DriverState()
        poller = ContextPoller(cluster, OffsetsRetention(None, None, "unknown"), 50, 1.0)
        with consumer(broker.bootstrap, "comes-back") as large, consumer(broker.bootstrap, "new") as other:
            for each in (large, other):
                each.subscribe(LONG)

            def shown() -> dict[str, tuple[Any, ...]]:
                large.poll(0.1), other.poll(0.1)
                for partition, change in log.read():
                    state.apply(partition, change)
                # Later than a group counts as just emptied.
                columns, now = state.columns(), time.time() + 300
                facts = TickFacts(columns, EndsIndex(read_ends(cluster, ["t"])), now, poller.poll(columns, {"t"}, now))
                rows = build(derive(facts)).groups.to_pylist()
                return {row["group"]: (row["kind"], row["members"], row["state"][-9:]) for row in rows}

            looping = dict.fromkeys(("comes-back", "new"), ("classic", None, "Rebalance"))
            wait_until(lambda: shown() == looping, "both groups to be shown as rebalancing")
            assert [shown() for _ in range(20)] == [looping] * 20, "a group that can be stored would be stable by now"
            recorded = [state.columns().memberships[name] for name in looping]
            assert [(each.state, each.members) for each in recorded] == [("Empty", 0)] * 2, "what the log has"
