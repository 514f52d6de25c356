"""One poll of the cluster: topology, settings, the size of the offsets topic, and the facts derived from them.

Sends one request each for all topics, the quorum, reassignments and quotas, two or three per broker, and one per few
hundred topics that groups read. Changes nothing on the cluster and creates no topic. A value that could not be read is
null and counted; raises only if no broker answers.
"""

import dataclasses
import time
from collections import Counter
from collections.abc import Collection
from typing import Final

import pyarrow.compute as pc

from exporters.catalogue import brokers, topics
from exporters.cluster.model import ClusterFacts
from exporters.readmodel import Snapshot, rows_table
from stream.cluster import configs
from stream.cluster.admin.features import finalized_features, mixed_versions, read_quotas, read_versions
from stream.cluster.admin.followers import followers_out_of_sync, read_follower_lags, read_reassignments
from stream.cluster.offsets_topic import NAME
from stream.cluster.topology import Topology, read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason
from stream.cluster_facts import tables
from stream.cluster_facts.log_cleaner import LogGrowth
from stream.cluster_facts.offsets_topic import OffsetsTopicSizes
from stream.cluster_facts.share_groups import ShareGroups
from stream.cluster_facts.topics import MIN_ISR, LeftReplicas, partitions_table, topics_table
from stream.groups.placement import EVERY_GROUP, InstancePart

BROKER_SETTINGS: Final = (
    "log.cleaner.enable", "offsets.retention.check.interval.ms", "offsets.retention.minutes",
    "offsets.topic.segment.bytes",
)  # fmt: skip
TOPIC_SETTINGS: Final = (
    "cleanup.policy", "message.format.version", "message.timestamp.type", MIN_ISR, "retention.bytes", "retention.ms",
    "segment.bytes",
)  # fmt: skip
"""The settings of topics that groups read which lagwarden itself uses."""
OFFSETS_SETTINGS: Final = (
    *TOPIC_SETTINGS, "delete.retention.ms", "max.compaction.lag.ms", "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms", "segment.ms",
)  # fmt: skip
MOST_QUOTAS: Final = 500
"""The maximum number of quotas that are shown, the first by user, client and address."""

MOST_REPLICAS: Final = 30_000
"""The maximum number of replicas of the cluster whose sizes are read; with more, only those of `__consumer_offsets`."""

MOST_TOPICS: Final = 2_000
"""The maximum number of topics whose settings are read, the first by name."""

_MOST_DELETED: Final = 1_000
"""The maximum number of topics that are looked up because the cluster did not name them."""


@dataclasses.dataclass(frozen=True, slots=True)
class PollOptions:
    """What is polled."""

    partitions_shown: int = 1_000
    """The maximum number of partitions that have series."""
    part: InstancePart = EVERY_GROUP
    """This instance does not know what the groups of others read and store."""
    hide_clients: bool = False
    """No quotas are read, because they name users and clients."""
    topic_settings: Collection[str] = TOPIC_SETTINGS
    """The settings of topics that have series."""
    share_kept_seconds: float = 0.0
    """How long the last numbers of share groups are shown that cannot be read."""


