"""The names and ids of existing and of deleted topics.

A topic that is deleted and created again keeps its name and gets another id, so a commit with the old id refers to a
log that no longer exists. Pure: the caller passes the topics and the time.

The name of a deleted topic is kept while something refers to its id. An id without references is kept for a grace
period, because a reference may be read later than the deletion. The number of deleted topics is bounded.
"""

import dataclasses
from collections.abc import Collection, Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class TopicIncarnation:
    """A topic with its id, from creation to deletion. Times in ms, by the caller's clock.

    It was created at some time up to `first_seen`, and deleted at some time between `last_seen` and `deleted`, which is
    None while it exists. `replaces` is the previous id of the name, None if none is known.
    """

    name: str
    topic_id: bytes
    first_seen: int
    last_seen: int
    deleted: int | None = None
    replaces: bytes | None = None


class TopicIds:
    """The ids of topics, with their creation and deletion.

    Holds every observed topic that exists, and at most `most_deleted` deleted ones.
    """

    def __init__(self, *, grace_ms: int = 600_000, most_deleted: int = 10_000) -> None:
        self._grace_ms = grace_ms
        self._most_deleted = most_deleted
        self._of_id: dict[bytes, TopicIncarnation] = {}
        self._current: dict[str, bytes] = {}
        self._newest: dict[str, bytes] = {}

    def observe(
        self, ids: Mapping[str, bytes], now: int, *, absent: Collection[str] | None = None
    ) -> list[TopicIncarnation]:
        """Add the ids by name that the cluster reported at `now`; return the topics that were created again.

        `absent` are the names that do not exist. None: `ids` has all topics of the cluster, so a missing one does not
        exist. A name in neither was not requested or could not be described, and is left unchanged.
        """
        created_again = []
        for name, topic_id in ids.items():
            if self._current.get(name) == topic_id:
                self._of_id[topic_id] = dataclasses.replace(self._of_id[topic_id], last_seen=now)
            else:
                created = self._start_topic(name, topic_id, now)
                if created.replaces is not None:
                    created_again.append(created)
        for name in [*self._current] if absent is None else absent:
            if name not in ids:
                self._mark_deleted(name, now)
        return created_again

    def id_of(self, name: str) -> bytes | None:
        """Return the current id of a name; None if there is no such topic, or it has no id."""
        return self._current.get(name)

    def known(self, topic_id: bytes) -> TopicIncarnation | None:
        """Return the topic of an id; None if it is unknown."""
        return self._of_id.get(topic_id)

    def prune(self, in_use: Collection[bytes], now: int) -> None:
        """Remove deleted topics and topics that are no longer observed.

        A topic that is not in use is removed when its grace period has passed; then, if there are more deleted topics
        than the bound, the oldest. Of those the ones in use are removed last.
        """
        used = frozenset(in_use)
        deleted = []
        for topic in list(self._of_id.values()):
            referred = topic.topic_id in used
            over = now - (topic.last_seen if topic.deleted is None else topic.deleted) >= self._grace_ms
            if over and not referred:
                self._drop(topic.topic_id)
            elif topic.deleted is not None:
                deleted.append((referred, topic.deleted, topic.topic_id))
        for *_, topic_id in sorted(deleted)[: max(len(deleted) - self._most_deleted, 0)]:
            self._drop(topic_id)

    def _start_topic(self, name: str, topic_id: bytes, now: int) -> TopicIncarnation:
        self._mark_deleted(name, now)
        known = self._of_id.get(topic_id)
        if known is not None:  # it was not deleted: a broker with stale metadata did not have it yet
            created = dataclasses.replace(known, last_seen=now, deleted=None)
        else:
            created = TopicIncarnation(name, topic_id, now, now, replaces=self._newest.get(name))
        self._of_id[topic_id] = created
        self._current[name] = self._newest[name] = topic_id
        return created if known is None else dataclasses.replace(created, replaces=None)

    def _mark_deleted(self, name: str, now: int) -> None:
        topic_id = self._current.pop(name, None)
        if topic_id is not None:
            self._of_id[topic_id] = dataclasses.replace(self._of_id[topic_id], deleted=now)

    def _drop(self, topic_id: bytes) -> None:
        name = self._of_id.pop(topic_id).name
        for ids in (self._newest, self._current):
            if ids.get(name) == topic_id:
                del ids[name]
