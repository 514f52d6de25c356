"""Memberships from current records: every field for every kind, with unusual cases."""

import dataclasses
import struct
from typing import Any

from decoders.tables import consumer, share
from stream.groups.expiry.broker_rules import ExpiryRules, exempt_topics
from stream.groups.membership.memberships import Memberships
from stream.groups.membership.model import LongSubscriptions
from tests.stream.groups.written import (
    ORDERS,
    Written,
    assignment,
    classic,
    classic_member,
    column,
    connect_metadata,
    connect_work,
    gone,
    group_epoch,
    member,
    membership_after,
    memberships,
    record,
    resolved,
    share_state,
    sharer,
    shares,
    stands,
    subscription,
    target,
    target_epoch,
    topology,
    worker,
    works,
)

T = subscription("t")
HAS = assignment({"t": [0, 1]})
STANDBY = assignment(
    {}, user_data=struct.pack(">iiiiii", 1, 0, 1, 2, 5, 1) + struct.pack(">H", 1) + b"t" + struct.pack(">i", 5)
)
TOPIC_METADATA = {"topic_id": ORDERS, "topic_name": "orders", "num_partitions": 3, "partition_metadata": ()}
SEEN_TOPICS = record(4, {"group_id": "g"}, {"topics": (TOPIC_METADATA,)})
MEMBER_A = {"group_id": "g", "member_id": "a"}
MEMBER_OF_3_7 = dict.fromkeys(("instance_id", "rack_id", "subscribed_topic_regex")) | {
    "subscribed_topic_names": ("orders",),
    "server_assignor": "uniform",
}
ASSIGNED_OF_3_7 = ({"topic_id": ORDERS, "partitions": (0, 1)},)
ASSIGNMENT_OF_3_7 = {"member_epoch": 2, "target_member_epoch": 2, "assigned_partitions": ASSIGNED_OF_3_7}


def has(**fields: Any) -> dict[str, Any]:
    """Return the fields that the result of an example has."""
    return fields


def vars_of(value: Any, *names: str) -> dict[str, Any]:
    """Return these fields of a dataclass, all of them without names."""
    return {name: getattr(value, name) for name in names or [each.name for each in dataclasses.fields(value)]}


