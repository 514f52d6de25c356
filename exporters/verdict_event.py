"""Events about changed verdicts, as the webhook and the event stream send them. Pure."""

import dataclasses
from typing import Final

from exporters.group_query import PARAMETERS, UNKNOWN, GroupQuery

EVENT_FILTERS: Final = ("filter", "owner", "verdict", "severity")
"""The parameters of a query that an event can be compared with."""
NO_EVENT_FILTERS: Final = tuple(each.name for each in PARAMETERS if each.name not in EVENT_FILTERS)
"""The other parameters: an event has no value for them."""


@dataclasses.dataclass(frozen=True, slots=True)
class AnnouncedVerdict:
    """The verdict of the last event about a group, and its severity."""

    verdict: str
    severity: str


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictEvent:
    """An event, ready to be sent: `body` is a CloudEvent as JSON in ASCII without a line feed. `time` is Unix seconds.

    `announced` is None if the group has no verdict any more, `before` if this is the first event about the group, and
    `team` if the group has no owner.
    """

    id: str
    group: str
    time: float
    body: bytes
    announced: AnnouncedVerdict | None
    before: AnnouncedVerdict | None = None
    team: str | None = None

    def matches(self, query: GroupQuery) -> bool:
        """Return whether the event passes the filters of EVENT_FILTERS.

        Verdict and severity are compared with the new and the previous ones, so that the end of a fault passes a filter
        that its beginning has passed.
        """
        verdicts = [each for each in (self.before, self.announced) if each is not None]
        return (
            (not query.filter or query.filter.lower() in self.group.lower())
            and (query.owner is None or (self.team or UNKNOWN) == query.owner)
            and (not query.verdict or any(each.verdict in query.verdict for each in verdicts))
            and (not query.severity or any(each.severity in query.severity for each in verdicts))
        )
