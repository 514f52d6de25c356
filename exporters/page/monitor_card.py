"""The card of the monitor: readiness, freshness of the snapshot, and progress of the catch-up."""

import math
from typing import Final

import pyarrow.compute as pc

from exporters.page.blocks import UNKNOWN, fact_list, named, text
from exporters.page.html_tree import Content, Element, el
from exporters.readmodel import MonitorStatus
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import ago, duration, number, printable

OLD_SECONDS: Final = 60.0
"""Age from which a snapshot is out of date: several ticks have been missed."""


def is_old(taken_at: float, now: float) -> bool:
    """Return whether a snapshot of this time is out of date."""
    return now - taken_at > OLD_SECONDS


def monitor_card(published: PublishedSnapshot | None, status: MonitorStatus, now: float) -> Element:
    """Return the card: readiness with its reasons, progress of the catch-up, and facts about the monitor."""
    old = published is not None and is_old(published.snapshot.taken_at, now)
    good = status.ready and not old
    reasons = [printable(reason) for reason in status.not_ready_reasons]
    if old and published is not None and not reasons:
        reasons.append(f"The snapshot is {duration(now - published.snapshot.taken_at)} old.")
    return el(
        "section",
        el("p", el("strong", _verdict(status, old=old)), " ", el("span", printable(status.phase), class_="phase")),
        el("ul", [el("li", reason) for reason in reasons], class_="reasons") if reasons else None,
        _progress(status),
        fact_list(_facts(published, status, now)),
        class_=f"card {'good' if good else 'bad'}",
        aria_label="Monitor",
    )


def freshness(published: PublishedSnapshot, status: MonitorStatus, now: float) -> Content:
    """Return one line: the cluster, the age of the snapshot, a warning if that is old or the monitor is not ready."""
    known = status.cluster_name is not None or status.cluster_id is not None
    cluster: Content = ["Cluster ", _cluster(status), " \N{MIDDLE DOT} "] if known else None
    return [cluster, snapshot_age(published.snapshot.taken_at, now, ready=status.ready)]


def snapshot_age(taken_at: float, now: float, *, ready: bool = True) -> Content:
    """Return when the snapshot was taken, with a warning if that is long ago, or the monitor is not `ready`."""
    taken = f"Snapshot taken {ago(taken_at, now)}"
    if is_old(taken_at, now):
        return el("span", f"{taken}: out of date.", class_="bad")
    return f"{taken}." if ready else el("span", f"{taken}, but the monitor is not ready.", class_="warn")


def _verdict(status: MonitorStatus, *, old: bool) -> str:
    if not status.ready:
        return "Not ready"
    return "Ready, but behind" if old else "Ready"


def _facts(published: PublishedSnapshot | None, status: MonitorStatus, now: float) -> list[tuple[str, Content]]:
    facts: list[tuple[str, Content]] = [
        ("Cluster", _cluster(status)),
        ("Kafka", "reachable" if status.kafka_reachable else el("span", "not reachable", class_="bad")),
        ("Snapshot", ago(published.snapshot.taken_at, now) if published else "none yet"),
        ("Last batch", "none yet" if status.query.last_at is None else ago(status.query.last_at, now)),
        ("Series", number(status.tick.series)),
        ("Offsets retention", _retention(status)),
    ]
    errors = pc.sum(status.records.errors.column("records")).as_py()
    if errors:
        facts.append(("Decode errors", el("span", number(errors), class_="bad")))
    return facts


def _cluster(status: MonitorStatus) -> Content:
    """Return the configured name of the cluster with its id, or the id."""
    if status.cluster_name is None:
        return text(status.cluster_id)
    if status.cluster_id is None:
        return named(status.cluster_name)
    return [named(status.cluster_name), " ", el("small", f"({printable(status.cluster_id)})")]


def _retention(status: MonitorStatus) -> Content:
    tick = status.tick
    if tick.offsets_retention_seconds is None:
        return UNKNOWN
    return [duration(tick.offsets_retention_seconds), " ", el("small", f"({printable(tick.offsets_retention_source)})")]


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
