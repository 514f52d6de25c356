"""Keeps the alerts of the latest snapshot for one or several Alertmanagers (API v2), of which each gets all of them.

An alert has the name, the labels and the links of the alert of the shipped rules about the same verdict, so that the
same routes apply. The verdict is a label, so a change of the verdict ends one alert and begins another.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.links import PageLinks, alert_of_verdict
from exporters.readmodel import Snapshot, WebhookStatus
from exporters.selection.budget import muted_by_configuration
from exporters.timestamps import rfc3339
from exporters.wording import ATTENTION, phrase
from stream.config.options import WebhookOptions
from stream.webhook.alertmanager import HOLD_SECONDS, Alertmanager, Labels
from stream.webhook.events import KnowledgeGaps
from stream.webhook.sender import STOP_SECONDS, webhook_status

JOB: Final = "lagwarden"
"""The label `job` of the shipped rules."""
_OWNER: Final = ("team", "tier", "max_severity")
_COLUMNS: Final = ("group", "verdict", "severity", "sentence", "link", *_OWNER)


@dataclasses.dataclass(frozen=True, slots=True)
class Alert:
    """An alert: its labels, by which Alertmanager knows it, its texts and links, and when it began (Unix seconds).

    `page` is the URL of the page of its group.
    """

    labels: tuple[tuple[str, str], ...]
    annotations: Mapping[str, str]
    starts_at: float
    page: str | None = None

    @property
    def group(self) -> str:
        """The group that it is about."""
        return self.label("group")

    def label(self, name: str) -> str:
        """Return a label; empty if it has none of this name."""
        return dict(self.labels).get(name, "")

    def until(self, ends_at: float) -> dict[str, Any]:
        """Return the JSON object of an alert that ends at a time (Unix seconds), unless it is sent again before."""
        times = {"startsAt": rfc3339(min(self.starts_at, ends_at)), "endsAt": rfc3339(ends_at)}
        source = {} if self.page is None else {"generatorURL": self.page}
        return {"labels": dict(self.labels), "annotations": dict(self.annotations), **times, **source}


def alerts_of(
    snapshot: Snapshot, last: Iterable[Alert], gaps: Container[str], cluster_id: str, links: PageLinks
) -> list[Alert]:
    """Return the alerts of a snapshot, the most severe first, then the oldest.

    Groups in maintenance, silenced ones and faults that are not paged have none, as with the shipped rules. Groups of
    the `gaps`, whose verdict is unknown but not for long, keep those of the `last` ones.
    """
    groups = snapshot.groups
    is_sick = pc.is_in(groups.column("severity").cast(pa.string()), value_set=pa.array(ATTENTION, pa.string()))
    by_configuration = muted_by_configuration(groups)
    is_muted = pc.or_(groups.column("not_alerted").fill_null(False), by_configuration)
    sick = snapshot.with_sentences(groups.filter(pc.and_(is_sick, pc.invert(is_muted))))
    # A verdict of which it is not known when it began has begun now.
    since = sick.column("verdict_since").cast(pa.int64()).fill_null(round(snapshot.taken_at * 1000)).to_pylist()
    steps = {each["verdict"]: each["next_step"] for each in snapshot.verdict_groups.to_pylist()}
    shared = snapshot.common_causes.select(["sentence", "groups"]).to_pylist()
    causes = {name: each["sentence"] for each in shared for name in each["groups"]}
    found = [
        _alert(row | {"common_cause": causes.get(row["group"])}, began / 1000, steps, cluster_id, links)
        for row, began in zip(sick.select(_COLUMNS).to_pylist(), since, strict=True)
    ]
    muted = frozenset(groups.column("group").filter(by_configuration).to_pylist())
    found += [each for each in last if each.group in gaps and each.group not in muted]
    return sorted(found, key=lambda each: (-ATTENTION.index(each.label("severity")), each.starts_at, each.group))


def _alert(
    row: Mapping[str, Any], began: float, steps: Mapping[str, str | None], cluster_id: str, links: PageLinks
) -> Alert:
    """Return the alert of a row of GROUPS since a time (Unix seconds); `steps` has the next step of each verdict."""
    group, verdict, severity = row["group"], row["verdict"], row["severity"]
    cluster, page = links.cluster_name, links.page(group)
    base = links.runbook_url or links.external_url
    labels = {
        "alertname": alert_of_verdict(verdict, severity),
        "about": "group",
        "job": JOB,
        "cluster": cluster,
        "cluster_id": cluster_id,
        "group": group,
        "verdict": verdict,
        "severity": severity,
        **{name: row[name] for name in _OWNER},
    }
    annotations = {
        "summary": f"Group {group}{'' if cluster is None else f' of cluster {cluster}'}: {phrase(verdict)}",
        "description": row["sentence"],
        "next_step": steps.get(verdict),
        "common_cause": row["common_cause"],
        # A relative link leads nowhere from an alert.
        "runbook_url": links.runbook(verdict, severity, f"{links.external_url}/") if base else None,
        "dashboard_url": links.dashboard(group) or page,
        "link": row["link"],
    }
    return Alert(tuple(_given(labels).items()), _given(annotations), began, page)


def _given(texts: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts that are known; Alertmanager treats an empty label as a missing one."""
    return {name: text for name, text in texts.items() if text}


