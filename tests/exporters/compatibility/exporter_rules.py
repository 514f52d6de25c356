"""The series that the other exporters derive from the answers of brokers, by their own rules.

`ClusterAnswers` has the answers to the requests of these exporters (metadata, offsets, groups, commits), read by
librdkafka and so by no code of lagwarden. The rules are those of kafka_exporter.go, of KMinion's collectors with
`scrapeMode: adminApi`, of kafka-lag-exporter's KafkaClient.scala and of Burrow's storage: what each does where a group
has no commit, a commit is beyond the end, no member owns a partition, or a broker does not describe a group. Sizes are
those of the files on disk. Time lags and statuses are not here, because they depend on when an exporter polled.

If their binaries are named (`exporter_programs`), `test_running_monitor` compares the rules with the programs of
kafka_exporter and KMinion, and `test_beside_burrow` with those of Burrow and burrow_exporter. kafka-lag-exporter is not
compared with its program.
"""

import collections
import dataclasses
from pathlib import Path
from typing import Final

from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from sandbox.waiting import LIMIT
from tests.exporters.exposition_text import Series

Place = tuple[str, int]
"""A topic and a partition."""
INTERNAL: Final = {"__consumer_offsets", "__transaction_state", "__share_group_state"}


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member with the partitions that it owns."""

    member_id: str
    client_id: str
    host: str
    owned: frozenset[Place]


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group with its commits. `is_modern` means KIP-848: the request of the exporters does not describe it."""

    state: str
    assignor: str
    is_simple: bool
    is_modern: bool
    coordinator: int
    members: tuple[DescribedMember, ...]
    commits: dict[Place, int]


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedPartition:
    """A partition of the metadata with its offsets."""

    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    low: int
    high: int


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterAnswers:
    """The answers of the brokers.

    `brokers` has host, port and rack by id, `policies` the cleanup policy by topic, and `sizes` the bytes of the
    segments by topic, as they are on the disk of the one broker.
    """

    cluster_id: str
    brokers: dict[int, tuple[str, int, str]]
    partitions: dict[Place, DescribedPartition]
    policies: dict[str, str]
    groups: dict[str, DescribedGroup]
    sizes: dict[str, int]

    @property
    def topics(self) -> dict[str, dict[int, DescribedPartition]]:
        """The partitions by topic and number."""
        found: dict[str, dict[int, DescribedPartition]] = collections.defaultdict(dict)
        for (topic, partition), described in self.partitions.items():
            found[topic][partition] = described
        return found

    @property
    def read(self) -> set[Place]:
        """The partitions that a group reads: it has a commit for them, or a member owns them."""
        owned = {place for group in self.groups.values() for member in group.members for place in member.owned}
        return owned | {place for group in self.groups.values() for place in group.commits}


