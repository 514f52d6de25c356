"""The overview page at `/`: summary, common causes, the monitor, groups that need attention, all groups by severity.

The number of rows is limited; the filter, further pages and the API show the rest.
"""

import dataclasses
from typing import Final

import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from exporters.group_query import SortKey
from exporters.group_search import MemberSearch, MembersHiddenError, select_groups
from exporters.page.blocks import WAITING, note, verdict_legend
from exporters.page.document import Page
from exporters.page.filter_form import chip, counts, filter_section
from exporters.page.group_filter import GroupFilter
from exporters.page.html_tree import Content, Element, el
from exporters.page.live_groups import GroupActivity, Trends, group_rates, live_section, page_of
from exporters.page.monitor_card import freshness, is_old, monitor_card
from exporters.page.overview_tables import attention_section, common_causes_section, dead_section, in_milliseconds
from exporters.readmodel import MonitorStatus, Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import ATTENTION, SEVERITIES, count, number, printable

_DEAD: Final = "Dead"
_LINKS: Final = (("metrics", "metrics"), ("api/v1/groups", "groups as JSON"), ("readyz", "readiness"))


def overview_page(
    published: PublishedSnapshot | None,
    status: MonitorStatus,
    now: float,
    group_filter: GroupFilter,
    *,
    search: MemberSearch | None = None,
    trends: Trends = lambda _: {},
    facts: ClusterFacts | None = None,
) -> Page:
    """Return the page as of `now` (Unix seconds).

    `search` finds the groups of a client or a host; None: members are hidden, and the page has no such filters.
    `trends` returns the latest lags of groups. `facts` has the brokers of mixed versions; None: they are not known.
    """
    monitor = monitor_card(published, status, now)
    if published is None:
        return _page("not ready", [el("h1", "No snapshot yet"), monitor, WAITING], status)
    content = [
        _summary(published.snapshot, group_filter, freshness(published, status, now), _mixed_versions(facts)),
        common_causes_section(published.snapshot.common_causes),
        _groups(published.snapshot, now, group_filter, search, trends),
    ]
    # The card of a monitor that is not ready, or behind, comes before the groups; else one line at the top is enough.
    sound = status.ready and not is_old(published.snapshot.taken_at, now)
    legend = verdict_legend(published.snapshot.verdict_groups)
    page = _page(_title(published.snapshot), [content, monitor] if sound else [monitor, content], status, legend)
    return dataclasses.replace(page, alarm="critical" in _attention_counts(published.snapshot))


def _page(headline: str, content: Content, status: MonitorStatus, legend: Content = None) -> Page:
    part = "" if status.instances == 1 else f" · instance {status.part}"
    foot = f"lagwarden {printable(status.version)}{part} · times are ages; hover for UTC"
    links = (*_LINKS, *_siblings(status))
    return Page(f"{headline} · lagwarden", content, links=links, legend=legend, foot=foot)


def _siblings(status: MonitorStatus) -> list[tuple[str, str]]:
    """Return the links to the other instances: this page shows the groups of one."""
    names = [f"{index}/{status.instances}" for index in range(len(status.siblings))]
    others = zip(status.siblings, names, strict=True)
    return [(f"{url}/", f"instance {name}") for url, name in others if name != status.part]


def _groups(
    snapshot: Snapshot, now: float, group_filter: GroupFilter, search: MemberSearch | None, trends: Trends
) -> Content:
    if not len(snapshot.groups):
        return note("No group has committed an offset or has members.")
    form = filter_section(
        snapshot.groups, group_filter, _verdict_chips(snapshot, group_filter), with_members=search is not None
    )
    query = group_filter.query()
    try:
        shown = in_milliseconds(select_groups(snapshot, query, search).groups)
        worst = in_milliseconds(
            select_groups(snapshot, dataclasses.replace(query, sort=SortKey.WORST, order=None), search).groups
        )
    except MembersHiddenError:
        words = "Members are hidden (http.hide_members): groups cannot be filtered by client or host."
        return [form, note(words)]
    dead = pc.equal(shown.column("state"), _DEAD).fill_null(False)
    live = shown.filter(pc.invert(dead))
    page = page_of(live, group_filter.start)
    names = page.rows.column("group").to_pylist()
    activity = GroupActivity(trends(names), group_rates(snapshot.partitions, names))
    return [
        form,
        attention_section(snapshot, worst, now, group_filter),
        live_section(page, now, group_filter, activity),
        dead_section(shown.filter(dead), now),
    ]


def _attention_counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of groups that need attention by severity, the worst first."""
    severities = counts(snapshot.groups, "severity")
    return {severity: severities[severity] for severity in reversed(ATTENTION) if severity in severities}


def _title(snapshot: Snapshot) -> str:
    """Return the summary for the title of the document."""
    worst = _attention_counts(snapshot).items()
    return ", ".join(f"{number(groups)} {severity}" for severity, groups in worst) or "all fine"


def _headline(snapshot: Snapshot) -> str:
    """Return the summary for the heading of the page."""
    if groups := sum(_attention_counts(snapshot).values()):
        return f"{count(groups, 'group')} need{'s' if groups == 1 else ''} attention"
    if snapshot.groups.column("severity").null_count == len(snapshot.groups):
        return "No verdicts yet"
    return "No group needs attention"


def _mixed_versions(facts: ClusterFacts | None) -> list[Element]:
    """Return one line for each set of brokers that supports other requests or features than most, as in an upgrade."""
    sentences = () if facts is None else facts.mixed_versions
    return [note(el("b", "Mixed versions: "), f"{printable(sentence)}.") for sentence in sentences]


def _summary(snapshot: Snapshot, group_filter: GroupFilter, fresh: Content, mixed: list[Element]) -> Element:
    """Return the headline and the number of groups per severity, each a link to these groups."""
    severities = counts(snapshot.groups, "severity")
    worst = max((SEVERITIES.index(word) for word in severities if word in SEVERITIES), default=1)
    of_severity = [
        chip(group_filter, "severity", severity, severities.get(severity, 0), f"severity-chip {severity}")
        for severity in reversed(SEVERITIES)
    ]
    return el(
        "section",
        el("h1", _headline(snapshot)),
        el("p", fresh, el("a", "Search", href="#filter", class_="to-filter"), class_="fresh"),
        mixed,
        el("ul", of_severity, class_="chips big", aria_label="Groups by severity"),
        class_=f"glance {SEVERITIES[worst]}",
        aria_label="Summary",
    )


def _verdict_chips(snapshot: Snapshot, group_filter: GroupFilter) -> list[Element]:
    """Return the number of groups per verdict, the worst first, each a link to these groups."""
    severity_of = {row["verdict"]: row["severity"] for row in snapshot.verdict_groups.to_pylist()}
    verdicts = [pair for pair in counts(snapshot.groups, "verdict").items() if pair[0] is not None]
    verdicts.sort(key=lambda pair: -_rank(severity_of.get(str(pair[0]))))
    return [chip(group_filter, "verdict", verdict, groups, "verdict-chip") for verdict, groups in verdicts]


def _rank(severity: str | None) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else 1
