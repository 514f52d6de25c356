"""Sends the queued events, one after the other, on a thread of its own; tries again until an event is accepted.

One event at a time keeps the order of the events of a group. An event is removed after a response of the class 2xx, so
that it is sent at least once. All other responses and errors are counted and tried again with growing pauses. Only an
event that the receiver refuses for its content five times is dropped, so that it does not block all later ones.
"""

import collections
import dataclasses
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Self
from urllib.parse import urlsplit

import structlog

from exporters.readmodel import WEBHOOK_DROPS, WEBHOOK_FAILURES, WebhookStatus, rows_table
from stream.webhook.event_queue import EventQueue, QueuedEvent, QueueUnavailableError
from stream.webhook.request import RequestFailedError, WebhookResponse, WebhookTarget, post

_log = structlog.get_logger(__name__)
FAILURES: Final = (
    "client_error", "queue", "redirect", "refused_event", "server_error", "throttled", "timeout", "tls", "token",
    "unauthorized", "unreachable",
)  # fmt: skip
"""The reasons of failed requests. `queue`: the database of the queue could not be used."""
DROPS: Final = ("queue_full", "refused")
"""The reasons of dropped events."""
_OF_STATUS: Final = {
    **dict.fromkeys((401, 403, 407), "unauthorized"),
    **dict.fromkeys((400, 409, 413, 415, 422), "refused_event"),
    429: "throttled",
}
_OF_CLASS: Final = {3: "redirect", 4: "client_error"}
_MOST_REFUSALS: Final = 5
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 300.0
_LONGEST_RETRY_AFTER: Final = 3600.0
_STOP_SECONDS: Final = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a request. `refused`: for the content of the event; `retry_after` is in seconds."""

    done: bool
    refused: bool = False
    retry_after: float | None = None


_SENT: Final = _Outcome(done=True)
_FAILED: Final = _Outcome(done=False)


def failure_reason(status: int) -> str | None:
    """Return the reason of a failed request by the status of its response, None for a success."""
    if 200 <= status < 300:
        return None
    return _OF_STATUS.get(status) or _OF_CLASS.get(status // 100, "server_error")


def pause_seconds(failures: int, retry_after: float | None) -> float:
    """Return the pause after this number of failures in a row, without jitter: 1 s, doubled up to five minutes.

    `retry_after` is what the receiver asks for (seconds); it is respected up to an hour.
    """
    pause = min(_FIRST_PAUSE * 2.0 ** min(failures - 1, 20), _LONGEST_PAUSE)
    return max(pause, min(retry_after or 0.0, _LONGEST_RETRY_AFTER))


class Deliveries:
    """Counts what a webhook accepted, failed to accept and was not sent, and logs it. May be used from any thread."""

    def __init__(self, target: WebhookTarget) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._failures = collections.Counter(dict.fromkeys(FAILURES, 0))
        self._drops = collections.Counter(dict.fromkeys(DROPS, 0))
        self._sent = 0
        self._logged: str | None = None

    def counts(self) -> tuple[int, Mapping[str, int], Mapping[str, int]]:
        """Return the accepted events, the failed requests by reason (all FAILURES), the dropped events (all DROPS)."""
        with self._lock:
            return self._sent, dict(self._failures), dict(self._drops)

    def count_drops(self, reason: str, events: int) -> None:
        """Count dropped events, and log them."""
        if events:
            with self._lock:
                self._drops[reason] += events
            _log.error("webhook events dropped", to=self.address, reason=reason, events=events)

    def count_failure(self, reason: str, cause: str) -> None:
        """Count a failure; the same cause is logged once until an event is sent again."""
        with self._lock:
            self._failures[reason] += 1
        if self._logged != cause:
            self._logged = cause
            _log.warning("webhook failing; events stay in the queue", to=self.address, reason=reason, cause=cause)

    def count_sent(self, events: int) -> None:
        """Count accepted events; the first one after a failure is logged."""
        with self._lock:
            self._sent += events
        if self._logged is not None:
            self._logged = None
            _log.info("webhook working again", to=self.address)

    @property
    def address(self) -> str:
        """The scheme, host and port of the URL, without its path and query, which may have a secret."""
        url = urlsplit(self._target.url)
        return f"{url.scheme}://{url.netloc}"


def webhook_status(receivers: Sequence[Deliveries], queued: int, oldest_at: float | None) -> WebhookStatus:
    """Return the status of a webhook: of several receivers the most events sent and dropped, and each one's failures.

    `queued` events are waiting, the oldest one since `oldest_at` (Unix seconds).
    """
    counts = [each.counts() for each in receivers]
    failures = collections.Counter[tuple[str, str]]()
    for each, (_, failed, _) in zip(receivers, counts, strict=True):
        failures.update({(each.address, reason): count for reason, count in failed.items()})
    return WebhookStatus(
        max(sent for sent, _, _ in counts),
        queued,
        oldest_at,
        rows_table([(*key, count) for key, count in sorted(failures.items())], WEBHOOK_FAILURES),
        rows_table([(reason, max(drops[reason] for _, _, drops in counts)) for reason in DROPS], WEBHOOK_DROPS),
    )


class WebhookSender(Deliveries):
    """Sends events inside `with sender:`. `wake` and the counters may be used from any thread.

    `pace` multiplies all pauses.
    """

    def __init__(self, queue: EventQueue, target: WebhookTarget, *, pace: float = 1.0) -> None:
        super().__init__(target)
        self._queue = queue
        self._pace = pace
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; events that are not sent stay in the queue. A running request is not waited for to its end."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(_STOP_SECONDS)

    def wake(self) -> None:
        """Look for new events."""
        self._wake.set()

    def _run(self) -> None:
        failures, refusals, refused = 0, 0, None
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                event = self._queue.first()
                if event is None:
                    self._wake.wait()
                    continue
                if event.number != refused:  # the event before it may have been dropped by a full queue
                    refusals, refused = 0, event.number
                outcome = self._send(event)
                refusals += outcome.refused
                if refusals >= _MOST_REFUSALS:
                    self._drop_refused(event)
                    outcome = _SENT
            except QueueUnavailableError as error:
                if self._stopping.is_set():
                    return
                self.count_failure("queue", str(error))
                outcome = _FAILED
            if outcome.done:
                failures = refusals = 0
                continue
            failures += 1
            # Up to a tenth more, so that several monitors do not send at the same time.
            pause = pause_seconds(failures, outcome.retry_after) * (1 + random.random() / 10)  # noqa: S311 -- no secret
            self._stopping.wait(pause * self._pace)

    def _send(self, event: QueuedEvent) -> _Outcome:
        """Send an event, and remove it from the queue if it is accepted. Raises QueueUnavailableError."""
        try:
            response = post(self._target, event.body)
        except RequestFailedError as error:
            self.count_failure(error.reason, str(error))
            return _FAILED
        reason = failure_reason(response.status)
        if reason is None:
            self._queue.remove(event)
            self.count_sent(1)
            return _SENT
        self.count_failure(reason, response_cause(response))
        return _Outcome(done=False, refused=reason == "refused_event", retry_after=response.retry_after)

    def _drop_refused(self, event: QueuedEvent) -> None:
        if self._queue.remove(event):
            _log.error("event refused by the webhook", group=event.subject, id=event.id)
            self.count_drops("refused", 1)


def response_cause(response: WebhookResponse) -> str:
    """Return the cause of a failure by its response, for the log."""
    if response.location is not None and response.status // 100 == 3:
        return f"status {response.status}, a redirect, which is not followed: set webhook.url to the final address"
    return f"status {response.status}"
