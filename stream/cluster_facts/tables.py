"""The results of a poll of the cluster as the tables of `exporters.cluster.model`. Pure.

Also selects the partitions that get series of their own if there are too many, and counts unknown facts.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue import brokers
from exporters.readmodel import rows_table
from stream.cluster.admin.features import BrokerVersions, Quota, version_sets
from stream.cluster.admin.followers import Reassignment
from stream.cluster.admin.quorum import Quorum
from stream.cluster.configs import Settings
from stream.cluster.offsets_topic import NAME as OFFSETS_TOPIC
from stream.cluster.topology import Topology
from stream.cluster.transport.errors import ErrorReason

_Value = TypeVar("_Value")
_Key = TypeVar("_Key")

_TOPIC_SCOPE: Final = "topic"


class Unknown(Counter[tuple[str, str]]):
    """The number of unknown values, by fact and reason."""

    def take(self, fact: str, answer: _Value | ErrorReason) -> _Value | None:
        """Return an answer; None if it is an error, which is counted."""
        if not isinstance(answer, ErrorReason):
            return answer
        self[fact, answer] += 1
        return None

    def take_each(self, fact: str, answers: Mapping[_Key, _Value | ErrorReason]) -> dict[_Key, _Value]:
        """Return the answers without those that are errors, which are counted."""
        values = ((key, self.take(fact, each)) for key, each in answers.items())
        return {key: value for key, value in values if value is not None}


def brokers_table(topology: Topology) -> pa.Table:
    """Return a row per broker (BROKERS)."""
    leads = _count(topology.partitions["leader"].drop_null())
    holds = _count(pc.list_flatten(topology.partitions["replicas"]))
    return rows_table(
        [
            (each.node, each.host, each.port, each.rack, leads.get(each.node, 0), holds.get(each.node, 0))
            for each in topology.brokers
        ],
        brokers.BROKERS.schema,
    )


def shown_partitions(partitions: pa.Table, most: int) -> pa.Table:
    """Return at most `most` rows of TOPIC_PARTITIONS in their order, preferably leaderless or under-replicated ones."""
    if partitions.num_rows <= most:
        return partitions
    leaderless = pc.is_null(partitions["leader"]).to_numpy()
    under, preferred = (partitions[name].to_numpy() for name in ("under_replicated", "preferred_leader"))
    severity = np.where(leaderless, 3, np.where(under, 2, np.where(preferred, 0, 1)))
    worst = np.argsort(-severity, kind="stable")[:most]
    return partitions.take(pa.array(np.sort(worst)))


def offsets_replicas_table(
    sizes: Mapping[int, int | None], growth: Mapping[int, float | None], replicas: pa.Table
) -> pa.Table:
    """Return the offsets topic's size per broker (OFFSETS_REPLICAS); `replicas` (REPLICA_SIZES) has the errors."""
    errors = replicas.filter(pc.is_valid(replicas["error"]))
    reasons = dict(zip(errors["broker"].to_pylist(), errors["error"].to_pylist(), strict=True))
    rows = [(node, size, growth.get(node), reasons.get(node)) for node, size in sorted(sizes.items())]
    return rows_table(rows, brokers.OFFSETS_REPLICAS.schema)


def configs_table(of_brokers: Mapping[int, Settings], of_topics: Mapping[str, Settings]) -> pa.Table:
    """Return the effective settings (CONFIGS), without settings that the broker does not know."""
    scopes = [("broker", str(node), settings) for node, settings in sorted(of_brokers.items())]
    scopes += [(_TOPIC_SCOPE, name, settings) for name, settings in sorted(of_topics.items())]
    rows = [
        (scope, name, each.name, each.value, each.source, each.reason)
        for scope, name, settings in scopes
        for each in sorted(settings.values(), key=lambda setting: setting.name)
        if each.reason != ErrorReason.NOT_FOUND
    ]
    return rows_table(rows, brokers.CONFIGS.schema)


def shown_configs(configs: pa.Table, of_topics: Collection[str]) -> pa.Table:
    """Return the rows of CONFIGS of brokers and of the offsets topic, and those of other topics with these settings."""
    is_other = pc.and_(pc.equal(configs["scope"], _TOPIC_SCOPE), pc.not_equal(configs["name"], OFFSETS_TOPIC))
    is_chosen = pc.is_in(configs["key"].cast(pa.string()), pa.array(sorted(of_topics), pa.string()))
    return configs.filter(pc.or_(pc.invert(is_other), is_chosen))


