"""What the verbs about groups ask, whoever answers: a running instance (`running`) or a capture (`offline.captured`).

The answers are those of the HTTP API, as plain values of JSON: one shape for tables and for `--json`, whatever the
source. Here is what is common to reading them: moments, choosing groups, and the refusal of a name that is not there.
"""

from __future__ import annotations

import datetime as dt
import difflib
from typing import TYPE_CHECKING, Any, Final, Protocol

from stream.cli.render.tables import display_text
from stream.errors import ExitCode, Refusal
from stream.wording import compact_duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Answer = dict[str, Any]
"""A JSON object of the API."""

STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead", "Assigning", "Reconciling", "NotReady",
)  # fmt: skip
"""The states of groups under the names of Kafka's tools."""
KINDS: Final = ("simple", "classic", "consumer", "share", "streams")
_NEAR: Final = 3


class GroupSource(Protocol):
    """Somebody who knows groups. Every call may raise Refusal."""

    knows_ends: bool
    """Whether it knows the ends of partitions, and so can know lag at all."""
    problems: list[str]
    """What could not be read, a line each; complete after an answer."""
    notes: list[str]
    """What a person should know of the answer, likewise."""

    def groups(self) -> Answer:
        """Give all groups, as `GET /api/v1/groups` does."""

    def group(self, name: str) -> Answer | None:
        """Give one group, as `GET /api/v1/group?name=…` does; None if there is none of that name."""


def find(source: GroupSource, name: str) -> Answer:
    """Give one group. Raises Refusal, with the nearest names if there is none of that name."""
    answer = source.group(name)
    if answer is None:
        raise no_such_group(name, [group["group"] for group in source.groups()["groups"]])
    return answer


def no_such_group(name: str, names: Iterable[str]) -> Refusal:
    """Word the refusal of a name that no group has."""
    every = list(names)
    near = difflib.get_close_matches(name, every, _NEAR) or [other for other in every if name in other][:_NEAR]
    if near:
        advice = f"did you mean {' or '.join(map(display_text, near))}?"
    else:
        advice = "`lagwarden groups` lists those that there are" if every else "no group is known at all"
    return Refusal(f"there is no group named {display_text(name)}", advice, ExitCode.NO_SUCH_GROUP)


def filter_groups(groups: Iterable[Answer], states: Collection[str], kinds: Collection[str]) -> list[Answer]:
    """Give the groups in one of the states and of one of the kinds; none named: all."""
    return [
        group for group in groups if (not states or group["state"] in states) and (not kinds or group["kind"] in kinds)
    ]


def unix_time(text: str | None) -> float | None:
    """Read a moment of the API as Unix seconds."""
    return None if text is None else dt.datetime.fromisoformat(text).timestamp()


def age(time: str | None, now: float) -> str:
    """Return how long ago a time of the API was, as one word; `-` for none."""
    then = unix_time(time)
    return "-" if then is None else compact_duration(now - then)


def time_left(time: str | None, now: float) -> str:
    """Return how far ahead a time of the API is, as one word; `due` if it has passed, `-` for none."""
    then = unix_time(time)
    if then is None:
        return "-"
    return compact_duration(then - now) if then > now else "due"


def format_time_lag(seconds: float | None, *, exact: bool | None) -> str:
    """Say in one word how old the oldest unread record is, marked where it is at least so old."""
    least = "\N{GREATER-THAN OR EQUAL TO}" if exact is False else ""
    return "-" if seconds is None else least + compact_duration(seconds)
