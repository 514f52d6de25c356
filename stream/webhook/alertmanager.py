"""Posts alerts to the API v2 of one Alertmanager, again and again, as Prometheus does.

Alertmanager keeps no alert by itself: it drops one whose end has passed. So each alert is sent with an end that is
minutes ahead, and sent again before it. A process that ends resolves nothing at once, and the next one goes on with the
same labels. Nothing is kept on disk: what was not accepted is sent with the next request.
"""

import collections
import json
import time
from collections.abc import Callable
from typing import Any, Final

import structlog

from stream.config.options import WebhookOptions
from stream.webhook.sender import Deliveries, pause_seconds

Labels = tuple[tuple[str, str], ...]
LabelledAlert = tuple[Labels, dict[str, Any]]
"""The labels and the JSON object of an alert."""

RESEND_SECONDS: Final = 60.0
"""The time between two requests without a change."""
HOLD_SECONDS: Final = 300.0
"""How long an alert holds after its last request; also the default of Alertmanager's resolve_timeout."""
_REFUSED_SECONDS: Final = 900.0
"""How long an alert that was refused alone is not sent again."""
_AT_ONCE: Final = 500
"""Alerts per request."""
_MOST_REFUSALS: Final = 100
"""The refused requests of one attempt to send all alerts."""

_log = structlog.get_logger(__name__)


class Alertmanager(Deliveries):
    """One Alertmanager, to which what `alerts` returns for a time (Unix seconds) is posted: labels and JSON.

    `announce` tells of changes.
    """

    def __init__(
        self, url: str, options: WebhookOptions, alerts: Callable[[float], list[LabelledAlert]], *, pace: float
    ) -> None:
        super().__init__(url, options, "alerts", pace)
        self._alerts = alerts
        self._refused_at: dict[Labels, float] = {}
        # When the oldest change was made that is not accepted yet, or requests began to fail; the number of changes.
        self._waiting_since: float | None = None
        self._changes = 0

    def announce(self, changes: int, now: float) -> None:
        """Send all alerts soon, because some have begun or ended."""
        with self._lock:
            self._changes += changes
            self._waiting_since = self._waiting_since or now
        self.wake()

    def waiting(self) -> tuple[int, float | None]:
        """Return how many changes are not accepted yet, and since when, or since when requests fail (Unix seconds)."""
        with self._lock:
            return self._changes, self._waiting_since

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            retry_after = self._post_all()
            failures = 0 if retry_after is None else failures + 1
            if retry_after is None:
                self._wake.wait(RESEND_SECONDS * self._pace)
                continue
            with self._lock:
                # Also without a change: alerts that are not sent again end.
                self._waiting_since = self._waiting_since or time.time()
            # No longer than between two requests, unless the receiver asks for more: the alerts would end.
            self.pause(max(min(pause_seconds(failures, 0.0), RESEND_SECONDS), pause_seconds(1, retry_after)))

    def _post_all(self) -> float | None:
        """Send all alerts; return None if they were accepted, else the seconds that the receiver asks to wait.

        A request that is refused for its content is sent again in halves. If others are accepted, an alert that is
        refused alone is dropped for a while.
        """
        with self._lock:
            changes = self._changes
        now = time.time()
        self._refused_at = {name: at for name, at in self._refused_at.items() if now - at < _REFUSED_SECONDS}
        alerts = [each for each in self._alerts(now) if each[0] not in self._refused_at]
        parts = collections.deque(alerts[first : first + _AT_ONCE] for first in range(0, len(alerts), _AT_ONCE))
        refused: list[Labels] = []
        refusals, accepted, retry_after = 0, not parts, None
        while parts and retry_after is None:
            part = parts.popleft()
            # Escaped: names may have lone surrogates.
            reason, wait = self.post(json.dumps([alert for _, alert in part], allow_nan=False).encode())
            accepted |= reason is None
            refusals += reason is not None
            if reason == "refused_event" and refusals < _MOST_REFUSALS:
                if len(part) == 1:
                    refused.append(part[0][0])
                else:
                    # Last, so that the other alerts do not wait for the search.
                    parts.extend((part[: len(part) // 2], part[len(part) // 2 :]))
            elif reason is not None:
                retry_after = wait
        if not accepted:  # not for the content of single alerts
            return retry_after or 0.0
        for labels in refused:
            _log.error("alert refused by the webhook", to=self.address, group=dict(labels).get("group"))
            self._refused_at[labels] = now
        self.count_drops("refused", len(refused))
        if retry_after is not None:
            return retry_after
        with self._lock:
            self._changes -= changes
            self._waiting_since = time.time() if self._changes else None
        if changes > len(refused):
            self.count_sent(changes - len(refused))
        return None
