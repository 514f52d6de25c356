"""The sources of the commands about groups: a running instance (`api_client`) or a capture (`capture_groups`).

Both answer as the HTTP API does, in values of JSON: tables and `--json` have one shape for any source. This module also
has what reads those answers: times, and the error for an unknown group.
"""

import difflib
from typing import Any, Final, Protocol

from exporters.group_query import ALL_GROUPS, GroupQuery, SortKey
from exporters.wording import duration, duration_or_zero, unix_time
from stream.cli.render.tables import display_text
from stream.errors import ExitCode, Refusal

Answer = dict[str, Any]
"""A JSON object of the API."""

WORST_FIRST: Final = GroupQuery(sort=SortKey.WORST)
"""All groups by severity, then by time lag, then by lag; dead groups come last."""
_NEAR: Final = 3


class GroupSource(Protocol):
    """A source of group data. Every method may raise Refusal."""

    knows_ends: bool
    """Whether the source knows end offsets. Without them every lag is unknown."""
    problems: list[str]
    """Lines about input that could not be read; complete after an answer."""
    notes: list[str]
    """Lines about limits of the answer, such as its age; complete after an answer."""

    def groups(self, query: GroupQuery = ALL_GROUPS) -> Answer:
        """Return the groups of a query, as `GET /api/v1/groups` does."""

    def group(self, name: str) -> Answer | None:
        """Return one group, as `GET /api/v1/group?name=…` does; None if there is none of that name."""


def find_group(source: GroupSource, name: str) -> Answer:
    """Return one group. Raises Refusal with the nearest names if there is none of that name."""
    answer = source.group(name)
    if answer is not None:
        return answer
    every = [group["group"] for group in source.groups()["groups"]]
    near = difflib.get_close_matches(name, every, _NEAR) or [other for other in every if name in other][:_NEAR]
    if near:
        advice = f"did you mean {' or '.join(map(display_text, near))}?"
    else:
        advice = "`lagwarden groups` lists all groups" if every else "there are no groups"
    raise Refusal(f"there is no group named {display_text(name)}", advice, ExitCode.NO_SUCH_GROUP)


def age(time: str | None, now: float) -> str:
    """Return how long ago a time of the API was; `-` for none."""
    then = unix_time(time)
    return "-" if then is None else duration(max(now - then, 0.0))


def time_left(time: str | None, now: float) -> str:
    """Return how far ahead a time of the API is; `due` if it has passed, `-` for none."""
    then = unix_time(time)
    if then is None:
        return "-"
    return duration(then - now) if then > now else "due"


def format_time_lag(seconds: float | None, *, exact: bool | None) -> str:
    """Return the age of the oldest unread record, marked with `≥` if it is a lower bound; `-` for none."""
    least = "\N{GREATER-THAN OR EQUAL TO} " if exact is False else ""
    return "-" if seconds is None else least + duration_or_zero(seconds)
