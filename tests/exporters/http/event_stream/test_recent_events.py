"""The memory of recent events: positions, limits, and what was missed."""

import pytest

from exporters.http.event_stream.response import EventPosition, RecentEvents
from exporters.verdict_event import VerdictEvent


def events(*names: str, size: int = 10) -> list[VerdictEvent]:
    """Return events about these groups with bodies of this size."""
    return [VerdictEvent(name, name, 0.0, b"x" * size, None) for name in names]


def names(recent: RecentEvents, position: EventPosition, most: int = 100) -> list[str]:
    return [event.group for _, event in recent.read(position, most)[1]]


def test_a_reader_gets_every_event_once() -> None:
    """A reader reads every event once from its position, in parts of any size."""
    recent = RecentEvents()
    start = recent.end()
    recent.append(events("a", "b", "c"))
    middle, first = recent.read(start, 2)
    assert [(number, event.group) for number, event in first] == [(1, "a"), (2, "b")]
    end, rest = recent.read(middle, 2)
    assert [(number, event.group) for number, event in rest] == [(3, "c")]
    assert recent.read(end, 2) == (recent.end(), [])


@pytest.mark.parametrize("recent", [RecentEvents(most_events=2), RecentEvents(most_bytes=20)], ids=["events", "bytes"])
def test_the_oldest_events_are_dropped_and_counted(recent: RecentEvents) -> None:
    """The oldest events are dropped beyond a number or a size of events, and are counted."""
    start = recent.end()
    recent.append(events("a", "b"))
    recent.append(events("c", "d", "e"))
    position, found = recent.read(start, 100)
    assert [event.group for _, event in found] == ["d", "e"]
    assert position.missed == 3


def test_a_reader_continues_after_the_event_that_it_knows() -> None:
    """Without a gap, or with the number of dropped events; after an unknown id with the oldest and no number."""
    recent = RecentEvents(most_events=2)
    recent.append(events("a", "b", "c", "d"))
    assert recent.after(recent.event_id(3)) == EventPosition(3, 0)
    assert names(recent, recent.after(recent.event_id(3))) == ["d"]
    assert recent.after(recent.event_id(1)) == EventPosition(2, 1)
    assert recent.after(recent.event_id(4)) == recent.end()
    recent = RecentEvents(most_events=3)
    recent.append(events("a", "b", "c", "d"))
    numbers = ("", "x", "-1", "²", "9" * 5000, "5", "1-1")
    for unknown in (RecentEvents().event_id(1), *(recent.event_id(0)[:-1] + number for number in numbers)):
        position = recent.after(unknown)
        assert position.missed is None
        assert names(recent, position) == ["b", "c", "d"]
