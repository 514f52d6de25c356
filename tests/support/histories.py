"""Random histories of groups of every kind: valid ones, as brokers write them, and invalid ones."""

import functools
import itertools

from hypothesis import strategies as st

from tests.stream.groups.written import (
    ORDERS,
    classic,
    classic_member,
    gone,
    group_epoch,
    member,
    resolved,
    share_state,
    sharer,
    shares,
    stands,
    target,
    target_epoch,
    topology,
    worker,
    works,
)
from tests.support.driver_states import Timed
from tests.support.group_histories import Written, at, commits, forgets, renamed

GROUPS = st.sampled_from("abc")
MEMBERS = st.sampled_from("mno")
EPOCHS = st.integers(1, 3)
GRACE = 100


def _generation(number: int, names: list[str]) -> Written:
    return classic(*(classic_member(name, instance="i" if name == "o" else None) for name in names), generation=number)


CLASSIC = st.builds(_generation, st.integers(0, 4), st.lists(MEMBERS, unique=True))
CONSUMER = st.one_of(
    st.builds(group_epoch, EPOCHS),
    st.builds(target_epoch, EPOCHS),
    st.builds(member, MEMBERS),
    st.builds(target, MEMBERS, st.just({ORDERS: [0]})),
    st.builds(stands, MEMBERS, EPOCHS, st.just({})),
    st.builds(resolved, st.just("x")),
)
SHARE = st.one_of(
    st.builds(group_epoch, EPOCHS, kind=st.just(11)),
    st.builds(target_epoch, EPOCHS, kind=st.just(12)),
    st.builds(sharer, MEMBERS),
    st.builds(shares, MEMBERS, EPOCHS, st.just({})),
    st.just(share_state({ORDERS: "orders"})),
)
STREAMS = st.one_of(
    st.builds(group_epoch, EPOCHS, kind=st.just(17), validated_topology_epoch=EPOCHS),
    st.builds(target_epoch, EPOCHS, kind=st.just(20)),
    st.builds(worker, MEMBERS),
    st.builds(works, MEMBERS, EPOCHS),
    st.builds(lambda epoch: topology(epoch, s0=["t"]), EPOCHS),
)
RECORDS = st.one_of(CLASSIC, CONSUMER, SHARE, STREAMS)
PARTITIONS = st.lists(st.integers(0, 2), min_size=1, max_size=3)
SOME = st.lists(st.one_of(RECORDS, RECORDS.map(gone)), min_size=1, max_size=5)
STEPS = st.sampled_from([0, 0, 1, 10, 60, 3 * GRACE])
SKEWS = st.sampled_from([0, 0, 0, GRACE // 2])
OFFSETS = st.integers(0, 5)


@st.composite
def operations(draw: st.DrawFn) -> list[list[Timed]]:
    """Generate the operations that brokers write. Their clocks differ by less than the grace period."""
    clock, drawn = 0, []
    for _ in range(draw(st.integers(0, 14))):
        clock += draw(STEPS)
        time = clock + draw(SKEWS)
        group = draw(GROUPS)
        kind = draw(st.integers(0, 4))
        if kind == 0:
            drawn.append(commits(time, *draw(PARTITIONS), group=group, offset=draw(OFFSETS)))
        elif kind == 1:
            drawn.append(forgets(time, *draw(PARTITIONS), group=group))
        elif kind == 2:
            drawn.append(forgets(time, 0, 1, 2, group=group) + at(time, *_all_gone(group)))
        else:
            drawn.append(at(time, *(renamed(record, group) for record in draw(SOME))))
    return drawn


@functools.cache
def _all_gone(group: str) -> list[Written]:
    """Return the tombstones of all membership records of a group, in an order that Kafka uses."""
    each = [stands, target, shares, works]
    per_member = [
        write(name, 1, {}) if write is not target else target(name, {}) for write in each[:3] for name in "mno"
    ]
    rest = [works(name, 1) for name in "mno"] + [write(name) for write in (member, sharer, worker) for name in "mno"]
    epochs = [target_epoch(1, kind=kind) for kind in (6, 12, 20)] + [group_epoch(1, kind=kind) for kind in (3, 11, 17)]
    last = [resolved("x"), share_state({}), topology(1), classic()]
    return [gone(renamed(record, group)) for record in (*per_member, *rest, *epochs, *last)]


LOGS = operations().map(lambda drawn: list(itertools.chain.from_iterable(drawn)))
CUTS = st.lists(st.integers(0, 60), max_size=8)
