"""Applies a query (`exporters.group_query`) to the groups of a snapshot, for API and command line."""

import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.group_query import UNKNOWN, GroupQuery, SortKey
from exporters.readmodel import GroupDetail, MemberDetail, Snapshot
from exporters.wording import DEAD, SEVERITIES

MemberSearch = Callable[[str | None, str | None], Collection[str]]
"""Returns the groups with a member of this client id and on this host; None: any."""

_WORDS: Final = ("verdict", "severity", "state", "kind")
_NUMBERS: Final = {
    SortKey.LAG: "lag_sum",
    SortKey.TIME_LAG: "time_lag_max",
    SortKey.MEMBERS: "members",
    SortKey.LAST_COMMIT: "last_commit_time",
}
"""The column of each order by one number."""


class MembersHiddenError(Exception):
    """The query filters by client or host, but members are hidden, or not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedGroups:
    """A page of the groups that match."""

    groups: pa.Table
    """Rows of GROUPS."""
    total: int
    """The number of groups that match, on all pages."""
    next: int | None
    """The `start` of the next page; None on the last one."""


def select_groups(snapshot: Snapshot, query: GroupQuery, search: MemberSearch | None = None) -> SelectedGroups:
    """Return the groups that match. Raises MembersHiddenError if `search` is needed and None.

    Takes time proportional to the number of groups, and of rows in TOPICS for a filter by topic.
    """
    groups = _matching(snapshot, query, search)
    total = len(groups)
    groups = groups.take(_order(groups, query))
    end = total if query.limit is None else query.start + query.limit
    return SelectedGroups(groups.slice(query.start, max(end - query.start, 0)), total, end if end < total else None)


def rows_where(table: pa.Table, **values: str) -> pa.Table:
    """Return the rows that have these values in columns of text."""
    for name, value in values.items():
        table = table.filter(pc.equal(table.column(name), pa.scalar(value)))
    return table


def _matching(snapshot: Snapshot, query: GroupQuery, search: MemberSearch | None) -> pa.Table:
    groups = snapshot.groups
    if query.filter:
        groups = groups.filter(pc.match_substring(_text(groups, "group"), query.filter, ignore_case=True))
    if query.topic is not None:
        groups = _named(groups, rows_where(snapshot.topics, topic=query.topic).column("group"))
    if query.reads_members:
        if search is None:
            raise MembersHiddenError
        groups = _named(groups, pa.array(list(search(query.client, query.host)), pa.string()))
    if query.owner is not None:
        groups = groups.filter(_is_one_of(groups, "team", (query.owner,)))
    for column in _WORDS:
        if words := getattr(query, column):
            groups = groups.filter(_is_one_of(groups, column, words))
    return groups


def _named(groups: pa.Table, names: pa.Array | pa.ChunkedArray) -> pa.Table:
    return groups.filter(pc.is_in(_text(groups, "group"), value_set=pc.unique(names.cast(pa.string()))))


def _is_one_of(groups: pa.Table, column: str, words: tuple[str, ...]) -> pa.ChunkedArray:
    """Return a mask; the word `unknown` also matches null."""
    values = _text(groups, column)
    same = pc.is_in(values, value_set=pa.array(words, pa.string()))
    return pc.or_(same, pc.is_null(values)) if UNKNOWN in words else same


def _order(groups: pa.Table, query: GroupQuery) -> pa.Array:
    way = "descending" if query.descending else "ascending"
    name = _text(groups, "group")
    if query.sort is SortKey.NAME:
        return pc.sort_indices(pa.table({"name": name}), [("name", way)])
    if query.sort is SortKey.WORST:
        severity = _text(groups, "severity")
        ranks = pa.table(
            {
                "dead": pc.equal(_text(groups, "state"), DEAD).fill_null(False),
                "severity": pc.index_in(severity, value_set=pa.array(SEVERITIES)).fill_null(SEVERITIES.index(UNKNOWN)),
                "time_lag": groups.column("time_lag_max"),
                "lag": groups.column("lag_sum"),
                "name": name,
            }
        )
        keys = [("dead", "ascending"), *((column, way) for column in ("severity", "time_lag", "lag"))]
        return pc.sort_indices(ranks, [*keys, ("name", "ascending")])
    table = pa.table({"value": groups.column(_NUMBERS[query.sort]), "name": name})
    return pc.sort_indices(table, [("value", way), ("name", "ascending")])


def _text(groups: pa.Table, column: str) -> pa.ChunkedArray:
    return groups.column(column).cast(pa.string())


_DIGITS: Final = 12
"""48 bits: of a million groups of 10,000 members, not one is expected to have two members of the same name."""


def hidden_members(details: Callable[[str], GroupDetail | None]) -> Callable[[str], GroupDetail | None]:
    """Return a function with the details of groups that has generated names instead of ids, clients, hosts and racks.

    A member keeps its name until the process ends, which distinguishes members that come and go. The name is a
    keyed hash: knowing a candidate for an id does not help to find its name.
    """
    key = secrets.token_bytes(32)

    def name(kind: str, value: str) -> str:
        digest = hmac.digest(key, f"{kind}:{value}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"{kind}-{digest.hex()[:_DIGITS]}"

    def hidden(member: MemberDetail) -> MemberDetail:
        return dataclasses.replace(
            member,
            member_id=name("member", member.member_id),
            instance_id=None if member.instance_id is None else name("static", member.instance_id),
            client_id=None,
            client_host=None,
            rack=None,
        )

    def hidden_detail(group: str) -> GroupDetail | None:
        detail = details(group)
        return None if detail is None else dataclasses.replace(detail, members=tuple(map(hidden, detail.members)))

    return hidden_detail
