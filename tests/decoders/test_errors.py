"""Decode errors: paths and reasons."""

from decoders.errors import DecodeReason, MalformedBytes


def test_a_path_reads_from_the_outermost_field_inwards() -> None:
    """Indexes are appended to their array without a dot, fields with one."""
    fault = MalformedBytes(DecodeReason.SHORT, 9).within("client_id").within("[2]").within("members")
    assert (fault.path, fault.position, fault.reason) == ("members[2].client_id", 9, DecodeReason.SHORT)


def test_reasons_are_usable_as_label_values() -> None:
    """Each reason is a unique lower-case word."""
    words = [reason.value for reason in DecodeReason]
    assert len(set(words)) == len(words)
    assert all(word.replace("_", "").isalnum() and word == word.lower() for word in words)