RESOLVED_SECONDS: Final = 900.0
"""How long the end of an alert is sent again, in case that Alertmanager has lost it; as Prometheus does."""


class AlertPoster:
    """Posts alerts inside `with poster:`. The tick thread calls `update`, any thread `status`.

    At most `options.queue` alerts are sent, the most severe and oldest ones. `pace` multiplies the time between two
    requests.
    """

    def __init__(self, options: WebhookOptions, cluster_id: str, links: PageLinks, *, pace: float = 1.0) -> None:
        self._limit = options.queue
        self._cluster_id = cluster_id
        self._links = links
        self._gaps = KnowledgeGaps()
        self._state = threading.Lock()
        self._firing: dict[Labels, Alert] = {}
        self._ended: dict[Labels, tuple[Alert, float]] = {}
        self._left_out: frozenset[str] = frozenset()
        self._receivers = [Alertmanager(url, options, self._alerts, pace=pace) for url in options.url]

    @classmethod
    @contextlib.contextmanager
    def running(cls, options: WebhookOptions, cluster_id: str, links: PageLinks) -> Iterator[Self | None]:
        """Yield the poster with its threads running, None unless the webhook is an Alertmanager."""
        if not options.url or options.format != "alertmanager":
            yield None
            return
        with cls(options, cluster_id, links) as poster:
            yield poster

    def __enter__(self) -> Self:
        for each in self._receivers:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; the alerts hold for `HOLD_SECONDS`. Running requests are not waited for to their end."""
        for each in self._receivers:
            each.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for each in self._receivers:
            each.join(max(deadline - time.monotonic(), 0.0))

    def update(self, snapshot: Snapshot) -> None:
        """Send the alerts of a snapshot from now on, and the end of those that it does not have any more."""
        gaps = self._gaps.update(snapshot)
        with self._state:
            alerts = alerts_of(snapshot, self._firing.values(), gaps, self._cluster_id, self._links)
            firing = {alert.labels: alert for alert in alerts[: self._limit]}
            now = time.time()
            changes = len(self._firing.keys() ^ firing.keys())
            ended = {labels: (alert, now) for labels, alert in self._firing.items() if labels not in firing}
            self._ended = {labels: each for labels, each in (self._ended | ended).items() if labels not in firing}
            self._firing = firing
            left_out = frozenset(alert.group for alert in alerts[self._limit :])
            dropped, self._left_out = len(left_out - self._left_out), left_out
        for each in self._receivers:
            each.count_drops("queue_full", dropped)
            if changes:
                each.announce(changes, now)

    def status(self) -> WebhookStatus:
        """Return the state as of now: of several addresses the most events sent, dropped and waiting.

        The queue has the alerts that began or ended and are not accepted yet.
        """
        waiting = [each.waiting() for each in self._receivers]
        oldest = min((since for _, since in waiting if since is not None), default=None)
        return webhook_status(self._receivers, max(changes for changes, _ in waiting), oldest)

    def _alerts(self, now: float) -> list[tuple[Labels, dict[str, Any]]]:
        """Return the labels and the JSON objects of all alerts, and of those that ended a while ago."""
        with self._state:
            self._ended = {name: each for name, each in self._ended.items() if now - each[1] < RESOLVED_SECONDS}
            alerts = [(labels, alert.until(now + HOLD_SECONDS)) for labels, alert in self._firing.items()]
            return alerts + [(labels, alert.until(end)) for labels, (alert, end) in self._ended.items()]
