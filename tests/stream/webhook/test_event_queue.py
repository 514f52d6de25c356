"""The queue of events on disk: order, bound, restarts, damage."""

import sqlite3
from pathlib import Path

import pytest

from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from stream.webhook.event_queue import FILE, EventQueue, QueueUnavailableError

STALLED = AnnouncedVerdict("stalled", "critical")


def event(group: str, time: float = 1.0, announced: AnnouncedVerdict | None = STALLED) -> VerdictEvent:
    return VerdictEvent(
        f"id-{group.encode(errors='replace').decode()}",
        group,
        time,
        f"body of {group}".encode("utf-8", "surrogatepass"),
        announced,
    )


def drain(queue: EventQueue) -> list[str]:
    """Remove all events; return their groups in order."""
    groups = []
    while (first := queue.first()) is not None:
        groups.append(first.group)
        assert queue.remove(first)
    return groups


def test_the_oldest_events_beyond_the_limit_are_dropped(tmp_path: Path) -> None:
    """`append` returns the number of dropped events, to count them.

    An event that was dropped while it was sent is not removed again.
    """
    queue = EventQueue(tmp_path, 2)
    assert queue.append([event("a", 5.0), event("b", 5.0)]) == 0
    assert queue.size() == (2, 5.0)
    sending = queue.first()
    assert sending is not None
    assert queue.append([event("c"), event("d"), event("e")]) == 3
    assert not queue.remove(sending)
    assert drain(queue) == ["d", "e"]


def test_a_restart_keeps_events_and_announced_verdicts(tmp_path: Path) -> None:
    """A killed process loses nothing, because closing the queue writes nothing; names may have lone surrogates."""
    queue = EventQueue(tmp_path, 10)
    queue.append([event("a"), event("\ud800")])
    again = EventQueue(tmp_path, 10)
    assert again.announced() == {"a": STALLED, "\ud800": STALLED}
    again.append([event("a", announced=None)], ["\ud800"])
    assert again.announced() == {}
    again.close()
    queue.close()
    assert drain(EventQueue(tmp_path, 10)) == ["a", "\ud800", "a"]


def test_events_and_announced_verdicts_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    """An error in the middle stores neither events nor verdicts, and later events are stored."""
    queue = EventQueue(tmp_path, 10)
    broken = VerdictEvent("id", "b", 1.0, b"", AnnouncedVerdict(None, None))  # type: ignore[arg-type]
    with pytest.raises(QueueUnavailableError):
        queue.append([event("a"), broken])
    assert (queue.announced(), queue.first()) == ({}, None)
    queue.append([event("a")])
    assert drain(queue) == ["a"]


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_database_is_set_aside(tmp_path: Path, content: bytes) -> None:
    """The damaged file is kept under another name, and a new one is begun; an error of the file system is raised."""
    (tmp_path / FILE).write_bytes(content)
    queue = EventQueue(tmp_path, 10)
    queue.append([event("a")])
    assert drain(queue) == ["a"]
    aside = tmp_path / "webhook.db.set-aside"
    assert aside.read_bytes() == content
    queue.close()
    (tmp_path / FILE).write_bytes(content)
    aside.unlink()
    aside.mkdir()
    with pytest.raises(QueueUnavailableError, match="directory"):
        EventQueue(tmp_path, 10)


def test_an_error_of_the_database_is_the_cause_of_an_error_of_the_queue(tmp_path: Path) -> None:
    """A folder that cannot be written and a closed queue are errors of the queue with the cause that SQLite reports."""
    with pytest.raises(QueueUnavailableError, match="unable to open"):
        EventQueue(tmp_path / "missing", 10)
    queue = EventQueue(tmp_path, 10)
    queue.close()
    with pytest.raises(QueueUnavailableError) as raised:
        queue.first()
    assert isinstance(raised.value.__cause__, sqlite3.Error)


def test_a_full_volume_is_an_error_until_there_is_space(tmp_path: Path) -> None:
    """SQLite rolls the transaction back by itself; the queue works again when there is space."""
    queue = EventQueue(tmp_path, 10)
    pages = queue._connection.execute("PRAGMA page_count").fetchone()[0]
    queue._connection.execute(f"PRAGMA max_page_count = {pages}")
    large = VerdictEvent("id", "a", 1.0, b"x" * 100_000, STALLED)
    with pytest.raises(QueueUnavailableError, match="full"):
        queue.append([large])
    queue._connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
    queue.append([large])
    assert drain(queue) == ["a"]
