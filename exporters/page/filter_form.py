"""The form that filters the groups of the overview page, and the links that select them by one word.

One input is shown; all else is folded, unless the filter uses it.
"""

from typing import Final

import pyarrow as pa

from exporters.page.blocks import state_class
from exporters.page.group_filter import MEMBER_TEXTS, TEXTS, UNKNOWN_VALUE, GroupFilter
from exporters.page.html_tree import Content, Element, el
from exporters.wording import number, phrase

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
    value = UNKNOWN_VALUE if word is None else word
    current = bool(value) and getattr(group_filter, column) == value
    url = group_filter.url_with(**{column: "" if current else value})
    words: Content = [el("b", number(groups)), " ", phrase(value)]
    link = el("a", words, href=url, aria_current="true" if current else None)
    return el("li", link, class_=f"{class_}{'' if groups else ' none'}", data_key=f"{column} {value}")