CLASSIC = {
    "two members: Stable, with member names and state time": (
        [classic(classic_member("a", wants=T, has=HAS), classic_member("b", wants=T, has=assignment({"t": [2]})))],
        has(
            kind="classic",
            state="Stable",
            members=2,
            protocol_type="consumer",
            protocol="range",
            generation=1,
            state_time=1234,
            member_names={"a", "b"},
            subscribed={"t"},
            idle=0,
            owned=(("t", 0b111),),
            away=None,
            group_epoch=None,
            assignment_epoch=None,
        ),
    ),
    "all members left: Empty, without a subscription": (
        [classic(generation=2, time=5000)],
        has(
            kind="classic",
            state="Empty",
            members=0,
            protocol=None,
            state_time=5000,
            member_names=set(),
            subscribed=set(),
            idle=0,
        ),
    ),
    "record of 0.10 without a state time": (
        [classic(classic_member("a", wants=T, has=HAS), time=-1)],
        {"state_time": None},
    ),
    "group created by the first JoinGroup, without members: simple": (
        [classic(generation=0, kind="", time=-1)],
        has(kind="simple", state="Empty", protocol_type=None, subscribed=None, idle=0),
    ),
    "members with different topics: the group subscribes to all of them": (
        [classic(classic_member("a", wants=T), classic_member("b", wants=subscription("t", "u")))],
        {"subscribed": {"t", "u"}},
    ),
    "a static member is named by its instance id": (
        [classic(classic_member("a-1", instance="a", wants=T), classic_member("b", wants=T))],
        {"member_names": {"static:a", "b"}},
    ),
    "more members than partitions: one has an assignment without partitions, one has no assignment at all": (
        [
            classic(
                classic_member("a", wants=T, has=HAS),
                classic_member("b", wants=T, has=assignment({})),
                classic_member("c", wants=T),
                classic_member("d", wants=T, has=assignment({"t": []})),
            )
        ],
        {"idle": 3, "owned": (("t", 0b11),)},
    ),
    "blobs of a future version: known fields are decoded": (
        [classic(classic_member("a", wants=subscription("t", version=9, tail=b"new"), has=HAS))],
        {"subscribed": {"t"}, "idle": 0},
    ),
    "topics of a truncated subscription are decoded": (
        [classic(classic_member("a", wants=subscription("t", rack="r")[:-1], has=HAS))],
        {"subscribed": {"t"}},
    ),
    "undecodable subscription: unknown topics of the group": (
        [classic(classic_member("a", wants=T), classic_member("b", wants=T[:5]))],
        {"subscribed": None, "members": 2},
    ),
    "member without a subscription: unknown topics of the group": (
        [classic(classic_member("a", wants=b"", has=HAS))],
        {"subscribed": None, "owned": (("t", 3),)},
    ),
    "undecodable assignment: unknown idle members": (
        [classic(classic_member("a", wants=T, has=HAS), classic_member("b", wants=T, has=HAS[:-3]))],
        {"subscribed": {"t"}, "idle": None, "owned": None},
    ),
    "assignment of a negative version is undecodable": (
        [classic(classic_member("a", wants=T, has=b"\xff\xff\0\0\0\0"))],
        {"idle": None, "owned": None},
    ),
    "a worker of Connect without tasks; connectors are no topics": (
        [
            classic(
                classic_member("a", wants=connect_metadata(), has=connect_work({"sink": [-1, 0]})),
                classic_member("b", wants=connect_metadata(), has=connect_work({})),
                kind="connect",
                protocol="sessioned",
            )
        ],
        has(kind="classic", protocol_type="connect", subscribed=None, owned=None, idle=1),
    ),
    "an unknown protocol: its bytes are not decoded": (
        [classic(classic_member("a", wants=b"x", has=b"y"), kind="sr", protocol="v0")],
        has(subscribed=None, owned=None, idle=None, members=1, protocol_type="sr"),
    ),
    "Kafka Streams: a member with standby tasks only has work": (
        [classic(classic_member("a", wants=T, has=HAS), classic_member("b", wants=T, has=STANDBY), protocol="stream")],
        {"idle": 0, "owned": (("t", 3),)},
    ),
    "partitions that cannot exist are not owned": (
        [classic(classic_member("a", wants=T, has=assignment({"t": [0, -1, 2**31 - 1]})))],
        {"owned": (("t", 1),), "idle": 0},
    ),
}

