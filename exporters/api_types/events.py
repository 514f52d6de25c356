"""The types of verdict events."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from exporters.api_types.groups import EvidenceValue  # noqa: TC001 -- pydantic reads annotations


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
    unpaged: bool


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
