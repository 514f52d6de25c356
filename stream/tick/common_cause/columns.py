"""Builds what groups share (`stream.health.common_cause.shared`) from an evaluated tick. Pure."""

from collections.abc import Sequence

import numpy as np

from stream.cluster.offsets_topic import NAME
from stream.health.columns import NOT_KNOWN, Ints, max_by_owner
from stream.health.common_cause.faults import RowFaults
from stream.health.common_cause.shared import Dimension, SharedValues, unique_pairs
from stream.tick.common_cause.recent import RecentHosts, RecentLeaders
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_NEVER = np.iinfo(np.int64).max


def shared_values(
    evaluated: EvaluatedTick, faults: RowFaults, leaders: RecentLeaders, hosts: RecentHosts
) -> tuple[SharedValues, ...]:
    """Return the values of all dimensions but `FOLLOWER`.

    Groups are numbered by their positions in the rows of the tick.
    """
    rows = evaluated.inputs.rows
    topics = unique_pairs(Dimension.TOPIC, rows.topics, rows.group, rows.topic, faults.since, faults.worked)
    led_by = leaders.of(evaluated.inputs.end_row)
    leading = _brokers(Dimension.LEADER, [rows.group, rows.group], led_by, [faults.since] * 2, [faults.worked] * 2)
    groups = np.arange(len(rows.groups))
    since, worked = _of_groups(rows.group, faults, len(groups))
    return (
        topics,
        leading,
        *_of_offsets_topic(
            evaluated.inputs.offsets_partition, (groups, since, worked), evaluated.derived.facts.ends, leaders
        ),
        _host_values(evaluated, faults, (groups, since, worked), hosts),
    )


def followers(rows: InputRows, faults: RowFaults, replicas: Replicas) -> SharedValues:
    """Return the brokers that follow the partitions of the groups."""
    at, broker = replicas.followers(rows.topics, rows.topic, rows.partition)
    return _brokers(Dimension.FOLLOWER, [rows.group[at]], [broker], [faults.since[at]], [faults.worked[at]])


def _of_groups(owner: Ints, faults: RowFaults, groups: int) -> tuple[Ints, Ints]:
    """Return the first fault of each group and its last commit; of a group with a fault the commit is -1."""
    first = np.full(groups, _NEVER, np.int64)
    np.minimum.at(first, owner, np.where(faults.since >= 0, faults.since, _NEVER))
    is_unhealthy = first < _NEVER
    return np.where(is_unhealthy, first, -1), np.where(is_unhealthy, -1, max_by_owner(faults.worked, owner, groups, -1))


def _brokers(
    dimension: Dimension, group: Sequence[Ints], broker: Sequence[Ints], since: Sequence[Ints], worked: Sequence[Ints]
) -> SharedValues:
    """Return the pairs of groups and brokers; values are positions among all brokers."""
    brokers = np.concatenate(broker)
    ids, position = np.unique(brokers, return_inverse=True)
    value = np.where(brokers >= 0, position, NOT_KNOWN)
    names = [str(broker_id) for broker_id in ids.tolist()]
    return unique_pairs(dimension, names, np.concatenate(group), value, np.concatenate(since), np.concatenate(worked))


def _of_offsets_topic(
    partition: Ints, of_groups: tuple[Ints, Ints, Ints], ends: EndsIndex, leaders: RecentLeaders
) -> tuple[SharedValues, ...]:
    """Return the offsets partitions of the groups, and the brokers that lead or led them: the coordinators."""
    if not len(partition):
        return ()
    groups, since, worked = of_groups
    names = [str(number) for number in range(int(partition.max()) + 1)]
    stored = unique_pairs(Dimension.OFFSETS_PARTITION, names, groups, partition, since, worked)
    rows = ends.rows([NAME], np.zeros(len(groups), np.int64), partition)
    led_by = leaders.of(rows)
    return stored, _brokers(Dimension.COORDINATOR, [groups] * 2, led_by, [since] * 2, [worked] * 2)


def _host_values(
    evaluated: EvaluatedTick, faults: RowFaults, of_groups: tuple[Ints, Ints, Ints], hosts: RecentHosts
) -> SharedValues:
    """Return the hosts of the groups' members; for an unhealthy group, of the owners of its unhealthy partitions.

    If these partitions have no owners, all hosts of the group count.
    """
    groups, since, worked = of_groups
    window_inputs = evaluated.evaluation.window.inputs
    owned_hosts: dict[int, set[str]] = {}
    if window_inputs.owner is not None:
        clients = window_inputs.clients
        for row in np.flatnonzero((faults.since >= 0) & (window_inputs.owner >= 0)).tolist():
            host = clients[int(window_inputs.owner[row])].client_host.removeprefix("/")
            owned_hosts.setdefault(int(window_inputs.group[row]), set()).add(host)
    names: dict[str, int] = {}
    pairs = [
        (number, names.setdefault(host, len(names)))
        for number, name in enumerate(evaluated.inputs.rows.groups)
        for host in sorted(owned_hosts.get(number) or hosts.of(name))
    ]
    group, value = np.array(pairs, np.int64).reshape(-1, 2).T
    return unique_pairs(Dimension.CLIENT_HOST, list(names), groups[group], value, since[group], worked[group])