JOINED = [member("a", "orders"), group_epoch(2), target_epoch(2)]
CONSUMER = {
    "Stable, with its epochs": (
        [*JOINED, stands("a", 2, {ORDERS: [0, 1]})],
        has(
            kind="consumer",
            state="Stable",
            members=1,
            group_epoch=2,
            assignment_epoch=2,
            member_names={"a"},
            subscribed={"orders"},
            owned=((ORDERS, 3),),
            idle=0,
            away=0,
            generation=None,
            state_time=None,
        ),
    ),
    "incomplete join: a member without epochs": (
        [member("a", "orders")],
        has(state="Reconciling", group_epoch=None, assignment_epoch=None, idle=1, members=1),
    ),
    "a target without a current assignment": (JOINED, {"state": "Reconciling", "members": 1}),
    "a member is an epoch behind": (
        [*JOINED[:1], group_epoch(3), target_epoch(3), stands("a", 2, {})],
        {"state": "Reconciling"},
    ),
    "first epoch of a group, without a target": (
        [member("a", "orders"), group_epoch(1)],
        {"state": "Assigning", "group_epoch": 1, "assignment_epoch": None},
    ),
    "more members than partitions": (
        [*JOINED, member("b", "orders"), stands("a", 2, {ORDERS: [0]}), stands("b", 2, {})],
        {"state": "Stable", "idle": 1, "members": 2},
    ),
    "member with pending revocations only: not idle, partitions still owned": (
        [*JOINED, stands("a", 2, {}, gives_up={ORDERS: [1]}, state=1)],
        {"state": "Reconciling", "idle": 0, "owned": ((ORDERS, 2),)},
    ),
    "static member away: still a member and an owner, group Reconciling": (
        [member("a", "orders", instance="i"), *JOINED[1:], stands("a", -2, {ORDERS: [0]})],
        has(state="Reconciling", away=1, idle=0, member_names={"static:i"}, owned=((ORDERS, 1),)),
    ),
    "a static member was replaced: another id, the same name": (
        [
            member("a", "orders", instance="i"),
            stands("a", -2, {ORDERS: [0]}),
            gone(stands("a", -2, {})),
            gone(target("a", {})),
            gone(member("a")),
            member("b", "orders", instance="i"),
            target("b", {ORDERS: [0]}),
            stands("b", 2, {ORDERS: [0]}),
            *JOINED[1:],
        ],
        {"state": "Stable", "away": 0, "members": 1, "member_names": {"static:i"}},
    ),
    "type 8 without type 5: no member, but the group exists": (
        [group_epoch(2), target_epoch(2), stands("a", 2, {ORDERS: [0]})],
        has(kind="consumer", state="Empty", members=0, idle=0, owned=()),
    ),
    "regular expressions subscribe to the topics that they match": (
        [member("a", regex="pay.*"), member("b", "orders"), resolved("pay.*", "payments", "paychecks")],
        {"subscribed": {"orders", "payments", "paychecks"}, "unresolved": 0},
    ),
    "a second regular expression that was not resolved yet": (
        [member("a", regex="pay.*"), member("b", regex="ord.*"), resolved("pay.*", "payments")],
        {"subscribed": {"payments"}, "unresolved": 1},
    ),
    "a regular expression that matches nothing is resolved": (
        [member("a", regex="none.*"), resolved("none.*")],
        {"subscribed": set(), "unresolved": 0},
    ),
    "the regular expression is no longer used": (
        [member("a", "orders"), resolved("pay.*", "payments")],
        {"subscribed": {"orders"}},
    ),
    "online upgrade: a classic member is counted as a member": (
        [
            member("a", "orders", classic_member_metadata={"session_timeout_ms": 45, "supported_protocols": ()}),
            *JOINED[1:],
            stands("a", 2, {ORDERS: [0]}),
        ],
        {"kind": "consumer", "state": "Stable", "subscribed": {"orders"}, "idle": 0},
    ),
    "3.7 wrote other layouts under the same version": (
        [
            record(5, MEMBER_A, MEMBER_OF_3_7, consumer.MEMBER_METADATA_VALUE_3_7),
            group_epoch(2),
            target_epoch(2),
            record(8, MEMBER_A, ASSIGNMENT_OF_3_7, consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE_3_7),
        ],
        {"state": "Stable", "subscribed": {"orders"}, "idle": 0, "owned": ((ORDERS, 3),)},
    ),
    "all members left: Empty, although the assignment is an epoch behind": (
        [*JOINED, stands("a", 2, {ORDERS: [0]}), gone(stands("a", 2, {})), gone(member("a")), group_epoch(3)],
        has(state="Empty", group_epoch=3, assignment_epoch=2, subscribed=set(), idle=0, owned=()),
    ),
    "target removed while the group has members: Assigning": (
        [*JOINED, stands("a", 2, {ORDERS: [0]}), gone(target_epoch(2))],
        {"state": "Assigning", "assignment_epoch": None},
    ),
    "tombstones in another order, one missing: a group of the remaining records": (
        [*JOINED, stands("a", 2, {ORDERS: [0]}), gone(group_epoch(2)), gone(target_epoch(2)), gone(member("a"))],
        {"kind": "consumer", "state": "Empty", "members": 0},
    ),
}

