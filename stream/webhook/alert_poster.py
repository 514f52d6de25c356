"""Keeps the alerts of the latest snapshot for one or several Alertmanagers, of which each gets all of them."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

from exporters.page.links import PageLinks
from exporters.readmodel import Snapshot, WebhookStatus
from stream.config.options import WebhookOptions
from stream.webhook.alertmanager import HOLD_SECONDS, Alertmanager, Labels
from stream.webhook.alerts import Alert, alerts_of
from stream.webhook.gaps import KnowledgeGaps
from stream.webhook.notifier import webhook_targets
from stream.webhook.request import WebhookTarget
from stream.webhook.sender import webhook_status

RESOLVED_SECONDS: Final = 900.0
"""How long the end of an alert is sent again, in case that Alertmanager has lost it; as Prometheus does."""
_STOP_SECONDS: Final = 2.0


class AlertPoster:
    """Posts alerts inside `with poster:`. The tick thread calls `update`, any thread `status`.

    At most `limit` alerts are sent, the most severe and oldest ones. `pace` multiplies the time between two requests.
    """

    def __init__(
        self, targets: Sequence[WebhookTarget], limit: int, cluster_id: str, links: PageLinks, *, pace: float = 1.0
    ) -> None:
        self._limit = limit
        self._cluster_id = cluster_id
        self._links = links
        self._gaps = KnowledgeGaps()
        self._state = threading.Lock()
        self._firing: dict[Labels, Alert] = {}
        self._ended: dict[Labels, tuple[Alert, float]] = {}
        self._left_out: frozenset[str] = frozenset()
        self._receivers = [Alertmanager(target, self._alerts, pace=pace) for target in targets]

    @classmethod
    @contextlib.contextmanager
    def running(cls, options: WebhookOptions, cluster_id: str, links: PageLinks) -> Iterator[Self | None]:
        """Yield the poster with its threads running, None unless the webhook is an Alertmanager."""
        if not options.url or options.format != "alertmanager":
            yield None
            return
        targets = webhook_targets(options, "application/json")
        with cls(targets, options.queue, cluster_id, links) as poster:
            yield poster

    def __enter__(self) -> Self:
        for each in self._receivers:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; the alerts hold for `HOLD_SECONDS`. Running requests are not waited for to their end."""
        for each in self._receivers:
            each.stop()
        deadline = time.monotonic() + _STOP_SECONDS
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
