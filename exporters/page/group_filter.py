"""The view of the overview page: filters, order and first row, from a query, as a URL, and as a form.

One input of the form is shown; all else is folded, unless the filter uses it.
"""

import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Final, Self

import pyarrow as pa

from exporters.group_query import UNKNOWN, GroupQuery, SortKey, SortOrder
from exporters.page.html_tree import Content, Element, el
from exporters.page.ui import state_class
from exporters.wording import number, phrase

WORDS: Final = ("severity", "verdict", "state")
"""The columns that are filtered by one word."""
MEMBER_TEXTS: Final = ("client", "host")
"""The filters by members, which may be hidden."""
TEXTS: Final = ("topic", *MEMBER_TEXTS, "owner")
"""The filters by an exact text."""


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
        given = {name: (value,) if name in WORDS else value for name, value in self.conditions()}
        return GroupQuery(**given, sort=self.sort, order=self.order)  # type: ignore[arg-type] # each of its type


_LABELS: Final = {"topic": "Topic", "client": "Client id", "host": "Host", "owner": "Owner"}


def filter_section(groups: pa.Table, group_filter: GroupFilter, verdicts: Content, *, with_members: bool) -> Element:
    """Return the input for a part of the name; folded: inputs for exact texts, and the links by verdict and state.

    Without `with_members` there are no inputs for client and host.
    """
    texts = [name for name in TEXTS if with_members or name not in MEMBER_TEXTS]
    kept = {name: value for name, value in group_filter.parameters().items() if name not in {"filter", "start", *texts}}
    hidden = [el("input", type="hidden", name=name, value=value) for name, value in kept.items()]
    states = [
        chip(group_filter, "state", word, amount, f"state-chip {'quiet' if word is None else state_class(word)}")
        for word, amount in counts(groups, "state").items()
    ]
    uses_folded = any(name not in {"filter", "severity"} for name, _ in group_filter.conditions())
    folded = el(
        "details",
        el("summary", "More filters"),
        el("p", [_field(name, _LABELS[name], getattr(group_filter, name), "") for name in texts], class_="fields"),
        el("ul", verdicts, class_="chips", aria_label="Groups by verdict") if verdicts else None,
        el("ul", states, class_="chips", aria_label="Groups by state"),
        open=uses_folded,
        data_key="more filters",
    )
    return el(
        "section",
        el(
            "form",
            _field("filter", "Search", group_filter.filter, "part of the name"),
            el("button", "Show"),
            el("a", "show all", href="./", class_="all") if group_filter else None,
            hidden,
            folded,
            action="./",
            role="search",
        ),
        class_="choose",
        aria_label="Filter groups",
    )


def _field(name: str, label: str, value: str, placeholder: str) -> Content:
    """Return a labelled input. The script keeps what the user types in it (`data-keep`)."""
    field = el(
        "input",
        type="search",
        name=name,
        id=name,
        value=value,
        placeholder=placeholder or None,
        autocomplete="off",
        spellcheck="false",
        data_keep=True,
    )
    return el("span", el("label", label, for_=name), " ", field, class_="field")


def counts(groups: pa.Table, column: str) -> dict[str | None, int]:
    """Return the number of groups per value of a column, the most frequent first."""
    grouped = groups.group_by(column).aggregate([([], "count_all")])
    pairs = zip(grouped[column].to_pylist(), grouped["count_all"].to_pylist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0] is None, pair[0] or "")))


def chip(group_filter: GroupFilter, column: str, word: str | None, groups: int, class_: str) -> Element:
    """Return a count that links to its groups, or, if the filter already selects them, to all groups."""
    value = UNKNOWN if word is None else word
    current = bool(value) and getattr(group_filter, column) == value
    url = group_filter.url_with(**{column: "" if current else value})
    words: Content = [el("b", number(groups)), " ", phrase(value)]
    link = el("a", words, href=url, aria_current="true" if current else None)
    return el("li", link, class_=f"{class_}{'' if groups else ' none'}", data_key=f"{column} {value}")
