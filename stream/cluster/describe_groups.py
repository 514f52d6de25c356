"""The states of groups, described by their coordinators.

A classic group that is rebalancing (PreparingRebalance, CompletingRebalance) writes no record until the rebalance has
completed, so its state is not in the log. One call describes a limited number of groups; `rate_limit` selects them.
Errors are values: a group that could not be described has a reason.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, Final

from stream.cluster.coordinators import Coordinators, by_node
from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

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
    described = {
        group: DescribedGroup(group, reason=node if isinstance(node, ErrorReason) else ErrorReason.OTHER)
        for group, node in found.items()
    }
    batches = list(by_node(found, _GROUPS_AT_ONCE))
    answers = cluster.call_all([(node, admin_requests.describe_groups(some)) for node, some in batches])
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
