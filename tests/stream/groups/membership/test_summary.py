"""The summary of a group equals its membership in all fields that it has."""

import random

from hypothesis import given
from hypothesis import strategies as st

from decoders import scalar
from decoders.errors import DecodeError
from decoders.tables import BY_NUMBER
from stream.groups.lifecycle.record import digest
from stream.groups.membership.model import SIMPLE, Membership
from stream.groups.membership.summary import MembershipSummaries, MembershipSummary, group_of
from tests.decoders.writing import random_record
from tests.stream.groups.written import column, gone, memberships
from tests.support.histories import RECORDS

HISTORIES = st.lists(st.one_of(RECORDS, RECORDS.map(gone)), max_size=20)


def summary_of(membership: Membership | None) -> MembershipSummary | None:
    """Return the fields of a membership that a summary has."""
    if membership is None:
        return None
    return MembershipSummary(
        kind=membership.kind,
        state=membership.state,
        members=membership.members,
        names=frozenset(map(digest, membership.member_names)),
        number=membership.generation if membership.kind in {"classic", SIMPLE} else membership.assignment_epoch,
        state_time=membership.state_time,
        protocol_type=membership.protocol_type,
    )


@given(HISTORIES)
def test_summary_and_membership_are_equal(history: list[tuple[bytes, bytes | None]]) -> None:
    """Summary and membership have equal fields for any records in any order."""
    outlines = MembershipSummaries()
    outlines.apply(column(history))
    assert outlines.get("g") == summary_of(memberships(history).by_group.get("g"))


def test_keys_of_every_type_begin_with_the_group() -> None:
    """All membership keys begin with their group; invalid UTF-8 is repaired as in Java."""
    chance = random.Random(5)  # noqa: S311 - any records will do
    for number in (2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23):
        for _ in range(20):
            key, _ = random_record(chance, BY_NUMBER[number])
            read = scalar.decode(key, None)
            assert not isinstance(read, DecodeError)
            assert group_of(key) == read.key.get("group", read.key.get("group_id"))
    assert group_of(b"\0\2\0\3a\xffb") == "a\N{REPLACEMENT CHARACTER}b"
