"""The overview page at `/`: summary, common causes, the monitor, groups that need attention, all groups by severity.

The number of rows is limited; the filter, further pages and the API show the rest.
"""

import dataclasses
import math
from typing import Final

import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from exporters.group_query import SortKey
from exporters.group_search import MemberSearch, MembersHiddenError, select_groups
from exporters.page import ui
from exporters.page.document import Page
from exporters.page.group_filter import GroupFilter, chip, counts, filter_section
from exporters.page.html_tree import Content, Element, el
from exporters.page.live_groups import Trends, live_section
from exporters.page.overview_tables import attention_section, common_causes_section, dead_section, in_milliseconds
from exporters.readmodel import MonitorStatus, Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import ATTENTION, DEAD, SEVERITIES, ago, count, duration, number, printable

OLD_SECONDS: Final = 60.0
"""Age from which a snapshot is out of date: several ticks have been missed."""


def monitor_card(published: PublishedSnapshot | None, status: MonitorStatus, now: float) -> Element:
    """Return the card: readiness with its reasons, progress of the catch-up, and facts about the monitor."""
    old = published is not None and now - published.snapshot.taken_at > OLD_SECONDS
    verdict = "Not ready" if not status.ready else "Ready, but behind" if old else "Ready"
    reasons = [printable(reason) for reason in status.not_ready_reasons]
    if old and published is not None and not reasons:
        reasons.append(f"The snapshot is {duration(now - published.snapshot.taken_at)} old.")
    return el(
        "section",
        el("p", el("strong", verdict), " ", el("span", printable(status.phase), class_="phase")),
        el("ul", [el("li", reason) for reason in reasons], class_="reasons") if reasons else None,
        _progress(status),
        ui.fact_list(_facts(published, status, now)),
        class_=f"card {'good' if verdict == 'Ready' else 'bad'}",
        aria_label="Monitor",
    )


def snapshot_age(taken_at: float, now: float, *, ready: bool = True) -> Content:
    """Return when the snapshot was taken, with a warning if that is long ago, or the monitor is not `ready`."""
    taken = f"Snapshot taken {ago(taken_at, now)}"
    if now - taken_at > OLD_SECONDS:
        return el("span", f"{taken}: out of date.", class_="bad")
    return f"{taken}." if ready else el("span", f"{taken}, but the monitor is not ready.", class_="warn")


def _facts(published: PublishedSnapshot | None, status: MonitorStatus, now: float) -> list[tuple[str, Content]]:
    tick = status.tick
    retention: Content = ui.UNKNOWN
    if tick.offsets_retention_seconds is not None:
        source = el("small", f"({printable(tick.offsets_retention_source)})")
        retention = [duration(tick.offsets_retention_seconds), " ", source]
    facts: list[tuple[str, Content]] = [
        ("Cluster", _cluster(status)),
        ("Kafka", "reachable" if status.kafka_reachable else el("span", "not reachable", class_="bad")),
        ("Snapshot", ago(published.snapshot.taken_at, now) if published else "none yet"),
        ("Last batch", "none yet" if status.query.last_at is None else ago(status.query.last_at, now)),
        ("Series", number(tick.series)),
        ("Offsets retention", retention),
    ]
    errors = pc.sum(status.records.errors.column("records")).as_py()
    if errors:
        facts.append(("Decode errors", el("span", number(errors), class_="bad")))
    return facts


def _cluster(status: MonitorStatus) -> Content:
    """Return the configured name of the cluster with its id, or the id."""
    if status.cluster_name is None:
        return ui.known(status.cluster_id, printable)
    if status.cluster_id is None:
        return ui.named(status.cluster_name)
    return [ui.named(status.cluster_name), " ", el("small", f"({printable(status.cluster_id)})")]


