"""A paced consumer processes at the set rate, commits what is due, and reports a lost membership."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sandbox.clients import paced
from sandbox.clients.paced import REJOIN_LIMIT, PacedConsumer, RejoinError
from sandbox.clients.traffic import ClientBehaviour

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import TopicPartition

IDLE = ClientBehaviour(rate=0.0, repeats=False)


class Record:
    """A record as confluent_kafka returns it."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def topic(self) -> str:
        """Return the topic."""
        return "in"

    def partition(self) -> int:
        """Return the partition."""
        return 0

    def offset(self) -> int:
        """Return the offset."""
        return self._offset


class FakeMember:
    """A member without a broker: the test sets the records it reads and calls its callbacks."""

    def __init__(self, *_: object, **__: object) -> None:
        self.consumer = self
        self.callbacks: dict[str, Callable[..., None]] = {}
        self.unread: list[Record] = []
        self.positions: dict[tuple[str, int], int] = {}
        self.commits: list[int] = []

    def subscribe(self, _topics: list[str], **callbacks: Callable[..., None]) -> None:
        """Keep the callbacks for the test."""
        self.callbacks = callbacks

    def read(self, *_: object) -> list[Record]:
        """Return all unread records."""
        found, self.unread = self.unread, []
        for record in found:
            self.positions["in", 0] = record.offset() + 1
        return found

    def owned_positions(self) -> list[TopicPartition]:
        """Drop no position; the caller ignores the result."""
        return []

    def commit(self, offsets: list[TopicPartition]) -> bool:
        """Record the offsets."""
        self.commits += [each.offset for each in offsets]
        return True


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> FakeMember:
    """Return the member of the consumers that the test creates."""
    member = FakeMember()
    monkeypatch.setattr(paced, "Member", lambda *_, **__: member)
    return member


def consumer() -> Any:
    """Return a consumer with the fake member."""
    return PacedConsumer("b:1", "g", ["in"])


def test_rate_limits_what_is_processed_and_committed(member: FakeMember) -> None:
    """At 4 offsets per second, the commit one second later is 4 offsets higher, although 100 records were read."""
    client = consumer()
    member.unread = [Record(offset) for offset in range(100)]
    behaviour = ClientBehaviour(every=1.0, rate=4.0)
    for turn in range(5):
        client.turn(behaviour, turn / 4)
    assert member.commits == [0, 4]


def test_unchanged_offsets_are_committed_again_only_when_set(member: FakeMember) -> None:
    """`repeats` decides whether an offset without progress is committed again."""
    client = consumer()
    member.unread = [Record(0)]
    client.turn(ClientBehaviour(repeats=False), 0.0)
    client.turn(ClientBehaviour(repeats=False), 1.0)
    assert member.commits == [1]
    client.turn(ClientBehaviour(repeats=True), 2.0)
    assert member.commits == [1, 1]


def test_idle_consumer_that_loses_its_membership_is_an_error(member: FakeMember) -> None:
    """The error is raised after the limit, not before, and not after a new assignment."""
    client = consumer()
    client.turn(IDLE, 0.0)
    member.callbacks["on_lost"](member, [])
    client.turn(IDLE, 1.0)
    client.turn(IDLE, REJOIN_LIMIT)
    member.callbacks["on_assign"](member, [])
    client.turn(IDLE, REJOIN_LIMIT + 2)
    member.callbacks["on_lost"](member, [])
    client.turn(IDLE, REJOIN_LIMIT + 3)
    with pytest.raises(RejoinError, match="after the membership was lost"):
        client.turn(IDLE, 2 * REJOIN_LIMIT + 4)


def test_consumer_is_a_member_from_an_assignment_until_it_is_lost(member: FakeMember) -> None:
    """An assignment without partitions is one, too. A rebalance revokes partitions and not the membership."""
    client = consumer()
    assert not client.is_member
    member.callbacks["on_assign"](member, [])
    member.callbacks["on_revoke"](member, [])
    assert client.is_member
    member.callbacks["on_lost"](member, [])
    assert not client.is_member
    member.callbacks["on_assign"](member, [])
    assert client.is_member


def test_revoked_partitions_are_no_lost_membership(member: FakeMember) -> None:
    """A long first join or rebalance raises no error."""
    client = consumer()
    client.turn(IDLE, 0.0)
    member.callbacks["on_revoke"](member, [])
    client.turn(IDLE, 10 * REJOIN_LIMIT)
    assert member.commits == []
