"""The topics and the sums of share groups, from their progress and the subscriptions of their members."""

import dataclasses

import numpy as np

from exporters.readmodel import GROUPS
from stream.groups.driver_state import DriverState
from stream.groups.membership.model import Membership
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.tick.context import UNKNOWN_CLUSTER, TickFacts
from stream.tick.ends_index import NO_ENDS
from stream.tick.inputs.polled_cluster import PolledCluster
from stream.tick.snapshot.topics import ShareTopic, share_topics, with_share_sums
from tests.exporters.snapshots import table

GROUP_NAMES = ("classic", "jobs")


def partition(topic: str, number: int, start: int | None, lag: int | None) -> SharePartitionProgress:
    return SharePartitionProgress(topic, number, start, lag, 0, 0, None, 0, 0, 0)


NO_FACTS = TickFacts(DriverState().columns(), NO_ENDS, 0.0)


def context(*rows: SharePartitionProgress, incomplete: dict[str, frozenset[str]] | None = None) -> TickFacts:
    """Return the facts of a cluster in which `gone` does not exist, with the progress of `jobs`."""
    progress = ShareProgress(7, {"jobs": rows} if rows else {}, incomplete=incomplete or {})
    cluster = dataclasses.replace(UNKNOWN_CLUSTER, partition_counts={"gone": 0, "b": 2})
    return dataclasses.replace(NO_FACTS, cluster=cluster, polled=PolledCluster(share_progress=progress))


def found(facts: TickFacts, *subscribed: str, rows: int = 0) -> list[ShareTopic]:
    """Return the topics of the share group `jobs`, beside a classic group."""
    memberships = {
        "classic": Membership("classic", "Stable", 1, subscribed=frozenset({"z"})),
        "jobs": Membership("share", "Stable", 1, subscribed=frozenset(subscribed)),
    }
    return share_topics(GROUP_NAMES, memberships, facts, None, np.array([0, rows]))


def test_a_topic_has_the_known_lags_of_its_partitions() -> None:
    """A partition without a start offset does not count as a partition, but its lag counts as unknown."""
    rows = [
        partition("a", 0, 5, 10),
        partition("a", 1, 0, 3),
        partition("a", 2, None, None),
        partition("c", 0, 5, None),
    ]
    assert found(context(*rows)) == [
        ShareTopic("jobs", "a", partitions=2, lag_sum=13, lag_max=10, partitions_lag_unknown=1),
        ShareTopic("jobs", "c", partitions=1, partitions_lag_unknown=1),
    ]


def test_subscribed_topics_are_listed_without_any_progress() -> None:
    """Subscribed topics without progress have no numbers; topics that do not exist are left out."""
    assert found(context(partition("a", 0, 5, 0)), "b", "gone", "new") == [
        ShareTopic("jobs", "a", 1, 0, 0, 0),
        ShareTopic("jobs", "b"),
        ShareTopic("jobs", "new"),
    ]
    assert found(NO_FACTS, "b") == [ShareTopic("jobs", "b")]


def test_a_group_has_the_sums_of_its_topics() -> None:
    """A dead group, and one with commits or of another kind, stays as it is; without progress the sums are unknown."""
    names = ("partitions", "lag_sum", "lag_max", "partitions_lag_unknown")
    none = {"partitions": 0, "partitions_lag_unknown": 0}
    groups = table(
        GROUPS,
        [
            {"group": "classic", "kind": "classic", **none},
            {"group": "dead", "kind": "share", "died_time": 7, **none},
            {"group": "jobs", "kind": "share", **none},
            {"group": "new", "kind": "share", **none},
            {"group": "odd", "kind": "share", "partitions": 1, "lag_sum": 9, "partitions_lag_unknown": 0},
        ],
    )
    share = [ShareTopic("jobs", "a", 2, 13, 10, 1), ShareTopic("jobs", "b", 1, 4, 4, 0), ShareTopic("jobs", "c")]
    summed = with_share_sums(groups, share)
    assert summed.schema == GROUPS
    assert {row["group"]: tuple(row[name] for name in names) for row in summed.to_pylist()} == {
        "classic": (0, None, None, 0),
        "dead": (0, None, None, 0),
        "jobs": (3, 17, 10, 1),
        "new": (None, None, None, None),
        "odd": (1, 9, None, 0),
    }
