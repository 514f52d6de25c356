"""What the members of each group did between ticks: rebalances, who joined last, instance ids of two clients.

A group history keeps only its newest transitions, and a large group in a rebalance storm exceeds that limit; but the
history also counts every rebalance. The count is therefore recorded at each tick where it rose, and the difference of
two counts is the number of rebalances in between. Pure, and not part of the stored state: after a restart, counting
continues from what the verdict file has, or starts from the counts in the group histories.

The coordinator gives the partitions of an instance id to the client that joined last, under a new member id and without
a rebalance: each of two clients fences the other, again and again (KIP-345). A single client that restarts often also
gets new member ids, but does not change its place. So two clients are known if an instance returns to an earlier client
after another one had it.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from stream.groups.lifecycle.model import GroupHistory, TransitionType
from stream.groups.membership.model import MemberClient, Membership, identity
from stream.groups.short_cache import is_same, keep_last
from stream.health.inputs import FencedInstance

CountsByTime = list[tuple[int, int]]
"""(time in ms, count), oldest first; only times at which the count rose."""

_REBALANCED = str(TransitionType.REBALANCED)


class RebalanceCounter:
    """Counts the rebalances of each group within a time window that ends now."""

    def __init__(self, window: int, stored: Mapping[str, CountsByTime] | None = None) -> None:
        """Count within `window` ms; `stored` is what an earlier process recorded."""
        self._window = window
        self._counts: dict[str, CountsByTime] = {group: list(counts) for group, counts in (stored or {}).items()}
        self._histories: Mapping[str, GroupHistory] = {}
        self._recent: dict[str, int] = {}
        self._due: dict[str, int] = {}
        """When (ms) the number of each of these groups has to be counted again."""

    @property
    def recorded(self) -> dict[str, CountsByTime]:
        """The recorded counts of groups that rebalanced recently, for the next process."""
        return {group: list(self._counts[group]) for group in self._recent}

    def update(self, histories: Mapping[str, GroupHistory], now: int) -> Mapping[str, int]:
        """Record the counts at `now` (ms) and return the rebalances within the window, by group.

        Groups without a new rebalance for longer than the window are left out.
        """
        if not is_same(histories, self._histories):
            for group in self._histories.keys() - histories.keys():
                self._counts.pop(group, None)
                self._recent.pop(group, None)
                self._due.pop(group, None)
            for group, history in histories.items():
                if self._histories.get(group) is not history:
                    self._record(group, history.counts.get(_REBALANCED, 0), now)
            self._histories = histories
        for group in [group for group, due in self._due.items() if due <= now]:
            self._update_recent(group, now)
        return self._recent

    def _record(self, group: str, count: int, now: int) -> None:
        counts = self._counts.setdefault(group, [])
        if counts and (count < counts[-1][1] or now <= counts[-1][0]):
            counts.clear()  # a new group of the same name, or the clock was set back
        if not counts or count > counts[-1][1]:
            counts.append((now, count))
        self._recent[group], self._due[group] = 0, now

    def _update_recent(self, group: str, now: int) -> None:
        """Count from the last record before the window, or from the first record if there is none before."""
        counts = self._counts[group]
        while len(counts) > 1 and counts[1][0] <= now - self._window:
            del counts[0]
        self._recent[group] = counts[-1][1] - counts[0][1]
        self._due[group] = counts[min(1, len(counts) - 1)][0] + self._window
        if len(counts) == 1 and counts[0][0] <= now - self._window:
            del self._recent[group], self._due[group]  # the remaining record is the base for the group's next rebalance


_LEAST_CHANGES: Final = 3
_KEPT_MS: Final = 300_000
_KEPT: Final = 32


class _Seen(NamedTuple):
    time: int
    member_id: str
    place: tuple[str, str]
    """Client id and host."""


_History = collections.deque[_Seen]


class FencedInstances:
    """Remembers the member ids of each instance. Used by the tick thread only."""

    def __init__(self) -> None:
        self._memberships: Mapping[str, Membership] = {}
        # Of groups with instances: the member ids of each.
        self._histories: dict[str, dict[str, _History]] = {}
        self._sources: tuple[object, ...] = ()
        self._often_changed: list[tuple[int, str, _History]] = []

    def update(
        self, groups: Sequence[str], memberships: Mapping[str, Membership], now: int
    ) -> dict[int, FencedInstance]:
        """Return the instance of each group that changed most often lately, by the position of the group in `groups`.

        `now` is in ms. Groups without such an instance have no entry. A membership that is unchanged costs no look at
        its members.
        """
        if not is_same(self._sources, (groups, memberships)):
            self._record(groups, memberships, now)
        found: dict[int, FencedInstance] = {}
        for number, instance, seen in self._often_changed:
            fenced = _fenced(instance, seen, now)
            if fenced is not None and (number not in found or fenced.changes > found[number].changes):
                found[number] = fenced
        return found

    def _record(self, groups: Sequence[str], memberships: Mapping[str, Membership], now: int) -> None:
        previous, self._histories, self._sources = self._histories, {}, (groups, memberships)
        known, self._memberships = self._memberships, memberships
        self._often_changed.clear()
        for number, name in enumerate(groups):
            membership = memberships.get(name)
            if membership is None:
                continue
            histories = previous.get(name, {})
            if known.get(name) is not membership:
                histories = _recorded(histories, membership, now)
            if histories:
                self._histories[name] = histories
                self._often_changed += [(number, *each) for each in histories.items() if len(each[1]) > _LEAST_CHANGES]


def _recorded(histories: Mapping[str, _History], membership: Membership, now: int) -> dict[str, _History]:
    """Return the histories with the present member ids, without instances that have been gone for long."""
    kept = {instance: seen for instance, seen in histories.items() if now - seen[-1].time <= _KEPT_MS}
    for client in membership.clients:
        if client.instance_id:
            seen = histories.get(client.instance_id) or collections.deque(maxlen=_KEPT)
            kept[client.instance_id] = seen
            if not seen or seen[-1].member_id != client.member_id:
                seen.append(_Seen(now, client.member_id, (client.client_id, client.client_host)))
    return kept


def _fenced(instance: str, seen: _History, now: int) -> FencedInstance | None:
    recent = [each for each in list(seen)[1:] if now - each.time <= _KEPT_MS]
    places = [each.place for each in list(seen)[-len(recent) - 1 :]]
    returns = any(
        places[at] != places[at + 1] and places[at] in places[at + 2 :] for at in range(max(len(places) - 1, 0))
    )
    if len(recent) < _LEAST_CHANGES or not returns:
        return None
    return FencedInstance(instance, len(recent), recent[0].time)


class JoinedMembers:
    """Remembers the members of each group and who of them joined last. Used by the tick thread only.

    At the first tick with a group no member is known to have joined it. Of several rebalances between two ticks the
    members that joined with any of them are returned: compare their number with `GroupInputs.joined`.
    """

    def __init__(self) -> None:
        self._memberships: Mapping[str, Membership] = {}
        self._joined: dict[str, tuple[MemberClient, ...]] = {}

    @keep_last
    def update(
        self, groups: Sequence[str], memberships: Mapping[str, Membership]
    ) -> dict[int, tuple[MemberClient, ...]]:
        """Return the members that joined last, by the position of their group in `groups`; none: no entry."""
        known, previous = self._memberships, self._joined
        self._memberships, self._joined = memberships, {}
        joined = {}
        for number, name in enumerate(groups):
            membership, before = memberships.get(name), known.get(name)
            if membership is None or before is None:
                continue
            last = previous.get(name, ())
            if before is not membership:
                last = _joined(before, last, membership)
            if last:
                self._joined[name] = joined[number] = last
        return joined


def _joined(before: Membership, joined: tuple[MemberClient, ...], membership: Membership) -> tuple[MemberClient, ...]:
    """Return who has joined since the last membership; the same as before while the group is the same."""
    names = before.member_names
    if names == membership.member_names and before.generation == membership.generation:
        return joined
    return tuple(each for each in membership.clients if identity(each.member_id, each.instance_id) not in names)
