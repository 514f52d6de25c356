"""Posts the unhealthy groups to Alertmanager's API v2, again and again, as Prometheus does.

Alertmanager keeps no alert by itself: it drops one whose end has passed. So each alert is sent with an end that is
minutes ahead, and sent again before it. A process that ends resolves nothing at once, and the next one goes on with the
same labels. Nothing is kept on disk: what was not accepted is sent with the next request.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from stream.webhook.alerts import alerts_of
from stream.webhook.gaps import KnowledgeGaps
from stream.webhook.notifier import WebhookStatus, webhook_target
from stream.webhook.request import RequestFailedError, post
from stream.webhook.sender import Deliveries, failure_reason, pause_seconds, response_cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporters.page.links import PageLinks
    from exporters.readmodel import Snapshot
    from stream.config.options import WebhookOptions
    from stream.webhook.alerts import Alert
    from stream.webhook.request import WebhookTarget

RESEND_SECONDS: Final = 60.0
"""The time between two requests without a change."""
HOLD_SECONDS: Final = 300.0
"""How long an alert holds after its last request; also the default of Alertmanager's resolve_timeout."""
RESOLVED_SECONDS: Final = 900.0
"""How long the end of an alert is sent again, in case that Alertmanager has lost it; as Prometheus does."""
_AT_ONCE: Final = 500
"""Alerts per request."""
_STOP_SECONDS: Final = 2.0


class AlertPoster(Deliveries):
    """Posts alerts inside `with poster:`. The tick thread calls `update`, any thread `status`.

    At most `limit` alerts are sent, the most severe and oldest ones. `pace` multiplies the time between two requests.
    """

    def __init__(
        self, target: WebhookTarget, limit: int, cluster_id: str, links: PageLinks, *, pace: float = 1.0
    ) -> None:
        super().__init__(target)
        self._limit = limit
        self._cluster_id = cluster_id
        self._links = links
        self._pace = pace
        self._gaps = KnowledgeGaps()
        self._state = threading.Lock()
        self._firing: dict[tuple[tuple[str, str], ...], Alert] = {}
        self._ended: dict[tuple[tuple[str, str], ...], tuple[Alert, float]] = {}
        self._left_out: frozenset[str] = frozenset()
        # When the oldest change was made that is not accepted yet, or requests began to fail; the number of changes.
        self._waiting_since: float | None = None
        self._changes = 0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)

    @classmethod
    @contextlib.contextmanager
    def running(cls, options: WebhookOptions, cluster_id: str, links: PageLinks) -> Iterator[Self | None]:
        """Yield the poster with its thread running, None unless the webhook is an Alertmanager."""
        if options.url is None or options.format != "alertmanager":
            yield None
            return
        target = webhook_target(options, "application/json")
        with cls(target, options.queue, cluster_id, links) as poster:
            yield poster

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; the alerts hold for `HOLD_SECONDS`. A running request is not waited for to its end."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(_STOP_SECONDS)

    def update(self, snapshot: Snapshot) -> None:
        """Send the alerts of a snapshot from now on, and the end of those that it does not have any more."""
        gaps = self._gaps.update(snapshot)
        with self._state:
            alerts = alerts_of(snapshot, self._firing.values(), gaps, self._cluster_id, self._links)
            firing = {alert.labels: alert for alert in alerts[: self._limit]}
            now = time.time()
            changed = self._firing.keys() ^ firing.keys()
            ended = {labels: (alert, now) for labels, alert in self._firing.items() if labels not in firing}
            self._ended = {labels: each for labels, each in (self._ended | ended).items() if labels not in firing}
            self._firing = firing
            left_out = frozenset(alert.group for alert in alerts[self._limit :])
            dropped, self._left_out = len(left_out - self._left_out), left_out
            if changed:
                self._changes += len(changed)
                self._waiting_since = self._waiting_since or now
        self.count_drops("queue_full", dropped)
        if changed:
            self._wake.set()

    def status(self) -> WebhookStatus:
        """Return the state as of now; the queue has the alerts that began or ended and are not accepted yet."""
        with self._state:
            waiting, since = self._changes, self._waiting_since
        return WebhookStatus(self.sent, self.failures(), self.drops(), waiting, since)

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            retry_after = self._post_all()
            failures = 0 if retry_after is None else failures + 1
            if retry_after is None:
                self._wake.wait(RESEND_SECONDS * self._pace)
                continue
            with self._state:
                # Also without a change: alerts that are not sent again end.
                self._waiting_since = self._waiting_since or time.time()
            # No longer than between two requests, unless the receiver asks for more: the alerts would end.
            pause = max(min(pause_seconds(failures, None), RESEND_SECONDS), pause_seconds(1, retry_after))
            self._stopping.wait(pause * self._pace * (1 + random.random() / 10))  # noqa: S311 -- no secret

    def _post_all(self) -> float | None:
        """Send all alerts; return None if they were accepted, else the seconds that the receiver asks to wait."""
        with self._state:
            now, changes = time.time(), self._changes
            self._ended = {name: each for name, each in self._ended.items() if now - each[1] < RESOLVED_SECONDS}
            alerts = [alert.until(now + HOLD_SECONDS) for alert in self._firing.values()]
            alerts += [alert.until(end) for alert, end in self._ended.values()]
        for first in range(0, len(alerts), _AT_ONCE):
            part = alerts[first : first + _AT_ONCE]
            try:
                # Escaped: names may have lone surrogates.
                response = post(self._target, json.dumps(part, allow_nan=False).encode())
            except RequestFailedError as error:
                self.count_failure(error.reason, str(error))
                return 0.0
            reason = failure_reason(response.status)
            if reason is not None:
                self.count_failure(reason, response_cause(response))
                return response.retry_after or 0.0
        with self._state:
            self._changes -= changes
            self._waiting_since = time.time() if self._changes else None
        if changes:
            self.count_sent(changes)
        return None
