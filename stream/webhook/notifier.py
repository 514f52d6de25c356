"""Compares each snapshot with the announced verdicts, and queues the events."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from exporters.readmodel import FindingDetail, Snapshot, WebhookStatus
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from stream.config.options import WebhookOptions
from stream.errors import ExitCode, Refusal
from stream.webhook.event_queue import EventQueue, QueueUnavailableError
from stream.webhook.events import KnowledgeGaps, forgotten_groups, record_announced, verdict_changes, verdict_events
from stream.webhook.request import CONTENT_TYPE, WebhookTarget
from stream.webhook.sender import WebhookSender, webhook_status

_MOST_EVENTS: Final = 1000
"""Changes announced per tick; each costs a finding. After the first start every group that is not fine is one."""


def webhook_targets(options: WebhookOptions, content_type: str = CONTENT_TYPE) -> list[WebhookTarget]:
    """Return the configured target of each URL, for bodies of this type."""
    further = (options.timeout, options.bearer_token_file, options.ca_file, content_type)
    return [WebhookTarget(url, *further) for url in options.url]


class WebhookNotifier:
    """Queues the verdict changes of snapshots. `announce` is called by the tick thread, `status` by any thread."""

    def __init__(self, queue: EventQueue, sender: WebhookSender, cluster_id: str) -> None:
        self._queue = queue
        self._sender = sender
        self._cluster_id = cluster_id
        self._announced: dict[str, AnnouncedVerdict] | None = None
        self._gaps = KnowledgeGaps()
        self._size: tuple[int, float | None] = (0, None)

    @classmethod
    @contextlib.contextmanager
    def running(cls, options: WebhookOptions, folder: Path | None, cluster_id: str) -> Iterator[Self | None]:
        """Yield the notifier with its sender running, None without a configured webhook for CloudEvents.

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
        with contextlib.closing(queue), WebhookSender(queue, *webhook_targets(options)) as sender:
            yield cls(queue, sender, cluster_id)

    def announce(self, snapshot: Snapshot, finding_of: Callable[[str], FindingDetail | None]) -> Sequence[VerdictEvent]:
        """Queue an event for each verdict that changed, and return them.

        Of very many, the next calls queue the rest. If the queue cannot be written, there are none, and the next call
        finds the changes again.
        """
        gaps = self._gaps.update(snapshot)
        try:
            if self._announced is None:
                self._announced = self._queue.announced()
            changes = verdict_changes(snapshot, self._announced, gaps)[:_MOST_EVENTS]
            events = verdict_events(snapshot, changes, self._announced, finding_of, self._cluster_id)
            forgotten = list(forgotten_groups(snapshot, self._announced))
            if events or forgotten:
                self._sender.count_drops("queue_full", self._queue.append(events, forgotten))
                record_announced(self._announced, changes, forgotten)
        except QueueUnavailableError as error:
            self._sender.count_failure("queue", str(error))
            return ()
        if events:
            self._sender.wake()
        return events

    def status(self) -> WebhookStatus:
        """Return the state as of now; the size of the queue is the last one known if it cannot be read."""
        with contextlib.suppress(QueueUnavailableError):
            self._size = self._queue.size()
        return webhook_status([self._sender], *self._size)
