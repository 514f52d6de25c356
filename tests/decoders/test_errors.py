"""Errors as data: the path grows outwards and reads like the table."""

from __future__ import annotations

from decoders.errors import DecodeReason, MalformedBytes


def test_a_path_reads_from_the_outermost_field_inwards() -> None:
    """Elements follow their array without a dot, fields follow with one."""
    fault = MalformedBytes(DecodeReason.SHORT, 9).within("client_id").within("[2]").within("members")
    assert (fault.path, fault.position, fault.reason) == ("members[2].client_id", 9, DecodeReason.SHORT)


def test_reasons_are_words_for_labels() -> None:
    """Each reason is one lower-case word, and no two are the same."""
    words = [reason.value for reason in DecodeReason]
    assert len(set(words)) == len(words)
    assert all(word.replace("_", "").isalnum() and word == word.lower() for word in words)
