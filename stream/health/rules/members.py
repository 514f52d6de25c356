"""Texts about the members behind a finding: who owns the partitions, and the last rebalance before they stopped.

Their names are unbounded: of labels, only the one of an unhealthy group's finding names a member.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stream import wording as say
from stream.groups.membership.model import MemberClient
from stream.health.columns import Flags, Ints
from stream.health.features.window import Window

_NAMED: Final = 3
"""Members, topics and subscriptions that a sentence lists."""
_SOON: Final = 300_000
"""Progress that ends this long (ms) after a rebalance, or earlier, ended with it: clients begin within minutes."""


def owner_of(window: Window, row: int) -> MemberClient | None:
    """Return the member that owns the partition of a row; None if none does, or it is not known."""
    owner, clients = window.inputs.owner, window.inputs.clients
    number = -1 if owner is None else int(owner[row])
    return clients[number] if 0 <= number < len(clients) else None


def client_text(window: Window, client: MemberClient) -> str:
    """Return a member as in "client orders-1 on 10.0.0.7"; hosts without the slash that Java puts before them.

    With `hide_members` it is "one member".
    """
    if window.limits.hide_members:
        return "one member"
    instance = f" (instance {client.instance_id})" if client.instance_id else ""
    return f"client {client.client_id}{instance} on {client.client_host.removeprefix('/')}"


def sends_heartbeats(window: Window, row: int) -> bool:
    """Return whether the owner of a row has certainly sent a heartbeat since the last commit on any of its partitions.

    The coordinator removes a member whose session ends; one that is still there after that time is alive. A commit that
    was aborted counts, too: the member works.
    """
    client = owner_of(window, row)
    if client is None or client.session_timeout is None:
        return False
    group = _group_rows(window, row)
    silence = window.known_until[group] - window.commit_time[group]
    since_settled = int(window.settled_time[row]) - (window.now - int(window.known_until[row]))
    owned = _owned_with(window, row)
    since_aborts = [
        int(window.known_until[at]) - streak.last_time
        for at, streak in window.inputs.aborts.items()
        if group.start <= at < group.stop and owned[at - group.start]
    ]
    shortest = min([int(silence[owned].min()), since_settled, *since_aborts])
    return shortest > client.session_timeout + window.limits.tick


def members_text(window: Window, row: int, rows: Ints) -> tuple[str, str]:
    """Return sentences about the members behind a finding, each with a leading space; "" if nothing is known.

    The first ones are about what members do, the others name the owner and the last rebalance. `rows` are those of the
    finding, `row` one of them; all are of one group. An owner is named only if it owns all.
    """
    owner, idles = _owner_text(window, row, rows)
    idle = " Its owner still sends heartbeats: it is alive, and does not work." if idles else ""
    return f"{idle}{fenced_text(window, row)}", f"{owner}{_rebalance_text(window, row)}"


def fenced_text(window: Window, row: int) -> str:
    """Return which instance id two clients of the group of a row use, with a leading space; "" if none is known."""
    fenced = window.inputs.fenced.get(int(window.inputs.group[row]))
    if fenced is None:
        return ""
    name = "the same instance id" if window.limits.hide_members else f"instance id {fenced.instance_id}"
    times = say.count(fenced.changes, "time")
    return (
        f" Two clients with {name} fence each other: its member id has changed {times} since"
        f" {say.moment(fenced.since)}."
        " Give each client a group.instance.id of its own."
    )


def subscribers_text(window: Window, row: int) -> str:
    """Return who subscribes to what in a group whose members differ, with a leading space; "" if they do not."""
    parts = [
        f"{say.count(len(each.clients), 'member')}{_named(window, each.clients)} to {_first(each.topics)}"
        for each in window.inputs.subscribers.get(int(window.inputs.group[row]), ())
    ]
    return f" {_first(parts, '; ')}" if parts else ""


def _named(window: Window, clients: Sequence[MemberClient]) -> str:
    """Return the first members in parentheses; "" if members are hidden."""
    if window.limits.hide_members:
        return ""
    return f" ({_first([client_text(window, client) for client in clients])})"


def _first(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first names, and how many there are beside them."""
    others = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return separator.join([*names[:_NAMED], *others])


def _owner_text(window: Window, row: int, rows: Ints) -> tuple[str, bool]:
    """Return the owner of all rows, "" if it is not known, and whether it certainly lives but makes no progress."""
    client = owner_of(window, row)
    owned = _owned_with(window, row)
    if client is None or not owned[rows - _group_rows(window, row).start].all():
        return "", False
    others = int(owned.sum()) - len(rows)
    them = "it" if len(rows) == 1 else "all of them"
    also = f"; {say.count(others, 'other partition')} of that member {'is' if others == 1 else 'are'} not affected"
    text = f" Owner of {them}: {client_text(window, client)}{also if others else ', which owns no other partition'}."
    return text, not others and sends_heartbeats(window, row)


def _rebalance_text(window: Window, row: int) -> str:
    groups, group = window.inputs.groups, int(window.inputs.group[row])
    since, stood = int(groups.since[group]), int(window.progress_time[row])
    latest_before = max(int(window.patience[row]), window.limits.restart_grace)
    if since < 0 or stood < 0 or not -latest_before <= stood - since <= _SOON:
        return ""
    generation = int(groups.generation[group])
    name = f"generation {generation:,}" if generation >= 0 else "the last rebalance"
    details = [say.moment(since)]
    if groups.joined[group] > 0:
        details.append(f"{_joined_text(window, group)} joined")
    if groups.left[group] > 0:
        details.append(f"{say.count(int(groups.left[group]), 'member')} left")
    began = f"{name} ({', '.join(details)})"
    if stood <= since:
        return f" No progress since {began}."
    return f" The last progress was {say.duration(stood - since)} after {began}."


def _joined_text(window: Window, group: int) -> str:
    """Return the members that joined with the last rebalance, or only their number if they are many or not known."""
    names = joined_names(window, group)
    return names or say.count(int(window.inputs.groups.joined[group]), "member")


def joined_names(window: Window, group: int) -> str:
    """Return the members that joined with the last rebalance; "" if they are none, many, hidden or not all known."""
    members = window.inputs.joined.get(group, ())
    if len(members) != window.inputs.groups.joined[group] or len(members) > _NAMED or window.limits.hide_members:
        return ""
    return " and ".join(client_text(window, member) for member in members)


def _group_rows(window: Window, row: int) -> slice:
    group = int(window.inputs.group[row])
    first, last = np.searchsorted(window.inputs.group, (group, group + 1))
    return slice(int(first), int(last))


def _owned_with(window: Window, row: int) -> Flags:
    """Return which rows of the group of a row have the same owner."""
    group, owner = _group_rows(window, row), window.inputs.owner
    if owner is None:
        return np.zeros(group.stop - group.start, np.bool_)
    owned: Flags = owner[group] == owner[row]
    return owned
