"""Looks for common causes at each tick: what groups share, what a fault takes away, and the causes that are shown.

When a broker or a host fails, its partitions have no leader any more, and its members are removed: leaders, brokers and
hosts outlive a tick here.
"""

import bisect
import dataclasses
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import COMMON_CAUSES, COVERED_GROUPS, rows_table
from stream.cluster.offsets_topic import NAME
from stream.groups.membership.model import MemberClient, Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import NOT_KNOWN, Ints, max_by_owner
from stream.health.common_cause import search, tracker
from stream.health.common_cause.search import CommonCause, Dimension, RowFaults, SharedValues, unique_pairs
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_KEPT_MS: Final = 900_000
"""Time for which a leader is remembered after another one has taken over, and a host after its member has left."""
_NEVER: Final = np.iinfo(np.int64).max
_ABSENCE_KEPT_MS: Final = 3_600_000
"""An absence is remembered for this long: after its end, or of a broker that was removed for good."""


class RecentLeaders:
    """The leaders of the partitions that were polled, tick after tick."""

    def __init__(self) -> None:
        self._ends: EndsIndex | None = None
        # By row of `_ends`: the last known leader, the one before, and when it was replaced (ms); -1: not known.
        self._last = self._previous = self._replaced_at = np.empty(0, np.int64)

    def update(self, ends: EndsIndex, now: int) -> None:
        """Record the leaders of the partitions polled at `now` (ms)."""
        last, previous, replaced_at = self._aligned(ends)
        led = ends.leader >= 0
        moved = led & (last >= 0) & (last != ends.leader)
        previous, replaced_at = np.where(moved, last, previous), np.where(moved, now, replaced_at)
        previous[(replaced_at >= 0) & (now - replaced_at > _KEPT_MS)] = NOT_KNOWN
        self._ends, self._last = ends, np.where(led, ends.leader, last)
        self._previous, self._replaced_at = previous, replaced_at

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the last known leader of these rows of the ends, and the one before if it led recently; -1: not known.

        A row of -1 has no leader.
        """
        if not len(self._last):
            return rows * 0 - 1, rows * 0 - 1
        return np.where(rows >= 0, self._last[rows], -1), np.where(rows >= 0, self._previous[rows], -1)

    def _aligned(self, ends: EndsIndex) -> tuple[Ints, Ints, Ints]:
        """Return what is remembered for the rows of `ends`; -1 for partitions that are new."""
        columns = (self._last, self._previous, self._replaced_at)
        known = self._ends
        if known is None or not len(known):
            return tuple(np.full(len(ends), NOT_KNOWN, np.int64) for _ in columns)  # type: ignore[return-value]
        if list(known.names) == list(ends.names) and np.array_equal(known.places, ends.places):
            return columns[0].copy(), columns[1].copy(), columns[2].copy()
        row = known.rows(ends.names, ends.places >> 32, ends.partitions(np.arange(len(ends))))
        last, previous, replaced_at = (np.where(row >= 0, column[row], NOT_KNOWN) for column in columns)
        return last, previous, replaced_at


class BrokerWatch:
    """The brokers of the ticks so far. A restart between two ticks is not seen."""

    def __init__(self) -> None:
        self._present: frozenset[int] = frozenset()
        self.absences: dict[int, search.BrokerAbsence] = {}
        """The latest absence of each broker with a recent one."""

    def update(self, brokers: frozenset[int] | None, now: int) -> None:
        """Record the brokers in the metadata read at `now` (ms); None: there was no answer, and nothing is known."""
        if brokers is None:
            return
        self.absences |= {broker: search.BrokerAbsence(now, None) for broker in self._present - brokers}
        for broker, absence in list(self.absences.items()):
            if now - (absence.returned or absence.left) > _ABSENCE_KEPT_MS:
                del self.absences[broker]
            elif broker in brokers and absence.returned is None:
                self.absences[broker] = search.BrokerAbsence(absence.left, now)
        self._present = brokers


class RecentHosts:
    """The hosts of groups, tick after tick. Memberships that have not changed cost nothing."""

    def __init__(self) -> None:
        self._memberships: Mapping[str, Membership] = {}
        # By group: the hosts without a member that had one recently, with when the last one left (ms).
        self._left_at: dict[str, dict[str, int]] = {}
        self._numbered: tuple[Sequence[str], tuple[Mapping[str, int], Ints, Ints]] | None = None

    def update(self, memberships: Mapping[str, Membership], now: int) -> None:
        """Record the memberships of all groups at `now` (ms)."""
        known, left_at, self._memberships = self._memberships, self._left_at, memberships
        if memberships is not known:
            for group in known.keys() - memberships.keys():
                left_at.pop(group, None)
                self._numbered = None
            for group, membership in memberships.items():
                if known.get(group) is not membership:
                    before, present = _hosts(known.get(group)), _hosts(membership)
                    left = dict.fromkeys(before - present, now) | left_at.get(group, {})
                    left_at[group] = {host: time for host, time in left.items() if host not in present}
                    if not present <= before:
                        self._numbered = None
        for group, left in list(left_at.items()):
            recent = {host: time for host, time in left.items() if now - time <= _KEPT_MS}
            if recent.keys() != left.keys():
                left_at[group], self._numbered = recent, None
            if not recent:
                del left_at[group]

    def of(self, group: str) -> AbstractSet[str]:
        """Return the hosts of a group's members, including those that left recently."""
        return _hosts(self._memberships.get(group)) | self._left_at.get(group, {}).keys()

    def of_groups(self, groups: Sequence[str]) -> tuple[Mapping[str, int], Ints, Ints]:
        """Return the number of each host, and the pairs of the position of a group and the number of one of its hosts.

        They are the same objects until the hosts or the groups change.
        """
        if self._numbered is None or self._numbered[0] is not groups:
            number: dict[str, int] = {}
            hosts = [sorted(self.of(name)) for name in groups]
            host = np.array([number.setdefault(each, len(number)) for found in hosts for each in found], np.int64)
            group = np.repeat(np.arange(len(groups)), [len(found) for found in hosts])
            self._numbered = groups, (number, group, host)
        return self._numbered[1]


