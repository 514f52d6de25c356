"""Sends the queued events, one after the other, on a thread of its own; tries again until an event is accepted.

One event at a time keeps the order of the events of a group. An event is removed after a response of the class 2xx, so
that it is sent at least once. All other responses and errors are counted and tried again with growing pauses. Only an
event that the receiver refuses for its content five times is dropped, so that it does not block all later ones.
"""

import collections
import contextlib
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import structlog

from exporters.catalogue.service import WEBHOOK_DROPS, WEBHOOK_FAILURES
from exporters.readmodel import WebhookStatus, rows_table
from exporters.verdict_event import VerdictEvent
from stream.config.options import WebhookOptions
from stream.errors import ExitCode, Refusal
from stream.webhook.event_queue import EventQueue, QueueUnavailableError
from stream.webhook.request import post

_log = structlog.get_logger(__name__)
FAILURES: Final = (
    "client_error", "queue", "redirect", "refused_event", "server_error", "throttled", "timeout", "tls", "token",
    "unauthorized", "unreachable",
)  # fmt: skip
"""The reasons of failed requests. `queue`: the database of the queue could not be used."""
DROPS: Final = ("queue_full", "refused")
"""The reasons of dropped events."""
_MOST_REFUSALS: Final = 5
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 300.0
_LONGEST_RETRY_AFTER: Final = 3600.0
STOP_SECONDS: Final = 2.0


def pause_seconds(failures: int, retry_after: float) -> float:
    """Return the pause after this number of failures in a row, without jitter: 1 s, doubled up to five minutes.

    `retry_after` is what the receiver asks for (seconds); it is respected up to an hour.
    """
    pause = min(_FIRST_PAUSE * 2.0 ** min(failures - 1, 20), _LONGEST_PAUSE)
    return max(pause, min(retry_after, _LONGEST_RETRY_AFTER))


class Deliveries:
    """Posts to a webhook on a thread of its own, and counts and logs what is accepted, fails and is dropped.

    The counters may be used from any thread. `pace` multiplies all pauses.
    """

    def __init__(self, url: str, options: WebhookOptions, thread: str, pace: float) -> None:
        self._url = url
        self._options = options
        self._pace = pace
        self._lock = threading.Lock()
        self._failures = collections.Counter(dict.fromkeys(FAILURES, 0))
        self._drops = collections.Counter(dict.fromkeys(DROPS, 0))
        self._sent = 0
        self._logged: str | None = None
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)
        self.start, self.wake = self._thread.start, self._wake.set

    def _run(self) -> None:
        """Post until `_stopping` is set."""
        raise NotImplementedError

    def stop(self) -> None:
        """Send no more; the thread ends after a request that is running."""
        self._stopping.set()
        self._wake.set()

    def join(self, seconds: float = STOP_SECONDS) -> None:
        """Wait for the end of the thread. A running request is not waited for to its end."""
        self._thread.join(seconds)

    def post(self, body: bytes) -> tuple[str | None, float]:
        """Post a body; return why that failed, None for a success, and the seconds that the receiver asks to wait.

        A failure is counted.
        """
        reason, cause, retry_after = post(self._url, self._options, body)
        if reason is not None:
            self.count_failure(reason, cause)
        return reason, retry_after

    def pause(self, seconds: float) -> None:
        """Wait, or until `stop`: up to a tenth longer, so that several monitors do not send at the same time."""
        self._stopping.wait(seconds * self._pace * (1 + random.random() / 10))  # noqa: S311 -- no secret

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
        url = urlsplit(self._url)
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
        rows_table([(*key, count) for key, count in sorted(failures.items())], WEBHOOK_FAILURES.schema),
        rows_table([(reason, max(drops[reason] for _, _, drops in counts)) for reason in DROPS], WEBHOOK_DROPS.schema),
    )


class WebhookSender(Deliveries):
    """Sends the events of a queue inside `with sender:`. One thread appends events, any thread reads the status."""

    def __init__(self, queue: EventQueue, options: WebhookOptions, *, pace: float = 1.0) -> None:
        super().__init__(options.url[0], options, "webhook", pace)
        self._queue = queue
        self._size: tuple[int, float | None] = (0, None)
        self.announced = queue.announced

    @classmethod
    @contextlib.contextmanager
    def running(cls, options: WebhookOptions, folder: Path | None) -> Iterator[Self | None]:
        """Yield a running sender, None without a configured webhook for CloudEvents.

        The queue is kept in `folder`, which belongs to this process alone. Raises Refusal if it cannot be opened.
        """
        if not options.url or folder is None or options.format != "cloudevents":
            yield None
            return
        try:
            queue = EventQueue(folder, options.queue)
        except (QueueUnavailableError, OSError) as error:
            raise Refusal(
                f"the queue of the webhook in {folder} cannot be opened: {error}",
                "make room and check the rights, or remove webhook.url",
                ExitCode.CHECKPOINT_UNUSABLE,
            ) from error
        with contextlib.closing(queue), cls(queue, options) as sender:
            yield sender

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; events that are not sent stay in the queue."""
        self.stop()
        self.join()

    def append(self, events: Sequence[VerdictEvent], forgotten: Sequence[str]) -> None:
        """Queue events, and forget the announced verdicts of groups. Raises QueueUnavailableError."""
        if events or forgotten:
            self.count_drops("queue_full", self._queue.append(events, forgotten))
        if events:
            self.wake()

    def status(self) -> WebhookStatus:
        """Return the state as of now; the size of the queue is the last one known if it cannot be read."""
        with contextlib.suppress(QueueUnavailableError):
            self._size = self._queue.size()
        return webhook_status([self], *self._size)

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
                reason, retry_after = self.post(event.body)
                refusals += reason == "refused_event"
                is_done = reason is None or refusals >= _MOST_REFUSALS
                if reason is None:
                    self._queue.remove(event)
                    self.count_sent(1)
                elif is_done and self._queue.remove(event):
                    _log.error("event refused by the webhook", group=event.group, id=event.id)
                    self.count_drops("refused", 1)
            except QueueUnavailableError as error:
                if self._stopping.is_set():
                    return
                self.count_failure("queue", str(error))
                is_done, retry_after = False, 0.0
            if is_done:
                failures = refusals = 0
            else:
                failures += 1
                self.pause(pause_seconds(failures, retry_after))
