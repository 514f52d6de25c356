"""Effective settings of topics and brokers with their sources, and the sizes of replicas on the brokers' disks.

Errors are values: a setting that the user may not see, or that the broker does not know, has no value but a reason; a
broker or a log directory without an answer has a row with the error. kafka-python's own call for settings is not used:
on a denial it returns an empty result without an error. A broker also lists replicas of topics that were deleted and
are still on its disks.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import NAME, rows_table
from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

_TOPICS_AT_ONCE: Final = 500
_SOURCES: Final = dict(enumerate((
    "dynamic_topic_config", "dynamic_broker_config", "dynamic_default_broker_config", "static_broker_config",
    "default_config", "dynamic_broker_logger_config", "dynamic_client_metrics_config", "dynamic_group_config",
), 1))  # fmt: skip
"""Kafka's names by number (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource) in lower case."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicConfig:
    """One effective setting. `source` is Kafka's name for where it was set; None if the broker sends an unknown source.

    `value` is None with a `reason` (NOT_FOUND: the broker does not know this setting), or if the setting is sensitive.
    """

    name: str
    value: str | None = None
    source: str | None = None
    reason: ErrorReason | None = None

    def number(self) -> int | None:
        """Return the value as an integer; None if it is unknown or not a number."""
        try:
            return None if self.value is None else int(self.value)
        except ValueError:
            return None


Settings = dict[str, TopicConfig]
"""Settings by name: one for each requested name."""


def read_topic_configs(cluster: Cluster, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
    """Read some settings of many topics, by topic. Raises nothing."""
    found: dict[str, Settings] = {}
    wanted = sorted(set(topics))
    for start in range(0, len(wanted), _TOPICS_AT_ONCE):
        some = wanted[start : start + _TOPICS_AT_ONCE]
        try:
            answer = cluster.call_any(requests.describe_configs(requests.TOPIC_RESOURCE, some, names))
        except ClusterError as error:
            found |= {topic: _unknown(names, reasons.of_failure(error)) for topic in some}
        else:
            found |= _read(answer.results, some, names)
    return found


def read_broker_configs(cluster: Cluster, nodes: Collection[int], names: Collection[str]) -> dict[int, Settings]:
    """Read some settings of these brokers, by node; each broker answers for itself. Raises nothing."""
    wanted = sorted(set(nodes))
    kind = requests.BROKER_RESOURCE
    answers = cluster.call_all([(node, requests.describe_configs(kind, [str(node)], names)) for node in wanted])
    found = {}
    for node, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, ClusterError):
            found[node] = _unknown(names, reasons.of_failure(answer))
        else:
            found[node] = _read(answer.results, [str(node)], names)[str(node)]
    return found


def _read(results: Iterable[Any], resources: Iterable[str], names: Collection[str]) -> dict[str, Settings]:
    """Parse an answer. A resource that is missing in it gets settings with the reason OTHER."""
    found = {resource: _unknown(names, ErrorReason.OTHER) for resource in resources}
    for result in results:
        refused = reasons.of_code(result.error_code)
        settings = _unknown(names, refused or ErrorReason.NOT_FOUND)
        if refused is None:
            settings |= {
                config.name: TopicConfig(config.name, config.value, _SOURCES.get(config.config_source))
                for config in result.configs
                if config.name in settings
            }
        found[result.resource_name] = settings
    return found


def _unknown(names: Collection[str], reason: ErrorReason) -> Settings:
    return {name: TopicConfig(name, reason=reason) for name in names}


REPLICA_SIZES: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # Null in a row that holds only an error.
        ("topic", NAME),
        ("partition", pa.int32()),
        ("log_dir", NAME),
        # Bytes of the log's segments, without indexes.
        ("size", pa.int64()),
        # The distance of the replica to the high watermark, in offsets.
        ("offset_lag", pa.int64()),
        # A copy that is being moved to another log directory; its size is counted in addition.
        ("future", pa.bool_()),
        # An ErrorReason if a broker or one of its log directories gave no sizes, else null.
        ("error", NAME),
    ]
)
"""One row per replica, sorted by broker, topic and partition."""

_Row = tuple[int, str | None, int | None, str | None, int | None, int | None, bool | None, ErrorReason | None]


def read_replica_sizes(
    cluster: Cluster, partitions: Mapping[str, Sequence[int]] | None, brokers: Collection[int] | None = None
) -> pa.Table:
    """Read the sizes of these partitions' replicas on these brokers, or on all that the last metadata named.

    None for the partitions requests all replicas that a broker has.

    Needs the right to describe the cluster. Raises nothing.
    """
    nodes = sorted({broker.node for broker in cluster.brokers} if brokers is None else set(brokers))
    answers = cluster.call_all([(node, requests.describe_log_dirs(partitions)) for node in nodes])
    rows = [row for node, answer in zip(nodes, answers, strict=True) for row in _replica_rows(node, answer)]
    rows.sort(key=lambda row: (row[0], row[1] or "", -1 if row[2] is None else row[2], row[3] or ""))
    return rows_table(rows, REPLICA_SIZES)


def replicas_of(replicas: pa.Table, topic: str) -> pa.Table:
    """Return the rows of REPLICA_SIZES of one topic, and those with an error, which may hide replicas of it."""
    of_topic = pc.fill_null(pc.equal(replicas["topic"], topic), fill_value=False)
    return replicas.filter(pc.or_(pc.is_valid(replicas["error"]), of_topic))


def size_per_broker(replicas: pa.Table) -> dict[int, int | None]:
    """Return the sum of REPLICA_SIZES by broker, in bytes, future copies included; None for a broker with an error.

    A broker without a replica of these partitions is not in the result.
    """
    sums: dict[int, int | None] = {}
    columns = [replicas[name].to_pylist() for name in ("broker", "size", "error")]
    for broker, size, error in zip(*columns, strict=True):
        subtotal = sums.get(broker, 0)
        sums[broker] = None if error is not None or subtotal is None else subtotal + (size or 0)
    return sums


def failed_directories(replicas: pa.Table) -> tuple[tuple[int, str], ...]:
    """Return broker and path of each log directory in REPLICA_SIZES that its broker reports as failed."""
    failed = replicas.filter(pc.equal(replicas["error"], ErrorReason.STORAGE_FAILED.value))
    paths = zip(*(failed[name].to_pylist() for name in ("broker", "log_dir")), strict=True)
    return tuple((broker, path) for broker, path in paths if path)


def _replica_rows(node: int, answer: Any) -> Iterator[_Row]:
    if isinstance(answer, ClusterError):
        yield _unknown_sizes(node, reasons.of_failure(answer))
        return
    refused = reasons.of_code(answer.error_code)
    # Before version 3 (Kafka 3.2) a denial is an answer without a single disk.
    if refused is not None or not answer.results:
        yield _unknown_sizes(node, refused or ErrorReason.NOT_AUTHORIZED)
        return
    for disk in answer.results:
        error = reasons.of_code(disk.error_code)
        if error is not None:
            yield _unknown_sizes(node, error, disk.log_dir)
            continue
        for topic in disk.topics:
            for p in topic.partitions:
                future = p.is_future_key
                yield node, topic.name, p.partition_index, disk.log_dir, p.partition_size, p.offset_lag, future, None


def _unknown_sizes(node: int, reason: ErrorReason, log_dir: str | None = None) -> _Row:
    return node, None, None, log_dir, None, None, None, reason
