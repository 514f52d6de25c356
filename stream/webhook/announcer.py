"""Announces verdict changes to the event stream of the HTTP server, and to the webhook if there is one."""

from collections.abc import Callable, Sequence

from exporters.http.event_stream.response import MOST_EVENTS, RecentEvents
from exporters.readmodel import FindingDetail, Snapshot
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from stream.webhook.alert_poster import AlertPoster
from stream.webhook.event_queue import QueueUnavailableError
from stream.webhook.events import KnowledgeGaps, verdict_changes, verdict_events
from stream.webhook.sender import WebhookSender


class VerdictAnnouncer:
    """Announces each verdict change once. Used by the tick thread.

    With a webhook the stream has exactly the events of the webhook, also over restarts. Without one, the announced
    verdicts are kept in memory: after a start, the first snapshot is an event for each group that is not fine.
    """

    def __init__(
        self,
        recent: RecentEvents,
        cluster_id: str,
        sender: WebhookSender | None = None,
        poster: AlertPoster | None = None,
    ) -> None:
        """Use the `sender` of a webhook for CloudEvents, or the `poster` of one that is an Alertmanager."""
        self._recent = recent
        self._cluster_id = cluster_id
        self._sender = sender
        self._poster = poster
        self._announced: dict[str, AnnouncedVerdict] | None = None
        self._gaps = KnowledgeGaps()

    def announce(self, snapshot: Snapshot, finding_of: Callable[[str], FindingDetail | None]) -> Sequence[VerdictEvent]:
        """Announce the verdicts of a snapshot that differ from the announced ones, and return the events.

        Of very many, the next calls send the rest to the webhook. If they cannot be queued for it, there are none, and
        the next call finds the changes again.
        """
        if self._poster is not None:
            self._poster.update(snapshot)
        gaps = self._gaps.update(snapshot)
        try:
            if self._announced is None:
                self._announced = {} if self._sender is None else self._sender.announced()
            changes, forgotten = verdict_changes(snapshot, self._announced, gaps)
            if self._sender is not None:
                changes = changes[:MOST_EVENTS]
            # The stream would drop the others at once. Each event costs a finding: with very many groups that are not
            # fine, their events would delay the tick after the first one.
            kept = changes[-MOST_EVENTS:]
            events = verdict_events(snapshot, kept, self._announced, finding_of, self._cluster_id)
            if self._sender is not None:
                self._sender.append(events, forgotten)
        except QueueUnavailableError as error:
            if self._sender is not None:
                self._sender.count_failure("queue", str(error))
            return ()
        self._announced |= {each.group: each.announced for each in changes if each.announced is not None}
        for group in (*(each.group for each in changes if each.announced is None), *forgotten):
            self._announced.pop(group, None)
        self._recent.append(events, dropped=len(changes) - len(kept))
        return events
