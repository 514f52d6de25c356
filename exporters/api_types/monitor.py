"""The types of the responses about the monitor itself, readiness and errors, and of its events."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from exporters.api_types.groups import EvidenceValue
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


class EventOwner(TypedDict):
    """The owner of a group (`groups.owners`)."""

    team: str | None
    tier: str | None
    link: str | None


class VerdictEventData(TypedDict):
    """The content of a verdict event. `before` is null in the first event about the group."""

    group: str
    before: str | None
    verdict: str | None
    severity: str | None
    since: str | None
    sentence: str | None
    evidence: dict[str, EvidenceValue]
    next_step: str | None
    owner: EventOwner | None
    maintenance_until: str | None
    silence_reason: str | None
    not_alerted: bool


class VerdictCloudEvent(TypedDict):
    """A verdict event as CloudEvent 1.0. An empty `subject` is left out."""

    specversion: str
    id: str
    source: str
    type: str
    subject: NotRequired[str]
    time: str
    datacontenttype: str
    data: VerdictEventData
