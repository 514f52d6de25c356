"""The memberships of real groups after each record of the recorded capture."""

import pytest

from stream.groups.membership.memberships import Membership, Memberships
from stream.groups.membership.unassigned import find_unassigned
from stream.offline.capture import CaptureFile
from stream.offline.rows import OFFSETS_TOPIC, LogRow
from tests.stream.groups.written import column
from tests.stream.offline.captures import RECORDED

COUNTS = {"orders": 3, "payments": 2}


@pytest.fixture(scope="module")
def rows() -> list[LogRow]:
    return [
        row
        for row in CaptureFile(RECORDED).rows()
        if row.topic == OFFSETS_TOPIC and row.key is not None and int.from_bytes(row.key[:2], "big") >= 2
    ]


def moments(rows: list[LogRow], group: str) -> list[tuple[Memberships, Membership]]:
    """Return the memberships of a group after each of its records."""
    found = []
    for end, row in enumerate(rows, 1):
        read = Memberships()
        if group in read.apply(column([(row.key or b"", row.value)])):
            whole = Memberships()
            whole.apply(column([(one.key or b"", one.value) for one in rows[:end]]))
            found.append((whole, whole.by_group[group]))
    return found


def test_a_classic_group_with_two_members_and_its_end(rows: list[LogRow]) -> None:
    """The group has one member, two, and none; the blobs of librdkafka are decoded."""
    after_each = [known for _, known in moments(rows, "classic-group")]
    assert max(one.members for one in after_each) == 2
    pair = next((read, one) for read, one in moments(rows, "classic-group") if one.members == 2)
    detail = pair[0].members("classic-group")
    assert pair[1].subscribed == frozenset({"orders"})
    assert pair[1].idle == 0
    assert pair[1].state_time is not None
    assert sorted(part for each in detail for _, parts in each.assignment for part in parts) == [0, 1, 2]
    assert {each.assignor for each in detail} == {pair[1].protocol}
    assert all(each.client_host == "/127.0.0.1" and not each.unreadable for each in detail)
    assert find_unassigned(pair[1], ["orders", "payments"], COUNTS, {}) == ((), ("payments",))
    assert (after_each[-1].state, after_each[-1].subscribed) == ("Empty", frozenset())


def test_a_static_member_keeps_its_instance_id_after_a_restart(rows: list[LogRow]) -> None:
    """The member id changes and the instance id does not, so no member joins or leaves."""
    before, after = [each for each in moments(rows, "static-group") if "static:instance-0" in each[1].member_names]
    (old,), (new,) = before[0].members("static-group"), after[0].members("static-group")
    assert (old.instance_id, new.instance_id) == ("instance-0", "instance-0")
    assert old.member_id != new.member_id
    assert before[1].member_names == after[1].member_names == {"static:instance-0"}


def test_a_consumer_group_with_a_regular_expression(rows: list[LogRow]) -> None:
    """The group resolves its regular expression, is assigned partitions, and becomes Empty."""
    after_each = moments(rows, "consumer-group")
    states = list(dict.fromkeys(one.state for _, one in after_each))
    assert states[-1] == "Empty"
    assert {"Stable", "Assigning", "Reconciling"} <= set(states)
    assert any(one.unresolved == 1 and one.idle == 1 for _, one in after_each)
    read, both = next(
        (read, one) for read, one in after_each if one.members == 2 and one.state == "Stable" and one.idle == 0
    )
    assert both.subscribed == frozenset({"orders", "payments"})
    assert (both.group_epoch, both.assignment_epoch, both.away, both.unresolved) == (3, 3, 0, 0)
    ids = dict(
        zip(sorted(ref for ref, _ in both.owned or () if isinstance(ref, bytes)), ("payments", "orders"), strict=True)
    )
    assert find_unassigned(both, ["orders", "payments"], COUNTS, ids) == ((), ())
    assert {each.regex for each in read.members("consumer-group", ids)} == {None, "(^ord.*)|(^pay.*)"}


def test_a_streams_group_reads_its_repartition_topic(rows: list[LogRow]) -> None:
    """All topics with offsets are subscribed, also the repartition topic, and every partition has a task."""
    read, last = [(read, one) for read, one in moments(rows, "streams-group") if one.idle == 0 and one.members][-1]
    (member,) = read.members("streams-group")
    internal = "streams-group-KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"
    assert (last.state, last.subscribed, last.idle) == ("Stable", frozenset({"orders", internal}), 0)
    assert dict(member.assignment) == {"orders": (0, 1, 2), internal: (0, 1, 2)}
    assert find_unassigned(last, ["orders", internal], COUNTS | {internal: 3}, {}) == ((), ())
