"""The entries of `groups.owners`, `groups.maintenance` and `groups.silences`, and the policies made of them.

A pattern is one of `stream.config.values.check_pattern`; it must match the whole name of a group.
"""

import dataclasses
import datetime as dt
import math
import re
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

import yaml
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from stream.config.values import check_pattern, parse_seconds, split_http_url

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of a weekly schedule, in the order of `datetime.date.weekday`."""
_DAY_SECONDS: Final = 86_400


@dataclasses.dataclass(frozen=True, slots=True)
class SingleWindow:
    """A window from `start` to `end` (Unix seconds); the end is not part of it."""

    start: float
    end: float

    def open_until(self, now: float) -> float | None:
        """Return the end of the window if it is open at `now` (both Unix seconds), otherwise None."""
        return self.end if self.start <= now < self.end else None


@dataclasses.dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """A window of `seconds` that begins on each of `days` (numbers of DAYS) at the local time `at` of a time zone.

    The length is elapsed time, so that a window over a change of the clock is as long as any other. A local time that
    the clock skips is read with the offset before the change (02:30 becomes 03:30), one that occurs twice is the first,
    as in RFC 5545, section 3.3.5.
    """

    days: frozenset[int]
    at: dt.time
    seconds: float
    zone: str

    def open_until(self, now: float) -> float | None:
        """Return the latest end of the windows that are open at `now` (both Unix seconds), None if there is none."""
        zone = ZoneInfo(self.zone)
        today = dt.datetime.fromtimestamp(now, zone).date()
        # One day more on each side: a change of the clock moves a start over midnight in UTC, but never by a day.
        back = math.ceil(self.seconds / _DAY_SECONDS) + 1
        days = (today - dt.timedelta(days=before) for before in range(-1, back + 1))
        starts = (dt.datetime.combine(day, self.at, zone).timestamp() for day in days if day.weekday() in self.days)
        return max((start + self.seconds for start in starts if start <= now < start + self.seconds), default=None)


MaintenanceWindow = SingleWindow | WeeklyWindow


@dataclasses.dataclass(frozen=True, slots=True)
class Silence:
    """Mutes the alerts about a group for a reason, until `until` (Unix seconds); None: while it is configured."""

    reason: str
    until: float | None = None

    def holds(self, now: float) -> bool:
        """Return whether it mutes at `now` (Unix seconds). The end is not part of it."""
        return self.until is None or now < self.until


_LONGEST_TEXT: Final = 256
_LONGEST_WINDOW: Final = 7 * 86_400
_MINUTES_PER_DAY: Final = 24 * 60


def parse_entries(value: object) -> object:
    """Parse text, which is from a variable or a flag, as a YAML or JSON list. Other values are returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return yaml.safe_load(value) or []
    except yaml.YAMLError:
        raise ValueError("must be a list of mappings, in YAML or JSON") from None


def _label_text(value: object) -> object:
    """Return a whole number as text, so that `tier: 1` needs no quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_label(value: str) -> str:
    if not 0 < len(value) <= _LONGEST_TEXT or not value.isprintable() or value != value.strip():
        raise ValueError(f"must be printable text of 1 to {_LONGEST_TEXT} characters without spaces at its ends")
    return value


def _check_link(value: str) -> str:
    split_http_url(value, "https://wiki.example.com/payments")
    return value


def _time_of_day(value: object) -> object:
    """Return a time of day as HH:MM. YAML 1.1 reads `22:30` without quotes as a number of minutes."""
    if isinstance(value, int) and not isinstance(value, bool) and 60 <= value < _MINUTES_PER_DAY:
        return "{}:{:02}".format(*divmod(value, 60))
    if isinstance(value, str) and re.fullmatch(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", value):
        return value
    raise ValueError('must be a time of day such as "22:30"')


def _check_days(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise ValueError("must name at least one day; without `days` the window is daily")
    return value


def _check_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"{value!r} is not the name of a time zone, such as Europe/Berlin") from None
    return value


_Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_Text = Annotated[str, BeforeValidator(_label_text, json_schema_input_type=str | int), AfterValidator(_check_label)]
_Length = Annotated[
    float, BeforeValidator(parse_seconds, json_schema_input_type=float | str), Field(gt=0, le=_LONGEST_WINDOW)
]


class _Entry(BaseModel):
    """An entry for the groups whose names match a pattern."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    groups: Annotated[str, AfterValidator(check_pattern)]


class OwnerEntry(_Entry):
    """The owner of the groups whose names match a pattern. At least one label is needed."""

    team: _Text | None = None
    tier: _Text | None = None
    link: Annotated[_Text, AfterValidator(_check_link)] | None = None
    max_severity: Literal["critical", "warning", "info"] | None = None

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        if self.team is None and self.tier is None and self.link is None and self.max_severity is None:
            raise ValueError(f"the owner of {self.groups!r} needs team, tier, link or max_severity")
        return self


class MaintenanceEntry(_Entry):
    """A maintenance window of the groups whose names match a pattern: `from` and `to`, or a weekly schedule."""

    start: AwareDatetime | None = Field(default=None, alias="from")
    end: AwareDatetime | None = Field(default=None, alias="to")
    days: Annotated[tuple[_Day, ...], AfterValidator(_check_days)] | None = None
    at: Annotated[str, BeforeValidator(_time_of_day, json_schema_input_type=str | int)] | None = None
    length: _Length | None = Field(default=None, alias="for")
    timezone: Annotated[str, AfterValidator(_check_zone)] | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        single = [self.start, self.end]
        weekly = [self.at, self.length]
        others = [self.days, self.timezone]
        if not any(value is not None for value in [*weekly, *others]) and None not in single:
            if self.start >= self.end:  # type: ignore[operator] # neither is None
                raise ValueError(f"the window of {self.groups!r} must end after it begins")
            return self
        if single == [None, None] and None not in weekly:
            return self
        raise ValueError(f"the window of {self.groups!r} needs `from` and `to`, or `at` and `for`")

    @property
    def window(self) -> MaintenanceWindow:
        """The window. A weekly one without days is daily, and without a time zone in UTC."""
        if self.start is not None and self.end is not None:
            return SingleWindow(self.start.timestamp(), self.end.timestamp())
        days = frozenset(map(DAYS.index, self.days or DAYS))
        hour, _, minute = (self.at or "0:0").partition(":")
        return WeeklyWindow(days, dt.time(int(hour), int(minute)), self.length or 0.0, self.timezone or "UTC")


class SilenceEntry(_Entry):
    """A silence of the groups whose names match a pattern: the reason, and the end if it has one."""

    reason: _Text
    until: AwareDatetime | None = None

    @property
    def silence(self) -> Silence:
        """The silence."""
        return Silence(self.reason, None if self.until is None else self.until.timestamp())


OwnerEntries = Annotated[tuple[OwnerEntry, ...], BeforeValidator(parse_entries)]
MaintenanceEntries = Annotated[tuple[MaintenanceEntry, ...], BeforeValidator(parse_entries)]
SilenceEntries = Annotated[tuple[SilenceEntry, ...], BeforeValidator(parse_entries)]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPolicies:
    """Owners, maintenance windows and silences by pattern.

    The first owner that matches applies, every window, and the first silence that still holds.
    """

    owners: tuple[tuple[str, dict[str, str | None]], ...] = ()
    """A pattern, and the labels `team`, `tier`, `link` and `max_severity`; None: not given."""
    maintenance: tuple[tuple[str, MaintenanceWindow], ...] = ()
    silences: tuple[tuple[str, Silence], ...] = ()
