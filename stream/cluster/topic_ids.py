"""Which topic an id stands for, over time: names and ids of the topics that are there, and of those that are gone.

A topic that is deleted and created anew keeps its name and gets another id, so a commit that carries the old id is a
commit to a log that no longer exists. Pure: what is there is told by the caller, and so is the time.

The name of a deleted topic is kept for as long as something refers to its id. What nothing refers to is kept for a
grace time all the same, because a reference may be read later than the deletion; and never more than a set number.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class TopicIncarnation:
    """One life of a topic's name. Times in ms, by the clock of whoever looked.

    It was created at some time up to `first_seen`, and deleted at some time between `last_seen` and `gone`, which is
    None while it is there. `replaces` is the id that the name had before, None if none is remembered.
    """

    name: str
    topic_id: bytes
    first_seen: int
    last_seen: int
    gone: int | None = None
    replaces: bytes | None = None


class TopicIds:
    """The ids of topics and what became of them.

    Remembers every topic that is there and looked at, and at most `most_gone` deleted ones.
    """

    def __init__(self, *, grace_ms: int = 600_000, most_gone: int = 10_000) -> None:
        self._grace_ms = grace_ms
        self._most_gone = most_gone
        self._of_id: dict[bytes, TopicIncarnation] = {}
        self._current: dict[str, bytes] = {}
        self._newest: dict[str, bytes] = {}
        self.dropped = 0
        """How many deleted topics were forgotten although something referred to them, for there were too many."""

    def __len__(self) -> int:
        return len(self._of_id)

    def observe(
        self, ids: Mapping[str, bytes], now: int, *, absent: Collection[str] | None = None
    ) -> list[TopicIncarnation]:
        """Take in the ids by name as the cluster told them at `now`; give the topics that were created anew.

        `absent` are the names that the cluster said it does not know. None: `ids` are those of all topics, so that
        whatever is missing is gone. A name in neither was not asked for or could not be told, and stays as it was.
        """
        anew = []
        for name, topic_id in ids.items():
            if self._current.get(name) == topic_id:
                self._of_id[topic_id] = dataclasses.replace(self._of_id[topic_id], last_seen=now)
            else:
                born = self._start(name, topic_id, now)
                if born.replaces is not None:
                    anew.append(born)
        for name in [*self._current] if absent is None else absent:
            if name not in ids:
                self._end(name, now)
        return anew

    def name_of(self, topic_id: bytes) -> str | None:
        """Give the name of a topic, also of a deleted one that is remembered."""
        known = self._of_id.get(topic_id)
        return None if known is None else known.name

    def id_of(self, name: str) -> bytes | None:
        """Give the id that a name has now; None where there is no such topic, or it has no id."""
        return self._current.get(name)

    def known(self, topic_id: bytes) -> TopicIncarnation | None:
        """Give what is remembered of an id."""
        return self._of_id.get(topic_id)

    def created_anew(self, name: str) -> TopicIncarnation | None:
        """Give the life that a name has now if it had another one before, as far as that is remembered."""
        life = self._of_id.get(self._current.get(name, b""))
        return life if life is not None and life.replaces is not None else None

    def forget(self, in_use: Collection[bytes], now: int) -> None:
        """Let topics go that nobody needs: deleted ones, and ones that nobody looks at any more.

        What is not in use goes when its grace is over; then, of more deleted ones than the bound allows, the oldest. Of
        those the ones in use go last, and are counted in `dropped`.
        """
        used = frozenset(in_use)
        gone = []
        for life in list(self._of_id.values()):
            referred = life.topic_id in used
            over = now - (life.last_seen if life.gone is None else life.gone) >= self._grace_ms
            if over and not referred:
                self._drop(life.topic_id)
            elif life.gone is not None:
                gone.append((referred, life.gone, life.topic_id))
        for referred, _, topic_id in sorted(gone)[: max(len(gone) - self._most_gone, 0)]:
            self._drop(topic_id)
            self.dropped += referred

    def _start(self, name: str, topic_id: bytes, now: int) -> TopicIncarnation:
        self._end(name, now)
        back = self._of_id.get(topic_id)
        if back is not None:  # it was there all the while: a broker with old metadata had not heard of it yet
            born = dataclasses.replace(back, last_seen=now, gone=None)
        else:
            born = TopicIncarnation(name, topic_id, now, now, replaces=self._newest.get(name))
        self._of_id[topic_id] = born
        self._current[name] = self._newest[name] = topic_id
        return born if back is None else dataclasses.replace(born, replaces=None)

    def _end(self, name: str, now: int) -> None:
        topic_id = self._current.pop(name, None)
        if topic_id is not None:
            self._of_id[topic_id] = dataclasses.replace(self._of_id[topic_id], gone=now)

    def _drop(self, topic_id: bytes) -> None:
        name = self._of_id.pop(topic_id).name
        for known in (self._newest, self._current):
            if known.get(name) == topic_id:
                del known[name]
