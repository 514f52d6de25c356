"""The states of groups, described by their coordinators: which are asked, and how often.

A group needs a description if its state may not be in the log: a classic group with members, because a rebalance
(PreparingRebalance, CompletingRebalance) writes no record until it has completed, and one with a recent record, because
a first member that is joining has caused no other record yet. `RequestBudget` limits the load on the cluster.

Coordinators are looked up in batches, and cached until a lookup invalidates them. The coordinator of a group leads its
partition of `__consumer_offsets`, but it is not computed from the group id: with several listeners, or after partitions
were added, only the cluster's answer is right. Errors are values: a group that could not be described has a reason.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason, Unsupported
from stream.groups.membership.memberships import Membership
from stream.groups.membership.model import CLASSIC, SIMPLE

RARELY: Final = 10
"""One of so many descriptions is of a group that needs one rarely."""


def describe_candidates(memberships: Mapping[str, Membership], now: int, recent_ms: int) -> list[str]:
    """Return the classic groups that have members, or changed their state within `recent_ms` before `now` (ms).

    And those of which the log has only the record of the first JoinGroup: the coordinator stores a group when its first
    rebalance ends, and never if the record would exceed `max.message.bytes`; the members then rebalance for ever.
    """
    return [
        group
        for group, membership in memberships.items()
        if (membership.kind == SIMPLE and membership.generation == 0)
        or (
            membership.kind == CLASSIC
            and (
                membership.members > 0
                or (membership.state_time is not None and now - membership.state_time < recent_ms)
            )
        )
    ]


def rare_candidates(memberships: Mapping[str, Membership], candidates: Collection[str]) -> list[str]:
    """Return the empty classic groups that are no candidates, of which a few are described in turn.

    Members may have come back whose group record now exceeds `max.message.bytes`: they rebalance for ever, and the last
    record says that the group is empty.
    """
    common = frozenset(candidates)
    return [group for group, each in memberships.items() if each.kind == CLASSIC and group not in common]


class RequestBudget:
    """Selects the groups to describe now: those that have waited longest, within an average rate.

    A token bucket: it gains `per_second` groups up to `most`, which is also the limit of one selection. A group waits
    since it was last selected, or since it was first a candidate; it is not selected again within `again_ms`. So every
    candidate is selected at some time, however many new ones appear.
    """

    def __init__(self, *, per_second: float, most: int, again_ms: int) -> None:
        self._per_second = per_second
        self._most = most
        self._again_ms = again_ms
        self._available = float(most)
        self._last_time: int | None = None
        self._waits_since: dict[str, int] = {}
        self._selected: set[str] = set()
        self._rare = 0
        self._turn = 0

    def choose(self, candidates: Iterable[str], now: int, rare: Sequence[str] = ()) -> list[str]:
        """Return the groups to describe at `now` (ms), and record them as described.

        Of the `rare` ones, which are no candidates, a few are selected in turn. A group that is no longer a candidate
        is removed, so the memory is bounded by the number of candidates.
        """
        # A clock that was set back adds no budget.
        elapsed = 0 if self._last_time is None else max(now - self._last_time, 0)
        self._last_time = now
        self._available = min(self._available + elapsed * self._per_second / 1000, float(self._most))
        few = self._next(rare)
        since = {group: self._waits_since.get(group, now) for group in candidates}
        again = {group for group in self._selected & since.keys() if 0 <= now - since[group] < self._again_ms}
        due = [group for group in since if group not in again]
        due.sort(key=lambda group: (since[group], group in self._selected, group))
        selected = due[: int(self._available)]
        self._available -= len(selected)
        self._waits_since = since | dict.fromkeys(selected, now)
        self._selected = (self._selected & since.keys()).union(selected)
        return selected + few

    def _next(self, rare: Sequence[str]) -> list[str]:
        """Return the next of these groups, as many as RARELY allows."""
        self._rare = min(self._rare + self._most, self._most * RARELY)
        count = min(self._rare // RARELY, int(self._available), len(rare))
        few = [rare[(self._turn + number) % len(rare)] for number in range(count)]
        self._turn += count
        self._rare -= count * RARELY
        self._available -= count
        return few


_KEYS_AT_ONCE: Final = 1_000
# Brokers before 3.0 take one key per request, so the number of lookups is limited.
_SINGLE_KEYS: Final = 200


class Coordinators:
    """The coordinators of one cluster's groups. Caches at most `most` of them."""

    def __init__(self, cluster: Cluster, *, most: int = 200_000) -> None:
        self._cluster = cluster
        self._most = most
        self._node_of: dict[str, int] = {}

    def find(self, keys: Collection[str]) -> dict[str, int | ErrorReason]:
        """Return the node id of each key's coordinator, or the reason why it is unknown. Raises nothing."""
        found: dict[str, int | ErrorReason] = {key: self._node_of[key] for key in keys if key in self._node_of}
        for some in _pieces([key for key in keys if key not in found], _KEYS_AT_ONCE):
            found |= self._look_up(some)
        self._node_of |= {key: node for key, node in found.items() if not isinstance(node, ErrorReason)}
        for key in list(itertools.islice(self._node_of, max(len(self._node_of) - self._most, 0))):
            del self._node_of[key]  # the oldest first
        return found

    def forget(self, keys: Iterable[str]) -> None:
        """Remove these keys from the cache: their coordinator has moved or is unreachable."""
        for key in keys:
            self._node_of.pop(key, None)

    def _look_up(self, keys: list[str]) -> dict[str, int | ErrorReason]:
        try:
            answer = self._cluster.call_any(requests.find_coordinators(keys))
        except Unsupported:
            return self._look_up_one_by_one(keys)
        except ClusterError as error:
            return dict.fromkeys(keys, reasons.of_failure(error))
        answers: dict[str, int | ErrorReason] = dict.fromkeys(keys, ErrorReason.OTHER)
        return answers | {each.key: _node(each) for each in answer.coordinators}

    def _look_up_one_by_one(self, keys: list[str]) -> dict[str, int | ErrorReason]:
        answers: dict[str, int | ErrorReason] = dict.fromkeys(keys, ErrorReason.NOT_ASKED)
        for key in keys[:_SINGLE_KEYS]:
            try:
                answers[key] = _node(self._cluster.call_any(requests.find_coordinator(key)))
            except ClusterError as error:
                answers[key] = reasons.of_failure(error)
                break  # the other lookups would probably fail too, each after the same wait
        return answers


