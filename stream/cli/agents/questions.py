"""The questions that an agent can ask about a running instance. Without the protocol, so the extra is not needed.

Responses are parts of those of the HTTP API, short enough for an agent to read: lists are bounded, and say how many
entries there are in total.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from exporters.group_query import GroupQuery, GroupQueryError, SortKey
from exporters.wording import ATTENTION
from stream.cli.api_client import InstanceClient
from stream.cli.group_source import Answer, find_group  # the SDK reads the annotations of the questions
from stream.errors import ExitCode, Refusal

MOST_GROUPS: Final = 200
"""The greatest number of groups in a response."""
_MOST_ENTRIES: Final = 20
_BRIEF: Final = (
    "group", "state", "severity", "verdict", "verdict_since", "sentence", "lag_sum", "time_lag_max", "members",
    "partitions", "team", "maintenance_until", "silence_reason",
)  # fmt: skip
_WHOLE: Final = (
    *_BRIEF, "kind", "scalable_lag", "members_useful", "last_commit_time", "partitions_lag_unknown", "unknown_lags",
    "death_cause", "tier", "link", "finding",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class AgentQuestions:
    """Asks a new client of the instance each time. Every method may raise Refusal."""

    client: Callable[[], InstanceClient]

    def unhealthy_groups(
        self,
        severities: list[str] | None = None,
        owner: str | None = None,
        name_part: str | None = None,
        limit: int = 50,
    ) -> Answer:
        """Return the unhealthy groups, the worst first, and what many of them have in common.

        `severities`: fine, unknown, notice, warning, critical; by default the last two. `owner` is a team.
        """
        pairs = [("severity", each) for each in severities or ATTENTION]
        pairs += [(name, value) for name, value in (("owner", owner), ("filter", name_part)) if value is not None]
        try:
            query = GroupQuery.parse(pairs)
        except GroupQueryError as error:
            raise Refusal(str(error), "correct the value", ExitCode.USAGE) from error
        answer = self.client().groups(dataclasses.replace(query, sort=SortKey.WORST, limit=_bounded(limit)))
        return {
            "snapshot_time": answer["snapshot_time"],
            "total": answer["total"],
            "common_causes": [{**cause, "groups": _first(cause["groups"])} for cause in answer["common_causes"]],
            "groups": [_part(group, _BRIEF) for group in answer["groups"]],
        }

    def explain_group(self, group: str) -> Answer:
        """Return the verdict of a group with its evidence and next step, and its worst partitions and topics."""
        found = find_group(self.client(), group)
        return {
            "snapshot_time": found["snapshot_time"],
            **_part(found, _WHOLE),
            "findings": _first(found["findings"]),
            "topics": _first(found["by_topic"]),
            "quotas": _first(found.get("quotas")),
        }

    def verdict_history(self, group: str) -> Answer:
        """Return the latest changes of a group's verdict, and of its state: created, emptied, died and so on."""
        found = find_group(self.client(), group)
        return {
            "snapshot_time": found["snapshot_time"],
            **_part(found, ("group", "state", "verdict", "verdict_since")),
            "verdicts": _latest(found["verdicts"]),
            "transitions": _latest(found["transitions"]),
        }

    def groups_of_topic(self, topic: str, limit: int = 50) -> Answer:
        """Return the groups that read a topic, the worst first, with their lag in this topic."""
        query = GroupQuery(sort=SortKey.WORST, limit=_bounded(limit))
        answer = self.client().topic_groups(topic, query)
        if answer is None:
            raise Refusal(f"no group reads a topic named {topic}", "check the name", ExitCode.NO_SUCH_GROUP)
        return answer


def _bounded(limit: int) -> int:
    return min(max(limit, 1), MOST_GROUPS)


def _part(group: Answer, names: Iterable[str]) -> Answer:
    return {name: group[name] for name in names}


def _first(entries: Sequence[Any] | None) -> Answer | None:
    """Return the first entries and their total number; None for what is not known."""
    return None if entries is None else {"total": len(entries), "first": entries[:_MOST_ENTRIES]}


def _latest(entries: Sequence[Any] | None) -> Answer | None:
    """Return the latest entries, oldest first, and their total number; None for what is not known."""
    return None if entries is None else {"total": len(entries), "latest": entries[-_MOST_ENTRIES:]}
