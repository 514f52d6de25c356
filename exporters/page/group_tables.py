"""The tables of a group's page: members, partitions with their owners, and what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporters.page.words import NONE, ago, expiry, known, moment, named, number, ranges, safe, since

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from exporters.readmodel import GroupDetail, MemberDetail, TransitionDetail

ROWS: Final = 1000
"""How many rows of a table are shown at most; the API has all."""

_PARTITIONS: Final = (
    "Topic", "Partition", "Lag", "Committed", "End", "Last commit", "Last progress", "Expires", "Owner",
)  # fmt: skip
_LEFT: Final = frozenset({"Topic", "Owner"})
Owners = dict[tuple[str, int], str]


def members_section(detail: GroupDetail) -> str:
    """Show who is in the group and what is theirs."""
    if not detail.members:
        return '<section><h2>Members <small>0</small></h2><p class="note">Nobody is in the group.</p></section>\n'
    heads = _heads(("Member", "Client", "Host", "State", "Epoch", "Assigned", "Subscribed to"))
    rows = [_member(member) for member in detail.members[:ROWS]]
    return _section("Members", len(detail.members), heads, rows)


def partitions_section(partitions: pa.Table, detail: GroupDetail | None, now: float) -> str:
    """Show where the group stands in each partition, and who owns it. Moments come as Unix milliseconds."""
    if not len(partitions):
        return '<section><h2>Partitions <small>0</small></h2><p class="note">No offset is kept.</p></section>\n'
    owners = _owners(detail.members) if detail is not None else {}
    heads = _heads(_PARTITIONS, left=_LEFT)
    rows = [_partition(row, owners, now) for row in partitions.slice(0, ROWS).to_pylist()]
    return _section("Partitions", len(partitions), heads, rows)


def history_section(detail: GroupDetail, now: float) -> str:
    """Show what happened, the latest first."""
    if not detail.transitions:
        return '<section><h2>History</h2><p class="note">Nothing has happened as far back as is known.</p></section>\n'
    heads = _heads(("When (UTC)", "", "What", "Story"))
    rows = [_transition(transition, now) for transition in reversed(detail.transitions[-ROWS:])]
    return _section("History", len(detail.transitions), heads, rows)


def _member(member: MemberDetail) -> str:
    static = ""
    if member.instance_id is not None:
        static = f'<br><small title="group.instance.id">static {named(member.instance_id)}</small>'
    rack = f"<br><small>rack {named(member.rack)}</small>" if member.rack else ""
    wanted = [named(topic) for topic in member.subscription]
    if member.regex:
        wanted.append(f"<code>{safe(member.regex)}</code>")
    state = '<span class="warn">away</span>' if member.away else safe(member.state or "") or NONE
    return (
        f'<th scope="row">{named(member.member_id)}{static}</th>'
        f"<td>{named(member.client_id)}</td><td>{named(member.client_host)}{rack}</td><td>{state}</td>"
        f'<td class="number">{NONE if member.epoch is None else number(member.epoch)}</td>'
        f"<td>{_assigned(member.assignment)}</td><td>{', '.join(wanted) or NONE}</td>"
    )


def _assigned(assignment: Iterable[tuple[str, tuple[int, ...]]]) -> str:
    shown = [f"{named(topic)} {ranges(numbers)}" for topic, numbers in assignment]
    return "<br>".join(shown) or '<span class="warn">nothing</span>'


def _owners(members: Iterable[MemberDetail]) -> Owners:
    return {
        (topic, partition): member.client_id or member.member_id
        for member in members
        for topic, partitions in member.assignment
        for partition in partitions
    }


def _partition(row: Mapping[str, Any], owners: Owners, now: float) -> str:
    lag = number(row["lag"]) if row["lag"] is not None else _why(row["lag_unknown_reason"])
    numbers = (
        number(row["partition"]),
        lag,
        known(row["committed_offset"]),
        known(row["high_watermark"]),
        since(row["commit_time"], now),
        since(row["progress_time"], now),
        expiry(row["offset_expiry_time"], now),
    )
    owner = owners.get((row["topic"], row["partition"]))
    return (
        f'<th scope="row">{named(row["topic"])}</th>'
        + "".join(f'<td class="number">{value}</td>' for value in numbers)
        + f"<td>{NONE if owner is None else named(owner)}</td>"
    )


def _why(reason: str | None) -> str:
    return f'<span class="unknown">{safe(reason or "unknown").replace("_", " ")}</span>'


def _transition(transition: TransitionDetail, now: float) -> str:
    replayed = "" if transition.live else ' <small title="Read when the monitor started">replayed</small>'
    cause = f" <b>{safe(transition.cause)}</b>" if transition.cause else ""
    what = safe(transition.transition)
    return (
        f'<td class="time">{moment(transition.time)}</td>'
        f'<td class="time"><small>{ago(transition.time, now)}</small></td>'
        f'<td><span class="happening {what}">{what}</span>{cause}{replayed}</td><td>{safe(transition.text)}</td>'
    )


def _heads(names: Iterable[str], left: frozenset[str] | None = None) -> str:
    return "".join(
        f'<th scope="col">{name}</th>'
        if (name != "Epoch" if left is None else name in left)
        else f'<th scope="col" class="number">{name}</th>'
        for name in names
    )


def _section(title: str, total: int, heads: str, rows: list[str]) -> str:
    note = number(total) if total == len(rows) else f"{number(len(rows))} of {number(total)}"
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return (
        f'<section aria-label="{title}"><h2>{title} <small>{note}</small></h2><div class="wide"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div></section>\n"
    )
