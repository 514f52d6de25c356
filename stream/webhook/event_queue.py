"""The queue of events on disk: an SQLite database in the folder of the checkpoint.

The events of a tick and the verdicts that they announce are one transaction, which is on disk when it ends. After a
crash, either both are stored, or the next tick finds the change again: an event is never lost and never made twice.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from exporters.verdict_event import AnnouncedVerdict, VerdictEvent

_log = structlog.get_logger(__name__)
FILE: Final = "webhook.db"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, subject BLOB NOT NULL, time REAL NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS announced (subject BLOB PRIMARY KEY, verdict TEXT NOT NULL, severity TEXT NOT NULL);
"""
_DROP_OLDEST: Final = """
DELETE FROM events WHERE number IN (SELECT number FROM events ORDER BY number DESC LIMIT -1 OFFSET ?)
"""
_LOCKED_SECONDS: Final = 5.0


class QueueUnavailableError(Exception):
    """The database cannot be read or written now; the text is the cause."""


class QueuedEvent(NamedTuple):
    """An event in the queue, with its number, by which it is removed."""

    number: int
    id: str
    group: str
    body: bytes


class EventQueue:
    """A bounded queue, oldest first; beyond `limit` events, the oldest are dropped. May be used from several threads.

    All methods raise QueueUnavailableError.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        """Open the database of this folder. A damaged one is set aside, and its events are lost."""
        self._path = folder / FILE
        self._limit = limit
        self._lock = threading.Lock()
        try:
            self._connection = _connect(self._path)
        except sqlite3.OperationalError as error:  # no space, no rights: the file may be sound
            raise QueueUnavailableError(str(error)) from error
        except sqlite3.DatabaseError as error:
            self._connection = self._connect_again(error)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()

    def announced(self) -> dict[str, AnnouncedVerdict]:
        """Return the announced verdicts by group."""
        with self._access() as connection:
            rows = connection.execute("SELECT subject, verdict, severity FROM announced").fetchall()
        return {_name(subject): AnnouncedVerdict(verdict, severity) for subject, verdict, severity in rows}

    def append(self, events: Sequence[VerdictEvent], forgotten: Iterable[str] = ()) -> int:
        """Add events and the verdicts that they announce, at once; return the number of dropped events.

        The announced verdicts of the `forgotten` groups are removed.
        """
        with self._access() as connection:
            connection.executemany(
                "INSERT INTO events (id, subject, time, body) VALUES (?, ?, ?, ?)",
                [(event.id, _bytes(event.group), event.time, event.body) for event in events],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO announced VALUES (?, ?, ?)",
                [
                    (_bytes(event.group), event.announced.verdict, event.announced.severity)
                    for event in events
                    if event.announced is not None
                ],
            )
            gone = [*(event.group for event in events if event.announced is None), *forgotten]
            connection.executemany("DELETE FROM announced WHERE subject = ?", [(_bytes(group),) for group in gone])
            return connection.execute(_DROP_OLDEST, (self._limit,)).rowcount

    def first(self) -> QueuedEvent | None:
        """Return the oldest event, None if there is none."""
        with self._access() as connection:
            row = connection.execute("SELECT number, id, subject, body FROM events ORDER BY number LIMIT 1").fetchone()
        return None if row is None else QueuedEvent(row[0], row[1], _name(row[2]), row[3])

    def remove(self, event: QueuedEvent) -> bool:
        """Remove an event; return False if it was dropped in the meantime."""
        with self._access() as connection:
            return connection.execute("DELETE FROM events WHERE number = ?", (event.number,)).rowcount == 1

    def size(self) -> tuple[int, float | None]:
        """Return the number of events, and the time of the oldest one (Unix seconds; None if there is none)."""
        with self._access() as connection:
            count, oldest = connection.execute("SELECT count(*), min(time) FROM events").fetchone()
        return count, oldest

    @contextlib.contextmanager
    def _access(self) -> Iterator[sqlite3.Connection]:
        """Make one transaction inside `with`, which an error rolls back."""
        with self._lock:
            try:
                with self._connection:
                    yield self._connection
            except sqlite3.Error as error:
                raise QueueUnavailableError(str(error)) from error

    def _connect_again(self, damage: Exception) -> sqlite3.Connection:
        """Set the damaged database aside, and return the connection to a new one."""
        _log.warning("queue of the webhook set aside; its events are lost", file=str(self._path), why=str(damage))
        try:
            self._path.replace(self._path.with_suffix(".db.set-aside"))
            for name in ("-wal", "-shm"):
                self._path.with_name(FILE + name).unlink(missing_ok=True)
            return _connect(self._path)
        except (sqlite3.Error, OSError) as error:
            raise QueueUnavailableError(str(error)) from error


def _connect(path: Path) -> sqlite3.Connection:
    # The lock of the queue guards all accesses.
    connection = sqlite3.connect(path, timeout=_LOCKED_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_SCHEMA)
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)  # noqa: TRY301 -- as those of SQLite itself
    except BaseException:
        connection.close()
        raise
    return connection


def _bytes(name: str) -> bytes:
    # Group names are repaired UTF-8, but may still contain lone surrogates.
    return name.encode("utf-8", "surrogatepass")


def _name(subject: bytes) -> str:
    return subject.decode("utf-8", "surrogatepass")