def _hosts(membership: Membership | None) -> AbstractSet[str]:
    clients = () if membership is None else membership.clients
    return {client.client_host.removeprefix("/") for client in clients}


def shared_values(
    evaluated: EvaluatedTick, faults: RowFaults, leaders: RecentLeaders, hosts: RecentHosts
) -> tuple[SharedValues, ...]:
    """Return the values of all dimensions but `FOLLOWER`.

    Groups are numbered by their positions in the rows of the tick.
    """
    inputs, rows = evaluated.inputs, evaluated.inputs.rows
    topics = unique_pairs(Dimension.TOPIC, rows.topics, rows.group, rows.topic, faults.since, faults.worked)
    leading = _brokers(Dimension.LEADER, rows.group, faults, *leaders.of(inputs.end_row))
    of_groups = _of_groups(rows.group, faults, len(rows.groups))
    hosted = _host_values(evaluated, faults, of_groups, hosts)
    partition = inputs.offsets_partition
    if not len(partition):
        return topics, leading, hosted
    groups, names = np.arange(len(rows.groups)), list(map(str, range(int(partition.max()) + 1)))
    stored = unique_pairs(Dimension.OFFSETS_PARTITION, names, groups, partition, of_groups.since, of_groups.worked)
    led_by = leaders.of(evaluated.derived.facts.ends.rows([NAME], np.zeros(len(groups), np.int64), partition))
    return topics, leading, stored, _brokers(Dimension.COORDINATOR, groups, of_groups, *led_by), hosted


def followers(rows: InputRows, faults: RowFaults, replicas: Replicas) -> SharedValues:
    """Return the brokers that follow the partitions of the groups."""
    at, broker = replicas.followers(rows.topics, rows.topic, rows.partition)
    return _brokers(Dimension.FOLLOWER, rows.group[at], RowFaults(faults.since[at], faults.worked[at]), broker)


def _of_groups(owner: Ints, faults: RowFaults, groups: int) -> RowFaults:
    """Return the first fault of each group and its last commit; of a group with a fault the commit is -1."""
    first = np.full(groups, _NEVER, np.int64)
    np.minimum.at(first, owner, np.where(faults.since >= 0, faults.since, _NEVER))
    is_unhealthy = first < _NEVER
    worked = np.where(is_unhealthy, -1, max_by_owner(faults.worked, owner, groups, -1))
    return RowFaults(np.where(is_unhealthy, first, -1), worked)


def _brokers(dimension: Dimension, group: Ints, faults: RowFaults, *broker: Ints) -> SharedValues:
    """Return the pairs of groups and brokers, one or more brokers per row; values are positions among all brokers."""
    known = [np.flatnonzero(each >= 0) for each in broker]
    rows, brokers = np.concatenate(known), np.concatenate([each[at] for each, at in zip(broker, known, strict=True)])
    ids, value = np.unique(brokers, return_inverse=True)
    return unique_pairs(
        dimension, [*map(str, ids.tolist())], group[rows], value, faults.since[rows], faults.worked[rows]
    )


def _host_values(evaluated: EvaluatedTick, faults: RowFaults, of_groups: RowFaults, hosts: RecentHosts) -> SharedValues:
    """Return the hosts of the groups' members; for an unhealthy group, of the owners of its unhealthy partitions.

    If these partitions have no owners, all hosts of the group count.
    """
    inputs, is_owned = evaluated.evaluation.window.inputs, np.zeros(len(of_groups.since), np.bool_)
    number, groups, host = hosts.of_groups(evaluated.inputs.rows.groups)
    if inputs.owner is not None:
        rows = np.flatnonzero((faults.since >= 0) & (inputs.owner >= 0))
        owned = _host_numbers(inputs.clients, number)[inputs.owner[rows]]
        is_owned[inputs.group[rows]] = True
        others = ~is_owned[groups]
        groups, host = np.append(groups[others], inputs.group[rows]), np.append(host[others], owned)
    since, worked = of_groups.since[groups], of_groups.worked[groups]
    return unique_pairs(Dimension.CLIENT_HOST, list(number), groups, host, since, worked)


