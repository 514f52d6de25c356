"""The states of groups that the log does not tell, asked from their coordinators.

A classic group that is rebalancing (PreparingRebalance, CompletingRebalance) writes nothing until it is done. So a few
groups are described, as many as one call allows: which ones is decided by `asking`. Errors are values: a group that
could not be asked says why.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from stream.cluster.coordinators import by_node
from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from stream.cluster.coordinators import Coordinators
    from stream.cluster.transport.client import Cluster

MOST_GROUPS: Final = 1_000
"""How many groups one call asks for; the others come back as not asked."""

# The answer carries the members' subscriptions and assignments, which no version of the request can leave out.
_GROUPS_AT_ONCE: Final = 50
_DEAD: Final = "Dead"
# Brokers up to 1.0 have another word for it; people read the one of today's tools.
_NAMES: Final = {"AwaitingSync": "CompletingRebalance"}
_MOVED: Final = frozenset(
    {ErrorReason.COORDINATOR_CHANGED, ErrorReason.NO_COORDINATOR, ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT}
)


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedGroup:
    """What a coordinator says of a group, or the reason why that is not known; then all else is None.

    `state` is as Kafka's tools print it. NOT_FOUND stands for a group that the coordinator does not know as a classic
    one: it is gone, or of a newer kind.
    """

    group: str
    state: str | None = None
    members: int | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    reason: ErrorReason | None = None


def describe_groups(cluster: Cluster, coordinators: Coordinators, groups: Sequence[str]) -> dict[str, DescribedGroup]:
    """Describe the first MOST_GROUPS of these groups, each known to exist. Raises nothing.

    Ends within some request time-outs: coordinators are looked up, asked all at once, and, where one of them had moved,
    looked up and asked once more.
    """
    wanted = list(dict.fromkeys(groups))
    told = {group: DescribedGroup(group, reason=ErrorReason.NOT_ASKED) for group in wanted[MOST_GROUPS:]}
    told |= _ask(cluster, coordinators, wanted[:MOST_GROUPS])
    stale = [group for group, described in told.items() if described.reason in _MOVED]
    coordinators.forget(stale)
    again = [group for group in stale if told[group].reason == ErrorReason.COORDINATOR_CHANGED]
    return told | _ask(cluster, coordinators, again)


def _ask(cluster: Cluster, coordinators: Coordinators, groups: Collection[str]) -> dict[str, DescribedGroup]:
    found = coordinators.find(groups)
    told = {
        group: DescribedGroup(group, reason=node if isinstance(node, ErrorReason) else ErrorReason.OTHER)
        for group, node in found.items()
    }
    asked = list(by_node(found, _GROUPS_AT_ONCE))
    answers = cluster.call_all([(node, admin_requests.describe_groups(some)) for node, some in asked])
    for (_, some), answer in zip(asked, answers, strict=True):
        if isinstance(answer, ClusterError):
            told |= {group: DescribedGroup(group, reason=reasons.of_failure(answer)) for group in some}
        else:
            told |= {each.group_id: _described(each) for each in answer.groups}
    return told


def _described(answer: Any) -> DescribedGroup:
    group: str = answer.group_id
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return DescribedGroup(group, reason=refused)
    if answer.group_state == _DEAD:  # up to version 5 of the request this is how a broker says that it knows none
        return DescribedGroup(group, reason=ErrorReason.NOT_FOUND)
    return DescribedGroup(
        group=group,
        state=_NAMES.get(answer.group_state, answer.group_state),
        members=len(answer.members),
        protocol_type=answer.protocol_type or None,
        protocol=answer.protocol_data or None,
    )