def read_answers(bootstrap: str, log_directory: Path) -> ClusterAnswers:
    """Ask the brokers, and measure the files in the log directory of the only one. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    cluster = admin.describe_cluster(request_timeout=LIMIT).result(LIMIT)
    metadata = {
        TopicPartition(name, number): found
        for name, topic in admin.list_topics(timeout=LIMIT).topics.items()
        for number, found in topic.partitions.items()
    }
    low, high = (
        {
            place: answer.result(LIMIT).offset
            for place, answer in admin.list_offsets(dict.fromkeys(metadata, of)).items()
        }
        for of in (OffsetSpec.earliest(), OffsetSpec.latest())
    )
    topics = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in {place.topic for place in metadata}]
    return ClusterAnswers(
        cluster.cluster_id,
        {node.id: (node.host, node.port, node.rack or "") for node in cluster.nodes},
        {
            (place.topic, place.partition): DescribedPartition(
                found.leader, tuple(found.replicas), tuple(found.isrs), low[place], high[place]
            )
            for place, found in metadata.items()
        },
        {
            each.name: answer.result(LIMIT)["cleanup.policy"].value
            for each, answer in admin.describe_configs(topics).items()
        },
        {name: _described_group(admin, name) for name in _group_names(admin)},
        _sizes(log_directory, {(place.topic, place.partition) for place in metadata}),
    )


def _sizes(log_directory: Path, places: set[Place]) -> dict[str, int]:
    sizes: collections.Counter[str] = collections.Counter()
    for topic, partition in places:
        segments = (log_directory / f"{topic}-{partition}").glob("*.log")
        sizes[topic] += sum(segment.stat().st_size for segment in segments)
    return sizes


def _group_names(admin: AdminClient) -> list[str]:
    return [each.group_id for each in admin.list_consumer_groups(request_timeout=LIMIT).result(LIMIT).valid]


def _described_group(admin: AdminClient, name: str) -> DescribedGroup:
    found = admin.describe_consumer_groups([name], request_timeout=LIMIT)[name].result(LIMIT)
    commits = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(LIMIT)
    return DescribedGroup(
        {"STABLE": "Stable", "EMPTY": "Empty"}.get(found.state.name, found.state.name),
        found.partition_assignor or "",
        bool(found.is_simple_consumer_group),
        found.type == ConsumerGroupType.CONSUMER,
        found.coordinator.id,
        tuple(
            DescribedMember(
                each.member_id,
                each.client_id,
                each.host,
                frozenset((place.topic, place.partition) for place in each.assignment.topic_partitions),
            )
            for each in found.members
        ),
        {
            (each.topic, each.partition): each.offset
            for each in commits.topic_partitions
            if each.offset != OFFSET_INVALID
        },
    )


def kafka_exporter(answers: ClusterAnswers) -> Series:
    """Return the series of kafka_exporter with its default options."""
    series: Series = {}
    _add(series, "kafka_brokers", len(answers.brokers))
    for broker, (host, port, _) in answers.brokers.items():
        _add(series, "kafka_broker_info", 1, id=broker, address=f"{host}:{port}")
    for topic, partitions in answers.topics.items():
        _add(series, "kafka_topic_partitions", len(partitions), topic=topic)
        for number, found in partitions.items():
            for name, value in (
                ("current_offset", found.high),
                ("oldest_offset", found.low),
                ("leader", found.leader),
                ("leader_is_preferred", found.leader == found.replicas[0]),
                ("replicas", len(found.replicas)),
                ("in_sync_replica", len(found.in_sync)),
                ("under_replicated_partition", len(found.in_sync) < len(found.replicas)),
            ):
                _add(series, f"kafka_topic_partition_{name}", value, topic=topic, partition=number)
    for group, described in answers.groups.items():
        members = 0 if described.is_modern else len(described.members)
        _add(series, "kafka_consumergroup_members", members, consumergroup=group)
        for topic in {topic for topic, _ in described.commits}:
            # kafka_exporter requests the commits of all partitions of the cluster, and shows topics with one.
            ends = {number: found.high for number, found in answers.topics[topic].items()}
            offsets = {number: described.commits.get((topic, number), -1) for number in ends}
            lags = {number: -1 if offset == -1 else ends[number] - offset for number, offset in offsets.items()}
            of_topic = {"consumergroup": group, "topic": topic}
            for number, offset in offsets.items():
                _add(series, "kafka_consumergroup_current_offset", offset, partition=number, **of_topic)
                _add(series, "kafka_consumergroup_lag", lags[number], partition=number, **of_topic)
            known = [lag for number, lag in lags.items() if offsets[number] != -1]
            _add(series, "kafka_consumergroup_current_offset_sum", sum(offsets.values()), **of_topic)
            _add(series, "kafka_consumergroup_lag_sum", sum(known), **of_topic)
    return series


def kminion(answers: ClusterAnswers) -> Series:
    """Return the series of KMinion that asks the Admin API."""
    series: Series = {}
    brokers = len(answers.brokers)
    _add(series, "kminion_kafka_cluster_info", 1, broker_count=brokers, cluster_id=answers.cluster_id)
    for broker, (host, port, rack) in answers.brokers.items():
        labels: dict[str, str | int] = {"broker_id": broker, "address": host, "port": port, "rack_id": rack}
        _add(series, "kminion_kafka_broker_info", 1, **labels)
        _add(series, "kminion_kafka_broker_log_dir_size_total_bytes", sum(answers.sizes.values()), **labels)
    for topic, size in answers.sizes.items():
        _add(series, "kminion_kafka_topic_log_dir_size_total_bytes", size, topic_name=topic)
    for topic, partitions in answers.topics.items():
        counts = {"partition_count": len(partitions), "replication_factor": len(partitions[0].replicas)}
        _add(series, "kminion_kafka_topic_info", 1, topic_name=topic, cleanup_policy=answers.policies[topic], **counts)
        # KMinion requests the offsets of all topics that are not internal.
        for mark in ("low", "high") if topic not in INTERNAL else ():
            values = {number: getattr(found, mark) for number, found in partitions.items()}
            for number, value in values.items():
                name = f"kminion_kafka_topic_partition_{mark}_water_mark"
                _add(series, name, value, topic_name=topic, partition_id=number)
            _add(series, f"kminion_kafka_topic_{mark}_water_mark_sum", sum(values.values()), topic_name=topic)
    for group, described in answers.groups.items():
        if not described.is_modern:
            _add_kminion_group(series, group, described)
        for topic in {topic for topic, _ in described.commits}:
            lags = _lags(answers, described, topic)
            for number, lag in lags.items():
                name = "kminion_kafka_consumer_group_topic_partition_lag"
                _add(series, name, lag, group_id=group, topic_name=topic, partition_id=number)
            offsets = sum(described.commits[topic, number] for number in lags)
            _add(series, "kminion_kafka_consumer_group_topic_lag", sum(lags.values()), group_id=group, topic_name=topic)
            _add(series, "kminion_kafka_consumer_group_topic_offset_sum", offsets, group_id=group, topic_name=topic)
    return series


def _add_kminion_group(series: Series, group: str, described: DescribedGroup) -> None:
    kind = "" if described.is_simple else "consumer"
    labels = {"protocol": described.assignor, "protocol_type": kind, "state": described.state}
    _add(series, "kminion_kafka_consumer_group_info", described.state == "Stable", group_id=group, **labels)
    _add(series, "kminion_kafka_consumer_group_members", len(described.members), group_id=group)
    idle = sum(not member.owned for member in described.members)
    if idle:
        _add(series, "kminion_kafka_consumer_group_empty_members", idle, group_id=group)
    for topic in {topic for member in described.members for topic, _ in member.owned}:
        owned = [sum(each == topic for each, _ in member.owned) for member in described.members]
        for name, value in (("members", sum(map(bool, owned))), ("assigned_partitions", sum(owned))):
            _add(series, f"kminion_kafka_consumer_group_topic_{name}", value, group_id=group, topic_name=topic)


def kafka_lag_exporter(answers: ClusterAnswers, cluster: str) -> Series:
    """Return the series of kafka-lag-exporter, except lags in seconds."""
    series: Series = {}
    for (topic, number), found in answers.partitions.items():
        if (topic, number) in answers.read:
            place = {"cluster_name": cluster, "topic": topic, "partition": number}
            _add(series, "kafka_partition_latest_offset", found.high, **place)
            _add(series, "kafka_partition_earliest_offset", found.low, **place)
    for group, found_group in answers.groups.items():
        described = _without_unowned(found_group)
        of_group = {"cluster_name": cluster, "group": group}
        by_topic = {topic: _lags(answers, described, topic) for topic in {topic for topic, _ in described.commits}}
        for topic, lags in by_topic.items():
            for number, lag in lags.items():
                owner = next((each for each in described.members if (topic, number) in each.owned), None)
                labels = of_group | {"topic": topic, "partition": number, **_owner_labels(owner)}
                offset = described.commits[topic, number]
                _add(series, "kafka_consumergroup_group_offset", offset, **labels)
                _add(series, "kafka_consumergroup_group_lag", lag, **labels)
            _add(series, "kafka_consumergroup_group_topic_sum_lag", sum(lags.values()), topic=topic, **of_group)
        every_lag = [lag for lags in by_topic.values() for lag in lags.values()]
        if every_lag:
            _add(series, "kafka_consumergroup_group_max_lag", max(every_lag), **of_group)
            _add(series, "kafka_consumergroup_group_sum_lag", sum(every_lag), **of_group)
    return series


def burrow_exporter(answers: ClusterAnswers, cluster: str) -> Series:
    """Return the series of burrow_exporter with version 3 of Burrow's API, except statuses."""
    series: Series = {}
    for (topic, number), found in answers.partitions.items():
        place = {"cluster": cluster, "topic": topic, "partition": number}
        _add(series, "kafka_burrow_topic_partition_offset", found.high, **place)
    for group, described in answers.groups.items():
        of_group = {"cluster": cluster, "group": group}
        # Burrow does not read the members of the new protocol.
        members = () if described.is_modern else described.members
        topics = {topic for topic, _ in described.commits}.union(topic for each in members for topic, _ in each.owned)
        total = 0
        for topic in topics:
            lags = _lags(answers, described, topic)
            total += sum(lags.values())
            # A topic of a group has an entry for every partition, with 0 for one without a commit.
            for number in answers.topics[topic]:
                place = of_group | {"topic": topic, "partition": number}
                offset = described.commits.get((topic, number), 0)
                _add(series, "kafka_burrow_partition_lag", lags.get(number, 0), **place)
                _add(series, "kafka_burrow_partition_current_offset", offset, **place)
                # The field that burrow_exporter reads is not in version 3.
                _add(series, "kafka_burrow_partition_max_offset", 0, **place)
        if topics:
            _add(series, "kafka_burrow_total_lag", total, **of_group)
    return series