WORKING = [worker("a"), group_epoch(2, kind=17, validated_topology_epoch=1), target_epoch(2, kind=20)]
READS = topology(1, s0=["orders"], s1=["app-repartition"])
OTHERS = {
    "streams: source and repartition topics are subscribed": (
        [*WORKING, READS, works("a", 2, active={"0": [0, 1], "1": [1]})],
        has(
            kind="streams",
            state="Stable",
            subscribed={"orders", "app-repartition"},
            owned=(("app-repartition", 2), ("orders", 3)),
            idle=0,
            away=0,
            group_epoch=2,
            assignment_epoch=2,
        ),
    ),
    "streams: standby and warm-up tasks own no partitions, their members are not idle": (
        [*WORKING, READS, works("a", 2, standby={"0": [0]}), worker("b"), works("b", 2, warmup={"0": [1]})],
        {"owned": (), "idle": 0, "members": 2},
    ),
    "streams: a worker without tasks": ([*WORKING, READS, works("a", 2)], {"idle": 1, "owned": ()}),
    "streams: members with pending revocations are not idle, active partitions still owned": (
        [
            *WORKING,
            READS,
            works("a", 2, state=2, active_tasks_pending_revocation={"0": [1]}),
            worker("b"),
            works("b", 2, state=2, standby_tasks_pending_revocation={"0": [0]}),
        ],
        {"state": "Reconciling", "owned": (("orders", 2),), "idle": 0},
    ),
    "streams without a topology: unknown subscription": (
        [worker("a"), group_epoch(1, kind=17), works("a", 1, active={"0": [0]})],
        {"state": "NotReady", "subscribed": None, "owned": None, "idle": 0},
    ),
    "streams with a regular expression: never resolved": (
        [*WORKING, topology(1, regexes=["x.*"], s0=["orders"]), works("a", 2)],
        {"subscribed": {"orders"}, "unresolved": 1},
    ),
    "streams, a static member away": (
        [worker("a", instance="i"), *WORKING[1:], READS, works("a", -2, active={"0": [0]})],
        {"away": 1, "member_names": {"static:i"}, "state": "Reconciling"},
    ),
    "streams without members: topology kept, no subscription": (
        [READS, group_epoch(3, kind=17, validated_topology_epoch=1)],
        {"state": "Empty", "subscribed": set(), "idle": 0, "owned": ()},
    ),
    "streams of 4.1 without a validated topology: unknown state": (
        [worker("a"), topology(1), group_epoch(1, kind=17)],
        {"state": None},
    ),
    "streams whose changed topology is not validated": (
        [worker("a"), topology(2), group_epoch(2, kind=17, validated_topology_epoch=1)],
        {"state": "NotReady"},
    ),
    "streams without members: Empty takes precedence over NotReady": (
        [topology(2), group_epoch(2, kind=17, validated_topology_epoch=1)],
        {"state": "Empty"},
    ),
    "a share group without members": ([group_epoch(5, kind=11)], {"kind": "share", "state": "Empty"}),
    "a share group: a shared partition, a member without partitions is idle": (
        [
            sharer("a", "orders"),
            sharer("b", "orders", "payments"),
            sharer("c", "orders"),
            group_epoch(4, kind=11),
            target_epoch(4, kind=12),
            shares("a", 4, {ORDERS: [0, 1]}),
            shares("b", 3, {ORDERS: [1]}),
            shares("c", 4, {}),
        ],
        has(
            kind="share",
            state="Stable",
            members=3,
            subscribed={"orders", "payments"},
            idle=1,
            away=0,
            owned=((ORDERS, 3),),
            group_epoch=4,
            assignment_epoch=4,
        ),
    ),
    "a share group of 4.0, without a metadata hash": (
        [record(11, {"group_id": "g"}, {"epoch": 3}, share.METADATA_VALUE_4_0), sharer("a", "orders")],
        {"kind": "share", "group_epoch": 3, "assignment_epoch": None, "idle": 1},
    ),
    "a share group that only keeps state of topics": (
        [share_state({ORDERS: "orders"})],
        {"kind": "share", "state": "Empty", "subscribed": set()},
    ),
}

CONVERTED = {
    "classic to consumer, upgraded in one operation": (
        [classic(classic_member("a", wants=T)), gone(classic()), *JOINED, stands("a", 2, {ORDERS: [0]})],
        {"kind": "consumer", "state": "Stable"},
    ),
    "records of both kinds: the newer kind": (
        [*JOINED, classic(classic_member("a", wants=T))],
        {"kind": "consumer", "protocol_type": None},
    ),
    "consumer to classic, downgraded: the tombstones first": (
        [
            *JOINED,
            stands("a", 2, {ORDERS: [0]}),
            gone(stands("a", 2, {})),
            gone(target_epoch(2)),
            gone(member("a")),
            gone(SEEN_TOPICS),
            gone(group_epoch(2)),
            classic(classic_member("a", wants=T), generation=2),
        ],
        {"kind": "classic", "generation": 2, "members": 1},
    ),
    "classic record before the tombstones of the consumer group": (
        [*JOINED, classic(classic_member("a", wants=T)), *map(gone, JOINED)],
        {"kind": "classic", "members": 1},
    ),
    "type 4 record of 4.0 does not change the kind of a classic group": (
        [SEEN_TOPICS, classic(classic_member("a", wants=T))],
        {"kind": "classic"},
    ),
    "deleted and created again as a share group; a late tombstone of the old kind changes nothing": (
        [*JOINED, *map(gone, JOINED), sharer("a", "orders"), gone(member("a")), gone(group_epoch(2))],
        {"kind": "share", "members": 1},
    ),
}

