"""The view of the overview page: filters, order and first row, parsed from a query and written as a URL."""

import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Final, Self

from exporters.group_query import UNKNOWN, GroupQuery, SortKey, SortOrder

WORDS: Final = ("severity", "verdict", "state")
"""The columns that are filtered by one word."""
MEMBER_TEXTS: Final = ("client", "host")
"""The filters by members, which may be hidden."""
TEXTS: Final = ("topic", *MEMBER_TEXTS, "owner")
"""The filters by an exact text."""
UNKNOWN_VALUE: Final = UNKNOWN
"""The value of a query parameter that matches null."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFilter:
    """The filters of the groups, their order, and the first row to show. Empty strings match all."""

    filter: str = ""
    topic: str = ""
    client: str = ""
    host: str = ""
    owner: str = ""
    severity: str = ""
    verdict: str = ""
    state: str = ""
    sort: SortKey = SortKey.WORST
    order: SortOrder | None = None
    start: int = 0

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Return the filter of a query. Invalid and unknown parameters are ignored; `team` is read as `owner`."""
        start, sort, order = query.get("start", ""), query.get("sort", ""), query.get("order", "")
        texts = {name: query.get(name, "") for name in ("filter", *TEXTS, *WORDS)}
        return cls(
            **texts | {"owner": texts["owner"] or query.get("team", "")},
            sort=SortKey(sort) if sort in set(SortKey) else SortKey.WORST,
            order=SortOrder(order) if order in set(SortOrder) else None,
            start=int(start) if start.isdecimal() and start.isascii() and len(start) < 10 else 0,
        )

    def __bool__(self) -> bool:
        """Return whether the filter excludes any group; order and `start` do not count."""
        return bool(self.conditions())

    def conditions(self) -> list[tuple[str, str]]:
        """Return the names and values of the filters that are set."""
        return [(name, value) for name in ("filter", *TEXTS, *WORDS) if (value := getattr(self, name))]

    def url_with(self, **changes: str | int | None) -> str:
        """Return the relative URL of this view with changes. `start` is reset unless it is one of them."""
        changed = dataclasses.replace(self, **{"start": 0, **changes})  # type: ignore[arg-type] # names of fields
        return f"./?{urllib.parse.urlencode(parameters)}" if (parameters := changed.parameters()) else "./"

    def sorted_url(self, key: SortKey) -> str:
        """Return the URL of this view sorted by a key; if it is sorted by it already, in the other direction."""
        order = None
        if self.sort is key:
            reverse = SortOrder.ASCENDING if self.query().descending else SortOrder.DESCENDING
            usual = SortOrder.DESCENDING if GroupQuery(sort=key).descending else SortOrder.ASCENDING
            order = None if reverse is usual else reverse
        return self.url_with(sort=key, order=order)

    def parameters(self) -> dict[str, str]:
        """Return the parameters of the URL, without those that have their default."""
        return {
            field.name: str(value)
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != field.default
        }

    def query(self) -> GroupQuery:
        """Return the query that selects and sorts the groups. It has no page: dead groups are shown separately."""
        return GroupQuery(
            filter=self.filter or None,
            topic=self.topic or None,
            client=self.client or None,
            host=self.host or None,
            owner=self.owner or None,
            verdict=(self.verdict,) if self.verdict else (),
            severity=(self.severity,) if self.severity else (),
            state=(self.state,) if self.state else (),
            sort=self.sort,
            order=self.order,
        )
