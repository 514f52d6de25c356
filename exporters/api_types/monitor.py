"""The types of the responses about the monitor itself: readiness and errors."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from exporters.api_types.json_object import EXPERIMENTAL


class ReadinessResponse(TypedDict):
    """`/readyz`."""

    ready: bool
    phase: str
    reasons: tuple[str, ...]
    catch_up_ratio: float | None
    catch_up_seconds_left: float | None
    snapshot_time: str | None


class NoSnapshotResponse(TypedDict):
    """There is no snapshot yet; `phase` and `reasons` as in `/readyz`."""

    error: str
    phase: str
    reasons: tuple[str, ...]


class ErrorResponse(TypedDict):
    """Why there is no other response; with the requested group or topic, if there is one.

    `instance` is the part (`i/n`) of another instance that monitors the group, `url` its base URL if that is known.
    """

    error: str
    group: NotRequired[str | None]
    topic: NotRequired[str | None]
    instance: NotRequired[Annotated[str, EXPERIMENTAL]]
    url: NotRequired[Annotated[str, EXPERIMENTAL]]