@keep_last
def _host_numbers(clients: Sequence[MemberClient], number: Mapping[str, int]) -> Ints:
    return np.array([number[client.client_host.removeprefix("/")] for client in clients], np.int64)


_NEAR_MS: Final = 600_000
"""An absence that began this long before or after the first fault may be its cause."""


class CommonCauseAnalysis:
    """One instance per process; used by the tick thread."""

    def __init__(self) -> None:
        self._leaders, self._brokers, self._hosts = RecentLeaders(), BrokerWatch(), RecentHosts()
        self._tracker = tracker.CommonCauseTracker()

    def update(self, evaluated: EvaluatedTick) -> tuple[CommonCause, ...]:
        """Return the common causes that are shown at a tick.

        With few unhealthy groups, a tick only updates the known leaders and hosts.
        """
        facts, now = evaluated.derived.facts, evaluated.derived.facts.now
        self._leaders.update(facts.ends, now)
        self._brokers.update(facts.cluster.brokers, now)
        self._hosts.update(evaluated.derived.state.memberships, now)
        rows, faults = evaluated.inputs.rows, search.row_faults(evaluated.evaluation)
        unhealthy = np.flatnonzero(np.bincount(rows.group[faults.since >= 0]))
        is_many = len(unhealthy) >= search.LEAST_GROUPS
        causes = self._causes(evaluated, faults, facts.polled.replicas) if is_many else ()
        self._tracker.update(causes, {rows.groups[group] for group in unhealthy.tolist()})
        return tuple(dataclasses.replace(each, absence=self._absence(each)) for each in self._tracker.findings)

    def _causes(
        self, evaluated: EvaluatedTick, faults: RowFaults, replicas: Replicas | None
    ) -> tuple[CommonCause, ...]:
        left = {
            (dimension, str(broker)): absence.left
            for broker, absence in self._brokers.absences.items()
            for dimension in Dimension
            if dimension.is_broker
        }
        shared = shared_values(evaluated, faults, self._leaders, self._hosts)
        if replicas is not None:
            shared = (*shared, followers(evaluated.inputs.rows, faults, replicas))
        return search.find_causes(shared, evaluated.inputs.rows.groups, left)

    def _absence(self, cause: CommonCause) -> search.BrokerAbsence | None:
        """Return the absence of the broker that a cause is about, if it may be the reason."""
        absence = self._brokers.absences.get(int(cause.name)) if cause.dimension.is_broker else None
        return absence if absence is not None and abs(absence.left - cause.began) <= _NEAR_MS else None


def common_causes_table(
    causes: Sequence[CommonCause], evaluated: EvaluatedTick, *, hide_hosts: bool = False
) -> pa.Table:
    """Return the common causes of a tick, the one with most groups first (schema COMMON_CAUSES).

    With `hide_hosts` the sentence names a host by its key only.
    """
    evaluation, all_groups = evaluated.evaluation, evaluated.inputs.rows.groups
    rows = []
    for finding, key in zip(causes, _keys(causes), strict=True):
        groups = sorted(finding.groups)
        positions = (bisect.bisect_left(all_groups, name) for name in groups)
        verdicts = [str(evaluation.verdict_names[evaluation.group_verdict[at]]) for at in positions]
        named = dataclasses.replace(finding, name=key) if hide_hosts else finding
        sentence = tracker.sentence(named, verdicts, evaluated.derived.facts.now)
        counts = len(groups), None, finding.affected, finding.compared  # `with_policies` counts the muted ones
        rows.append((finding.dimension, key, *counts, finding.began, sentence, tracker.next_step(finding), groups))
    return rows_table(rows, COMMON_CAUSES)


def covered_groups_table(causes: Sequence[CommonCause]) -> pa.Table:
    """Return the unhealthy groups of all common causes, sorted by name (schema COVERED_GROUPS)."""
    found = zip(causes, _keys(causes), strict=True)
    rows = sorted((name, str(each.dimension), key) for each, key in found for name in each.groups)
    return rows_table(rows, COVERED_GROUPS)


def _keys(causes: Sequence[CommonCause]) -> list[str]:
    """Return the value of each common cause as a label.

    Hosts are no labels: a cause that is a host has its number among these, the oldest first.
    """
    hosts = [each for each in causes if each.dimension is Dimension.CLIENT_HOST]
    numbers = {id(each): str(number) for number, each in enumerate(sorted(hosts, key=lambda e: (e.began, e.name)), 1)}
    return [numbers.get(id(each), each.name) for each in causes]