def totals_table(
    partitions: pa.Table,
    quorum: Quorum | None,
    moves: Sequence[Reassignment] | None,
    versions: Mapping[int, BrokerVersions],
    quotas: Sequence[Quota] | None,
) -> pa.Table:
    """Return the row of numbers about the whole cluster (CLUSTER_TOTALS); an argument of None, or empty: unknown.

    `partitions` is the table TOPIC_PARTITIONS.
    """
    of_quorum: tuple[int | None, ...] = (None, None, None, None)
    if quorum is not None:
        of_quorum = quorum.leader_epoch, quorum.high_watermark, quorum.voters, quorum.voters_behind
    moving: tuple[int | None, ...] = (None, None, None)
    if moves is not None:
        moving = len(moves), sum(len(move.adding) for move in moves), sum(len(move.removing) for move in moves)
    different = len(version_sets(versions)) or None
    under = pc.mean(partitions["under_replicated"]).as_py()
    row = (*of_quorum, *moving, different, under, None if quotas is None else len(quotas))
    return rows_table([row], brokers.CLUSTER_TOTALS.schema)


def quorum_table(quorum: Quorum | None) -> pa.Table:
    """Return a row per node of the metadata quorum (QUORUM_REPLICAS)."""
    replicas = () if quorum is None else quorum.replicas
    rows = [(*each[:2], None if each.directory is None else str(each.directory), *each[3:]) for each in replicas]
    return rows_table(rows, brokers.QUORUM_REPLICAS.schema)


def broker_features_table(versions: Mapping[int, BrokerVersions]) -> pa.Table:
    """Return the features that each broker supports (BROKER_FEATURES)."""
    rows = [
        (node, feature, highest, lowest)
        for node, each in sorted(versions.items())
        for feature, (lowest, highest) in sorted(each.features.items())
    ]
    return rows_table(rows, brokers.BROKER_FEATURES.schema)


def topic_sizes_table(topology: Topology, sizes: Mapping[int, int | None], replicas: pa.Table) -> pa.Table:
    """Return the size of each topic all of whose replicas are on brokers with known `sizes` (TOPIC_SIZES)."""
    known = pa.array([node for node, size in sizes.items() if size is not None], pa.int32())
    hosts = topology.partitions["replicas"].combine_chunks()
    elsewhere = pc.invert(pc.is_in(pc.list_flatten(hosts), known))
    topics = topology.partitions["topic"].cast(pa.string())
    incomplete = set(topics.take(pc.list_parent_indices(hosts).filter(elsewhere)).to_pylist())
    existing = set(topics.unique().to_pylist())
    found = replicas.filter(pc.is_valid(replicas["topic"]))
    summed = pa.table({"topic": found["topic"].cast(pa.string()), "size": found["size"]})
    rows = summed.group_by("topic").aggregate([("size", "sum")]).to_pylist()
    whole = ((row["topic"], row["size_sum"]) for row in rows if row["topic"] in existing - incomplete)
    return rows_table(sorted(whole), brokers.TOPIC_SIZES.schema)


def count_unknown(unknown: Unknown, topology: Topology, replicas: pa.Table, configs: pa.Table) -> None:
    """Count the values of these tables that were requested and are unknown."""
    if topology.controller_error is not None:
        unknown["controller", topology.controller_error] += 1
    unknown.update(("topic", reason) for reason in topology.topics["error"].drop_null().to_pylist())
    unknown.update(("offsets topic size", reason) for reason in replicas["error"].drop_null().to_pylist())
    unknown_settings = configs.filter(pc.is_valid(configs["unknown_reason"]))
    rows = zip(unknown_settings["scope"].to_pylist(), unknown_settings["unknown_reason"].to_pylist(), strict=True)
    unknown.update((f"{scope} setting", reason) for scope, reason in rows)


def unknown_table(unknown: Unknown) -> pa.Table:
    """Return the numbers of unknown values (UNKNOWN_FACTS)."""
    rows = [(*fact_and_reason, amount) for fact_and_reason, amount in sorted(unknown.items()) if amount]
    return rows_table(rows, brokers.UNKNOWN_FACTS.schema)


def _count(nodes: pa.ChunkedArray) -> dict[int, int]:
    counted = pc.value_counts(nodes.combine_chunks() if isinstance(nodes, pa.ChunkedArray) else nodes)
    return {row["values"]: row["counts"] for row in counted.to_pylist()}
