"""The requests of `lagwarden top`, for a thread of their own: keys are answered while one is in flight."""

import contextlib
import dataclasses
import queue
from collections.abc import Callable

from stream.cli.api_client import InstanceClient
from stream.cli.group_source import WORST_FIRST, Answer
from stream.errors import Refusal


@dataclasses.dataclass(frozen=True, slots=True)
class PollResult:
    """The newest known answers."""

    listed: Answer | None = None
    """All groups, the worst first; None before the first answer."""
    detail: Answer | None = None
    """The opened group."""
    error: str = ""
    """Why the answers are not newer, or that the opened group no longer exists."""


def poll(source: InstanceClient, opened: str | None, previous: PollResult) -> PollResult:
    """Request this group, None: all groups. What is not answered is as in the previous result."""
    try:
        if opened is None:
            return PollResult(source.groups(WORST_FIRST))
        detail = source.group(opened)
    except Refusal as refusal:
        return dataclasses.replace(previous, error=refusal.what)
    error = "" if detail else "this group no longer exists"
    return dataclasses.replace(previous, detail=detail or previous.detail, error=error)


def poll_forever(
    source: InstanceClient,
    interval: float,
    result: PollResult,
    opened: queue.SimpleQueue[str | None],
    on_result: Callable[[PollResult], None],
) -> None:
    """Request all groups every `interval` seconds, or at once and from then on what is put into `opened`."""
    name: str | None = None
    while True:
        with contextlib.suppress(queue.Empty):
            name = opened.get(timeout=interval)
        result = poll(source, name, result)
        on_result(result)