class ClusterPoll:
    """Polls the cluster and keeps sizes between polls; used by one thread only."""

    def __init__(self, cluster: Cluster, options: PollOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._part = options.part
        self._offsets_topic = OffsetsTopicSizes(cluster, options.part)
        self._growth = LogGrowth()
        self._left_replicas = LeftReplicas()
        self._share_groups = ShareGroups(cluster, options.part, kept_seconds=options.share_kept_seconds)

    def poll(self, snapshot: Snapshot | None, now: float) -> ClusterFacts:
        """Return the facts at `now` (Unix s); the snapshot has the topics that groups read. Raises ClusterError."""
        began, unknown = time.perf_counter(), tables.Unknown()
        topology = read_topology(self._cluster)
        nodes = [broker.node for broker in topology.brokers]
        partitions = partitions_table(topology)
        shown = tables.shown_partitions(partitions, self._options.partitions_shown)
        unknown["partition series", "not_shown"] += len(partitions) - len(shown)
        of_brokers = configs.read_broker_configs(self._cluster, nodes, BROKER_SETTINGS)
        of_topics, unknown["topic setting", ErrorReason.NOT_ASKED] = self._topic_settings(topology, snapshot)
        config_rows = tables.configs_table(of_brokers, of_topics)
        offsets = partitions.filter(pc.equal(partitions["topic"], NAME))
        asks_all = (pc.sum(partitions["replicas"]).as_py() or 0) <= MOST_REPLICAS
        unknown["size on disk", ErrorReason.NOT_ASKED] += 0 if asks_all else len(nodes)
        of_topic = {NAME: offsets["partition"].to_pylist()} if len(offsets) else {}
        replicas = configs.read_replica_sizes(
            self._cluster, None if asks_all else of_topic, None if asks_all or of_topic else ()
        )
        of_offsets = of_topics.get(NAME, {})
        own_replicas, suspect, evidence = self._offsets_topic.evaluate(
            now, offsets, replicas, of_offsets, of_brokers, snapshot=snapshot
        )
        sizes = configs.size_per_broker(own_replicas)
        all_sizes = configs.size_per_broker(replicas) if asks_all else {}
        moves = unknown.take("reassignments", read_reassignments(self._cluster, topology.controller))
        versions = unknown.take_each("broker versions", read_versions(self._cluster, nodes))
        quotas = None if self._options.hide_clients else unknown.take("quotas", read_quotas(self._cluster))
        unknown["quota", "not_shown"] += len((quotas or ())[MOST_QUOTAS:])
        followers = followers_out_of_sync(topology)
        lags = read_follower_lags(self._cluster, followers)
        unknown.update(("follower", each.reason) for each in lags if each.reason is not None)
        unknown["follower", ErrorReason.NOT_ASKED] += len(followers) - len(lags)
        tables.count_unknown(unknown, topology, own_replicas, config_rows)
        share = self._share_groups.poll(topology, unknown, now)
        moving_topics = Counter(move.topic for move in moves or ())
        controllers = () if topology.controller is None else (topology.controller,)
        left = self._left_replicas.update(topology, self._absent)
        disks = [(node, size, left.get(node, 0)) for node, size in sorted(all_sizes.items()) if size is not None]
        return ClusterFacts(
            taken_at=now,
            cluster_id=topology.cluster_id,
            controller=topology.controller,
            controller_unknown_reason=topology.controller_error,
            polls=rows_table([(suspect, int(now * 1000), time.perf_counter() - began)], brokers.POLLS.schema),
            brokers=tables.brokers_table(topology),
            controllers=rows_table([(node, True) for node in controllers], brokers.CONTROLLERS.schema),
            cluster_topics=topics_table(topology, of_topics),
            topic_partitions=partitions,
            partitions_shown=shown,
            offsets_replicas=tables.offsets_replicas_table(sizes, self._growth.update(now, sizes), own_replicas),
            configs=config_rows,
            configs_shown=tables.shown_configs(config_rows, self._options.topic_settings),
            cluster_totals=tables.totals_table(partitions, topology.quorum, moves, versions, quotas),
            quorum_replicas=tables.quorum_table(topology.quorum),
            reassignments=rows_table(moves or (), brokers.REASSIGNMENTS.schema),
            reassigning_topics=rows_table(sorted(moving_topics.items()), brokers.REASSIGNING_TOPICS.schema),
            features=rows_table(finalized_features(versions).items(), brokers.FEATURES.schema),
            broker_features=tables.broker_features_table(versions),
            quotas=rows_table((quotas or ())[:MOST_QUOTAS], brokers.QUOTAS.schema),
            broker_disks=rows_table(disks, brokers.BROKER_DISKS.schema),
            followers=rows_table([each[:4] for each in lags if each.lag is not None], topics.FOLLOWERS.schema),
            share_partitions=share.share_partitions,
            share_groups=share.share_groups,
            share_reads=share.share_reads,
            topic_sizes=tables.topic_sizes_table(topology, all_sizes, replicas),
            unknown_facts=tables.unknown_table(unknown),
            cleaner_suspect=suspect,
            cleaner_evidence=evidence,
            mixed_versions=tuple(mixed_versions(versions)),
            failed_log_dirs=configs.failed_directories(replicas),
            is_whole=True,
        )

    def poll_share_groups(self, now: float) -> ClusterFacts:
        """Return the progress of share groups at `now` (Unix s), and no other facts. Raises ClusterError."""
        unknown = tables.Unknown()
        found = self._share_groups.poll(read_topology(self._cluster), unknown, now)
        return dataclasses.replace(found, taken_at=now, unknown_facts=tables.unknown_table(unknown))

    def _topic_settings(self, topology: Topology, snapshot: Snapshot | None) -> tuple[dict[str, configs.Settings], int]:
        """Return the settings by topic, and the number of topics that groups read whose settings were not read.

        With several instances, any existing topic may be one that groups read.
        """
        existing = set(topology.topics.filter(pc.is_valid(topology.topics["partitions"]))["topic"].to_pylist())
        if self._part.is_whole:
            read = set() if snapshot is None else existing & set(snapshot.partitions["topic"].unique().to_pylist())
        else:
            read = existing
        requested = sorted(read - {NAME})[:MOST_TOPICS]
        wanted = sorted({*self._options.topic_settings, *TOPIC_SETTINGS})
        settings = configs.read_topic_configs(self._cluster, requested, wanted)
        if NAME in existing:
            settings |= configs.read_topic_configs(self._cluster, [NAME], OFFSETS_SETTINGS)
        return settings, len(read - {NAME}) - len(requested)

    def _absent(self, topics: Collection[str]) -> list[str]:
        """Return which of these topics do not exist; none without an answer."""
        asked = sorted(topics)[:_MOST_DELETED]
        try:
            return read_topology(self._cluster, asked, brief=True).absent() if asked else []
        except ClusterError:
            return []
