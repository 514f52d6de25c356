"""Maintenance windows: their borders, weekly schedules in local time, and changes of the clock."""

import datetime as dt
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from stream.config.ownership import DAYS, WeeklyWindow

HOUR = 3600.0


def at(text: str) -> float:
    """Return an RFC 3339 time in Unix seconds."""
    return dt.datetime.fromisoformat(text).timestamp()


def weekly(*days: str, begins: str = "02:30", hours: float = 2, zone: str = "Europe/Berlin") -> WeeklyWindow:
    numbers = frozenset(map(DAYS.index, days or DAYS))
    return WeeklyWindow(numbers, dt.time.fromisoformat(begins), hours * HOUR, zone)


# Each story has a name, a window, the first moment of one of its openings, and the end of this opening.
NIGHT, SUNDAY = weekly("sat", begins="23:00"), weekly("sun")
KIRITIMATI = weekly("mon", zone="Pacific/Kiritimati")
PAGO_PAGO = weekly("sun", begins="23:30", zone="Pacific/Pago_Pago")
# Each story has a window, the first moment of one of its openings, and the end of this opening.
STORIES = {
    "in summer": (weekly("sat"), "2026-07-04T02:30+02:00", "2026-07-04T04:30+02:00"),
    "in winter": (weekly("sat"), "2026-12-05T02:30+01:00", "2026-12-05T04:30+01:00"),
    "over midnight, into the next day": (NIGHT, "2026-07-04T23:00+02:00", "2026-07-05T01:00+02:00"),
    "over the end of the week": (weekly("sun", begins="23:00"), "2026-07-05T23:00+02:00", "2026-07-06T01:00+02:00"),
    "over several days": (weekly("fri", hours=72), "2026-07-03T02:30+02:00", "2026-07-06T02:30+02:00"),
    "the clock skips the start": (SUNDAY, "2026-03-29T03:30+02:00", "2026-03-29T05:30+02:00"),
    "the clock skips an hour": (weekly("sun", begins="01:30"), "2026-03-29T01:30+01:00", "2026-03-29T04:30+02:00"),
    "the start occurs twice: opens at the first": (SUNDAY, "2026-10-25T02:30+02:00", "2026-10-25T03:30+01:00"),
    "far east: the day is ahead of UTC": (KIRITIMATI, "2026-07-05T12:30+00:00", "2026-07-05T14:30+00:00"),
    "far west: the day is behind UTC": (PAGO_PAGO, "2026-07-06T10:30+00:00", "2026-07-06T12:30+00:00"),
}


def test_a_weekly_window_opens_by_the_local_clock() -> None:
    """The window is closed a second before its start and at its end, and open at its first and last second.

    If the clock skips the start, the UTC offset before the change applies.
    """
    for name, (window, begins, ends) in STORIES.items():
        first, last = at(begins), at(ends)
        assert (name, last - first) == (name, window.seconds)
        found = [window.open_until(now) for now in (first - 1, first, last - 1, last)]
        assert (name, found) == (name, [None, last, last, None])


def test_a_window_is_closed_on_other_days() -> None:
    """A window on Saturdays is closed at the same time on Friday and on Sunday.

    A daily window of 30 hours never closes; its end is that of the latest opening.
    """
    window = weekly("sat")
    assert window.open_until(at("2026-07-03T03:00+02:00")) is None
    assert window.open_until(at("2026-07-05T03:00+02:00")) is None
    daily = weekly(hours=30, zone="UTC")
    assert daily.open_until(at("2026-07-04T03:00+00:00")) == at("2026-07-05T08:30+00:00")


@given(
    st.sets(st.integers(0, 6), min_size=1),
    st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    st.integers(1, 7 * 24),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"]),
    st.integers(0, 2_000_000_000),
)
def test_an_open_window_began_on_one_of_its_days(
    days: set[int], begins: dt.time, hours: int, zone: str, now: int
) -> None:
    """Law: the end is ahead by no more than the length, and the opening began on a day of the schedule, or just after.

    Just after: a start that the clock skips may fall on the next day.
    """
    window = WeeklyWindow(frozenset(days), begins, hours * HOUR, zone)
    end = window.open_until(now)
    if end is None:
        assert len(days) < 7 or hours < 25
        return
    assert now < end <= now + window.seconds
    start = dt.datetime.fromtimestamp(end - window.seconds, ZoneInfo(zone))
    assert {start.weekday(), (start - dt.timedelta(hours=25)).weekday()} & days