def _node(answer: Any) -> int | ErrorReason:
    return reasons.of_code(answer.error_code) or answer.node_id


def _pieces(keys: list[str], most: int) -> Iterator[list[str]]:
    return (keys[start : start + most] for start in range(0, len(keys), most))


MOST_GROUPS: Final = 1_000
"""The number of groups that one call describes; the others are returned with NOT_ASKED."""

# The answer carries the members' subscriptions and assignments, which no version of the request can leave out.
_GROUPS_AT_ONCE: Final = 50
_DEAD: Final = "Dead"
# Brokers up to 1.0 use another name; the one of current Kafka tools is shown.
_NAMES: Final = {"AwaitingSync": "CompletingRebalance"}
_MOVED: Final = frozenset(
    {ErrorReason.COORDINATOR_CHANGED, ErrorReason.NO_COORDINATOR, ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT}
)


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedGroup:
    """The state of a group as its coordinator describes it, or the reason why it is unknown; all else is then None.

    `state` is as Kafka's tools print it. NOT_FOUND: the coordinator knows no classic group of that id; the group was
    deleted, or has a newer type.
    """

    group: str
    state: str | None = None
    members: int | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    reason: ErrorReason | None = None


def describe_groups(cluster: Cluster, coordinators: Coordinators, groups: Sequence[str]) -> dict[str, DescribedGroup]:
    """Describe the first MOST_GROUPS of these groups, each known to exist. Raises nothing.

    Takes at most a few request time-outs: coordinators are looked up, all called at once, and, if one of them has
    moved, looked up and called once more.
    """
    wanted = list(dict.fromkeys(groups))
    described = {group: DescribedGroup(group, reason=ErrorReason.NOT_ASKED) for group in wanted[MOST_GROUPS:]}
    described |= _describe(cluster, coordinators, wanted[:MOST_GROUPS])
    stale = [group for group, each in described.items() if each.reason in _MOVED]
    coordinators.forget(stale)
    again = [group for group in stale if described[group].reason == ErrorReason.COORDINATOR_CHANGED]
    return described | _describe(cluster, coordinators, again)


def _describe(cluster: Cluster, coordinators: Coordinators, groups: Collection[str]) -> dict[str, DescribedGroup]:
    found = coordinators.find(groups)
    described: dict[str, DescribedGroup] = {}
    of_node: dict[int, list[str]] = {}
    for group, node in found.items():
        described[group] = DescribedGroup(group, reason=node if isinstance(node, ErrorReason) else ErrorReason.OTHER)
        if not isinstance(node, ErrorReason):
            of_node.setdefault(node, []).append(group)
    batches = [(node, some) for node, keys in of_node.items() for some in _pieces(keys, _GROUPS_AT_ONCE)]
    answers = cluster.call_all([(node, requests.describe_groups(some)) for node, some in batches])
    for (_, some), answer in zip(batches, answers, strict=True):
        if isinstance(answer, ClusterError):
            described |= {group: DescribedGroup(group, reason=reasons.of_failure(answer)) for group in some}
        else:
            described |= {each.group_id: _described(each) for each in answer.groups}
    return described


def _described(answer: Any) -> DescribedGroup:
    group: str = answer.group_id
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return DescribedGroup(group, reason=refused)
    if answer.group_state == _DEAD:  # up to version 5 of the request, a broker describes an unknown group as Dead
        return DescribedGroup(group, reason=ErrorReason.NOT_FOUND)
    return DescribedGroup(
        group=group,
        state=_NAMES.get(answer.group_state, answer.group_state),
        members=len(answer.members),
        protocol_type=answer.protocol_type or None,
        protocol=answer.protocol_data or None,
    )