def burrow(answers: ClusterAnswers, cluster: str) -> Series:
    """Return the series of Burrow's own metrics that depend neither on its statuses nor on its windows."""
    own = {
        "kafka_burrow_topic_partition_offset": "burrow_kafka_topic_partition_offset",
        "kafka_burrow_partition_lag": "burrow_kafka_consumer_partition_lag",
        "kafka_burrow_total_lag": "burrow_kafka_consumer_lag_total",
    }
    return {
        (own[name], frozenset(("consumer_group" if key == "group" else key, text) for key, text in labels)): value
        for (name, labels), value in burrow_exporter(answers, cluster).items()
        if name in own
    }


def _without_unowned(group: DescribedGroup) -> DescribedGroup:
    """Return a group with the commits that kafka-lag-exporter shows: of owned partitions, or all without members."""
    members = () if group.is_modern else group.members
    owned = {place for member in members for place in member.owned}
    commits = {place: offset for place, offset in group.commits.items() if place in owned or not members}
    return dataclasses.replace(group, members=members, commits=commits)


_UNKNOWN: Final = {"member_host": "unknown", "consumer_id": "unknown", "client_id": "unknown"}


def _owner_labels(owner: DescribedMember | None) -> dict[str, str]:
    if owner is None:
        return _UNKNOWN
    return {"member_host": owner.host, "consumer_id": owner.member_id, "client_id": owner.client_id}


def _lags(answers: ClusterAnswers, group: DescribedGroup, topic: str) -> dict[int, int]:
    """Return the lags of a group on a topic by partition, at least 0."""
    return {
        number: max(0, answers.partitions[topic, number].high - offset)
        for (name, number), offset in group.commits.items()
        if name == topic
    }


def _add(series: Series, name: str, value: float, **labels: str | int) -> None:
    series[name, frozenset((key, str(text)) for key, text in labels.items())] = float(value)
