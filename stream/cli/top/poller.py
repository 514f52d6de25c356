"""The requests of `lagwarden top`, for a thread of their own: keys are answered while one is in flight."""

import contextlib
import dataclasses
import queue
from collections.abc import Callable

from stream.cli.api_client import InstanceClient, note_of_part
from stream.cli.group_source import WORST_FIRST, Answer
from stream.errors import Refusal


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


def poll(source: InstanceClient, opened: str | None, previous: PollResult) -> PollResult:
    """Request this group, None: all groups. What is not answered is as in the previous result."""
    try:
        if opened is None:
            return poll_groups(source)
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