def _progress(status: MonitorStatus) -> Content:
    now = status.catch_up
    if now is None or now.ratio >= 1:
        return None
    # Rounded down: 100 % only if nothing is left.
    parts = [f"{math.floor(now.ratio * 100)} % read"]
    if now.rate is not None:
        parts.append(f"{number(round(now.rate))} records/s")
    if now.seconds_left is not None:
        parts.append(f"{duration(now.seconds_left)} left")
    bar = el("progress", max="1", value=f"{now.ratio:.4f}", aria_label="Catching up")
    return el("p", bar, f" Catching up: {', '.join(parts)}", class_="progress")


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
        return _page("not ready", [el("h1", "No snapshot yet"), monitor, ui.WAITING], status)
    content = [
        _summary(published.snapshot, status, now, group_filter, facts),
        common_causes_section(published.snapshot.common_causes),
        _groups(published.snapshot, now, group_filter, search, trends),
    ]
    # The card of a monitor that is not ready, or behind, comes before the groups; else one line at the top is enough.
    sound = status.ready and now - published.snapshot.taken_at <= OLD_SECONDS
    legend = ui.verdict_legend(published.snapshot.verdict_groups)
    worst = _attention_counts(published.snapshot)
    title = ", ".join(f"{number(groups)} {severity}" for severity, groups in worst.items()) or "all fine"
    page = _page(title, [content, monitor] if sound else [monitor, content], status, legend)
    return dataclasses.replace(page, alarm="critical" in worst)


def _page(headline: str, content: Content, status: MonitorStatus, legend: Content = None) -> Page:
    part = "" if status.instances == 1 else f" · instance {status.part}"
    foot = f"lagwarden {printable(status.version)}{part} · times are ages; hover for UTC"
    # This page shows the groups of one instance.
    names = {f"{index}/{status.instances}": url for index, url in enumerate(status.siblings)}
    others = [(f"{url}/", f"instance {name}") for name, url in names.items() if name != status.part]
    return Page(f"{headline} · lagwarden", content, links=(*_LINKS, *others), legend=legend, foot=foot)


def _groups(
    snapshot: Snapshot, now: float, group_filter: GroupFilter, search: MemberSearch | None, trends: Trends
) -> Content:
    if not len(snapshot.groups):
        return ui.note("No group has committed an offset or has members.")
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
        return [form, ui.note(words)]
    dead = pc.equal(shown.column("state"), DEAD).fill_null(False)
    live = shown.filter(pc.invert(dead))
    return [
        form,
        attention_section(snapshot, worst, now, group_filter),
        live_section(live, snapshot.partitions, now, group_filter, trends),
        dead_section(shown.filter(dead), now),
    ]


def _attention_counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of groups that need attention by severity, the worst first."""
    severities = counts(snapshot.groups, "severity")
    return {severity: severities[severity] for severity in reversed(ATTENTION) if severity in severities}


def _summary(
    snapshot: Snapshot, status: MonitorStatus, now: float, group_filter: GroupFilter, facts: ClusterFacts | None
) -> Element:
    """Return the headline and the number of groups per severity, each a link to these groups.

    With one line for each set of brokers that supports other requests or features than most, as in an upgrade.
    """
    mixed = () if facts is None else facts.mixed_versions
    is_named = status.cluster_name is not None or status.cluster_id is not None
    cluster: Content = ["Cluster ", _cluster(status), " \N{MIDDLE DOT} "] if is_named else None
    age = snapshot_age(snapshot.taken_at, now, ready=status.ready)
    has_verdicts = snapshot.groups.column("severity").null_count < len(snapshot.groups)
    headline = "No group needs attention" if has_verdicts else "No verdicts yet"
    if groups := sum(_attention_counts(snapshot).values()):
        headline = f"{count(groups, 'group')} need{'s' if groups == 1 else ''} attention"
    severities = counts(snapshot.groups, "severity")
    worst = max((SEVERITIES.index(word) for word in severities if word in SEVERITIES), default=1)
    of_severity = [
        chip(group_filter, "severity", severity, severities.get(severity, 0), f"severity-chip {severity}")
        for severity in reversed(SEVERITIES)
    ]
    return el(
        "section",
        el("h1", headline),
        el("p", cluster, age, el("a", "Search", href="#filter", class_="to-filter"), class_="fresh"),
        [ui.note(el("b", "Mixed versions: "), f"{printable(sentence)}.") for sentence in mixed],
        el("ul", of_severity, class_="chips big", aria_label="Groups by severity"),
        class_=f"glance {SEVERITIES[worst]}",
        aria_label="Summary",
    )


def _verdict_chips(snapshot: Snapshot, group_filter: GroupFilter) -> list[Element]:
    """Return the number of groups per verdict, the worst first, each a link to these groups."""
    severity_of = {row["verdict"]: row["severity"] for row in snapshot.verdict_groups.to_pylist()}
    verdicts = [pair for pair in counts(snapshot.groups, "verdict").items() if pair[0] is not None]
    verdicts.sort(key=lambda pair: -ui.severity_rank(severity_of.get(str(pair[0]))))
    return [chip(group_filter, "verdict", verdict, groups, "verdict-chip") for verdict, groups in verdicts]
