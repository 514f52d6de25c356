"""A rule: one pure function over the window, and the texts for a row that it matches, also about its members.

Texts about the members behind a finding: who owns the partitions, and the last rebalance before they stopped.

Their names are unbounded: of labels, only the one of an unhealthy group's finding names a member.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import numpy as np

from stream import wording as say
from stream.groups.membership.model import MemberClient
from stream.health.columns import Codes, Flags, Ints
from stream.health.features.window import Window
from stream.health.verdict import CODE, Verdict

_Window = TypeVar("_Window")
OWNER: Final = ("owner_client", "owner_host", "owner_member", "generation")
"""Evidence about the member that owns the partition, and the last rebalance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(Generic[_Window]):
    """One rule for rows of a window. The first of a list of rules that matches a row decides its verdict."""

    verdict: Verdict
    matches: Callable[[_Window], Flags]
    sentence: Callable[[_Window, int], str]
    """Returns the fault of a row in one sentence with its numbers."""
    next_step: str
    """The action of an operator."""
    evidence: tuple[str, ...] = ()
    """The numbers it uses, by their names in `stream.health.evidence.COLUMNS`."""
    confirm: int = 2
    """Number of ticks in a row with a match before the verdict is shown; 1 where the rule itself has waited."""
    withdraw: int = 2
    """Number of ticks in a row without any fault before the verdict is withdrawn."""
    next_step_of: Callable[[_Window, int], str] | None = None
    """Returns what an operator does about a row, where that depends on the row; None: `next_step`."""
    verb: str | None = None
    """What joins the partition's name to the sentence, as in "orders-1 is stuck at …"; None: a colon."""
    names_members: bool = False
    """Sentences name the member that owns the partitions, and the last rebalance before they stopped."""
    is_reported_beside: bool = False
    """Where it matches a row with another fault, too, both are in the evidence: it does not follow from the other."""
    text: str = ""
    """What the verdict means; "": the first paragraph of the docstring of `matches`."""

    @property
    def meaning(self) -> str:
        """Return what the verdict means."""
        text = self.text or self.matches.__doc__ or ""
        return " ".join(text.strip().split("\n\n", maxsplit=1)[0].split())


def first_matches(rules: Sequence[Rule[_Window]], window: _Window, rows: int) -> tuple[Codes, Ints]:
    """Return the code of the first rule that matches each of `rows` rows, -1 where none does.

    The second column has a bit, by code, for each rule that `is_reported_beside` and matches.
    """
    code, also = np.full(rows, -1, np.int8), np.zeros(rows, np.int64)
    for rule in rules:
        found = rule.matches(window)
        if not found.any():
            continue
        if rule.is_reported_beside:
            also[found] |= 1 << CODE[rule.verdict]
        code[found & (code < 0)] = CODE[rule.verdict]
    return code, also


def about(name: str, verb: str | None, sentence: str) -> str:
    """Return a sentence about a partition that begins with its name, see `Rule.verb`."""
    if verb is None:
        return f"{name}: {sentence}"
    return " ".join(filter(None, (name, verb, f"{sentence[0].lower()}{sentence[1:]}")))


def counted_text(rows: int, of: int) -> str:
    """Return how many partitions of a group have its verdict, with a leading space; "" for the only one."""
    return f" Partitions with this verdict: {rows} of {of}." if of > 1 else ""


def no_rows(window: Window) -> Flags:
    """Return no matches: the result of a rule whose input column is missing."""
    return np.zeros(len(window), np.bool_)


def unread_text(window: Window, row: int) -> str:
    """Return how much is unread and how long it has waited, as in "5 offsets unread, the oldest for 20 s"."""
    age = int(window.time_lag.age[row])
    at_least = "" if window.time_lag.exact[row] else "at least "
    lag = say.count(int(window.lag[row]), "offset")
    return f"{lag} unread" if age < 0 else f"{lag} unread, the oldest for {at_least}{say.duration(age)}"


def position_text(window: Window, row: int) -> str:
    """Return the committed offset and for how long it has not moved, as in "offset 5 for 20 s"."""
    since = window.now - int(window.progress_time[row])
    return f"offset {int(window.committed_offset[row]):,} for {say.duration(since)}"


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
    parts = []
    for each in window.inputs.subscribers.get(int(window.inputs.group[row]), ()):
        named = f" ({_first([client_text(window, client) for client in each.clients])})"
        members = say.count(len(each.clients), "member") + ("" if window.limits.hide_members else named)
        parts.append(f"{members} to {_first(each.topics)}")
    return f" {_first(parts, '; ')}" if parts else ""


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
        details.append(f"{joined_names(window, group) or say.count(int(groups.joined[group]), 'member')} joined")
    if groups.left[group] > 0:
        details.append(f"{say.count(int(groups.left[group]), 'member')} left")
    began = f"{name} ({', '.join(details)})"
    if stood <= since:
        return f" No progress since {began}."
    return f" The last progress was {say.duration(stood - since)} after {began}."


def joined_names(window: Window, group: int) -> str:
    """Return the members that joined with the last rebalance; "" if they are none, many, hidden or not all known."""
    members = window.inputs.joined.get(group, ())
    if len(members) != window.inputs.groups.joined[group] or len(members) > _NAMED or window.limits.hide_members:
        return ""
    return " and ".join(client_text(window, member) for member in members)


def rows_of_topic(window: Window, row: int) -> slice:
    """Return the rows of the group of a row that are of its topic: they follow each other."""
    group, topic = _group_rows(window, row), window.inputs.topic
    same = np.flatnonzero(topic[group] == topic[row])
    return slice(group.start + int(same[0]), group.start + int(same[-1]) + 1)


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