NO_OWNER: dict[str, list[Written]] = {
    "no records": [],
    "tombstones without earlier records": [gone(classic()), gone(member("a")), gone(group_epoch(1))],
    "classic record removed": [classic(classic_member("a", wants=T)), gone(classic())],
    "all consumer records removed": [*JOINED, *map(gone, JOINED)],
    "only a type 4 record left": [*JOINED, SEEN_TOPICS, *map(gone, JOINED)],
    "undecodable value": [(classic()[0], b"\0\3\0")],
    "undecodable key": [(b"\0\2\0", classic()[1])],
}

EVERY: dict[str, tuple[list[Written], dict[str, Any]]] = CLASSIC | CONSUMER | OTHERS | CONVERTED


def test_the_membership_follows_from_the_records() -> None:
    """Each example ends with these fields. Removed and unreadable records make no group."""
    for story, (written, expected) in EVERY.items():
        found = membership_after(written)
        assert {name: getattr(found, name, "no group") for name in expected} == expected, story
    assert [story for story, written in NO_OWNER.items() if membership_after(written) is not None] == []


def test_records_that_are_applied_twice_leave_the_membership_as_it_is() -> None:
    """The membership stays the same object after records are repeated."""
    for story, (written, _) in EVERY.items():
        read = memberships(written)
        before = read.by_group["g"]
        assert read.apply(column(list(dict(written).items()))) == {"g"}, story
        assert read.by_group["g"] is before, story


def test_apply_returns_the_touched_groups() -> None:
    """`apply` returns the groups of the records. Memberships of other groups stay the same objects."""
    read = memberships([classic(), record(3, {"group_id": "h"}, {"epoch": 1})])
    before = read.by_group["h"]
    assert read.apply(column([classic(classic_member("a"))])) == {"g"}
    assert read.by_group["h"] is before
    assert read.by_group["g"].members == 1


def test_what_members_have_in_common_is_in_memory_once() -> None:
    """Members of different groups share the equal values of their hosts, clients, timeouts and partitions."""
    read = memberships(classic(classic_member("a-1", wants=T, has=HAS), group=group) for group in "gh").by_group
    one, other = (vars_of(read[group].clients[0]) | vars_of(read[group], "protocol", "owned") for group in "gh")
    assert [name for name in one if one[name] is not other[name]] == ["member_id"]


def test_long_subscriptions_exceed_no_memory_and_lose_no_group() -> None:
    """A set that groups share counts once. One that exceeds the limit is unknown until the group's next record."""
    first, second = (subscription(*(f"{name}-{number}" for number in range(2_000))) for name in ("orders", "other"))
    bound = LongSubscriptions(most=400_000)
    read = [Memberships(bound) for _ in range(2)]
    for number, (group, wants) in enumerate((("g", first), ("same", first), ("too-much", second), ("short", T))):
        read[number % 2].apply(column([classic(classic_member("a", wants=wants, has=HAS), group=group)]))
        found = dict(read[0].by_group) | dict(read[1].by_group)
    sizes = {name: each.subscribed and len(each.subscribed) for name, each in found.items()}
    assert sizes == {"g": 2_000, "same": 2_000, "too-much": None, "short": 1}
    assert bound.left_out == {"too-much"}
    assert found["too-much"].clients[0] == dataclasses.replace(found["short"].clients[0], subscribed=None)
    assert exempt_topics(found["too-much"], ExpiryRules.UNSUBSCRIBED) is None
    read[0].apply(column([gone(classic(group="g")), classic(classic_member("a", wants=second), group="too-much")]))
    read[1].apply(column([classic(classic_member("a", wants=T), group="same")]))
    assert len(read[1].by_group["same"].subscribed or ()) == 1
    assert len(read[0].by_group["too-much"].subscribed or ()) == 2_000
    assert not bound.left_out
