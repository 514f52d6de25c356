"""The vocabulary: version words, defaults, what a version holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.schema import INT32, STRING, ArrayOf, Field, Message, Struct, versions
from decoders.tables import RECORD_TYPES, tracking

WORDS = [
    pytest.param("0+", (0, 5, 32767), (), id="from zero on"),
    pytest.param("3+", (3, 4), (0, 2), id="from three on"),
    pytest.param("0-2", (0, 1, 2), (3,), id="a range"),
    pytest.param("1", (1,), (0, 2), id="one version"),
    pytest.param("none", (), (0, 1), id="none"),
]


@pytest.mark.parametrize(("word", "inside", "outside"), WORDS)
def test_a_version_word_means_what_kafka_means_by_it(
    word: str, inside: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    """Each of Kafka's forms holds exactly its versions."""
    assert all(version in versions(word) for version in inside)
    assert not any(version in versions(word) for version in outside)


@pytest.mark.parametrize("word", ["", "+", "1-", "-1", "1+2", "a", "1 - 2"])
def test_a_slip_in_a_version_word_is_an_error(word: str) -> None:
    """What is no version word is refused when the table is read, not silently empty."""
    with pytest.raises(ValueError, match="not a range"):
        versions(word)


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_range_holds_its_ends_and_what_lies_between(lowest: int, highest: int) -> None:
    """Iterating a range and asking it agree."""
    spanned = versions(f"{lowest}-{highest}")
    assert list(spanned) == [version for version in range(60) if version in spanned]


def test_an_absent_field_has_the_default_of_its_type_unless_it_has_its_own() -> None:
    """Defaults are Kafka's: zero, empty, or what the row says."""
    inner = Struct("Inner", (Field("name", STRING), Field("size", INT32, default=-1)))
    assert Field("a", INT32).default_value() == 0
    assert Field("a", ArrayOf(inner)).default_value() == ()
    assert Field("a", inner).default_value() == {"name": "", "size": -1}
    assert Field("a", STRING, default=None).default_value() is None


def test_a_message_says_which_versions_are_valid_and_flexible() -> None:
    """Valid and flexible versions are two different ranges."""
    message = Message(Struct("M", ()), valid="1-4", flexible="3+")
    assert [message.is_valid(version) for version in (0, 1, 4, 5)] == [False, True, True, False]
    assert [message.is_flexible(version) for version in (2, 3)] == [False, True]


def test_every_number_from_0_to_23_is_known_and_the_two_burnt_ones_are_not() -> None:
    """The job counts a type as tracked, known or unknown; removed numbers are unknown as they are to brokers."""
    assert [row.number for row in RECORD_TYPES] == list(range(24))
    assert {number for number in range(24) if tracking(number) == "unknown"} == {9, 18}
    assert tracking(24) == tracking(-1) == "unknown"
