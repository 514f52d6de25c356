"""Version ranges, default values, and the fields of a version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.schema import INT32, STRING, ArrayOf, Field, Message, Struct, versions
from decoders.tables import RECORD_TYPES, tracking

RANGES = {
    "zero and above": ("0+", (0, 5, 32767), ()),
    "three and above": ("3+", (3, 4), (0, 2)),
    "a range": ("0-2", (0, 1, 2), (3,)),
    "one version": ("1", (1,), (0, 2)),
    "none": ("none", (), (0, 1)),
}


def test_a_version_range_has_the_meaning_of_kafka() -> None:
    """Each of Kafka's forms contains exactly its versions."""
    for story, (text, inside, outside) in RANGES.items():
        assert all(version in versions(text) for version in inside), story
        assert not any(version in versions(text) for version in outside), story


def test_a_malformed_version_range_is_an_error() -> None:
    """A malformed range raises and is not silently empty."""
    for text in ("", "+", "1-", "-1", "1+2", "a", "1 - 2"):
        with pytest.raises(ValueError, match="not a range"):
            versions(text)


@given(st.integers(0, 50), st.integers(0, 50))
def test_iteration_and_membership_of_a_range_agree(lowest: int, highest: int) -> None:
    """Iteration gives exactly the versions that the range contains, in order, from the first to the last one."""
    version_range = versions(f"{lowest}-{highest}")
    assert list(version_range) == list(range(lowest, highest + 1))
    assert [version for version in range(60) if version in version_range] == list(version_range)


def test_an_absent_field_has_its_own_default_or_that_of_its_type() -> None:
    """Defaults are those of Kafka: zero, empty, or the default of the row."""
    inner = Struct("Inner", (Field("name", STRING), Field("size", INT32, default=-1)))
    assert Field("a", INT32).default_value() == 0
    assert Field("a", ArrayOf(inner)).default_value() == ()
    assert Field("a", inner).default_value() == {"name": "", "size": -1}
    assert Field("a", STRING, default=None).default_value() is None


def test_a_message_has_valid_and_flexible_versions() -> None:
    """Valid and flexible versions are two independent ranges."""
    message = Message(Struct("M", ()), valid="1-4", flexible="3+")
    assert [message.is_valid(version) for version in (0, 1, 4, 5)] == [False, True, True, False]
    assert [message.is_flexible(version) for version in (2, 3)] == [False, True]


def test_every_type_from_0_to_23_is_known_except_the_two_removed_ones() -> None:
    """A type is tracked, known or unknown; removed types are unknown, as in brokers."""
    assert [row.number for row in RECORD_TYPES] == list(range(24))
    assert {number for number in range(24) if tracking(number) == "unknown"} == {9, 18}
    assert tracking(24) == tracking(-1) == "unknown"
