"""Polls an instance in a thread of its own, so that keys are answered while a request is in flight."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Self

from stream.cli.api_client import note_of_part
from stream.cli.group_source import WORST_FIRST
from stream.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cli.api_client import InstanceClient
    from stream.cli.group_source import Answer


@dataclasses.dataclass(frozen=True, slots=True)
class PollResult:
    """The newest known answers."""

    groups: tuple[Answer, ...] | None = None
    """All groups, the worst first; None before the first answer."""
    snapshot_time: str | None = None
    """When the instance took the snapshot of `groups`, in RFC 3339."""
    detail: Answer | None = None
    """The opened group."""
    error: str = ""
    """Why the answers are not newer, or that the opened group no longer exists."""
    common_causes: tuple[Answer, ...] = ()
    """The common causes of unhealthy groups."""
    note: str = ""
    """Which groups these are, and where the others are, if several instances share the groups."""
    cluster_name: str | None = None
    """The configured name of the cluster."""


def poll_groups(source: InstanceClient) -> PollResult:
    """Request all groups once. Raises Refusal."""
    answer = source.groups(WORST_FIRST)
    causes = tuple(answer.get("common_causes", ()))  # older instances have none
    return PollResult(
        tuple(answer["groups"]),
        answer["snapshot_time"],
        common_causes=causes,
        note=note_of_part(answer),
        cluster_name=answer.get("cluster_name"),
    )


class Poller:
    """Requests all groups, or the opened one, every `interval` seconds while its context is entered.

    `on_result` is called in the thread of the poller.
    """

    def __init__(
        self, source: InstanceClient, interval: float, first: PollResult, on_result: Callable[[PollResult], None]
    ) -> None:
        self._source = source
        self._interval = interval
        self._result = first
        self._on_result = on_result
        self._opened: str | None = None
        self._wake = threading.Event()
        self._stopped = threading.Event()
        # A request may take its whole timeout; the process does not wait for it at exit.
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._wake.set()

    def poll_group(self, name: str | None) -> None:
        """Request this group from now on, at once; None: all groups."""
        if name != self._opened:
            self._opened = name
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(self._interval)
            self._wake.clear()
            if self._stopped.is_set():
                return
            self._result = self._poll(self._result, self._opened)
            if not self._stopped.is_set():
                self._on_result(self._result)

    def _poll(self, previous: PollResult, opened: str | None) -> PollResult:
        try:
            if opened is None:
                return poll_groups(self._source)
            detail = self._source.group(opened)
        except Refusal as refusal:
            return dataclasses.replace(previous, error=refusal.what)
        error = "" if detail else "this group no longer exists"
        return dataclasses.replace(previous, detail=detail or previous.detail, error=error)
