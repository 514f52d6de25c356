"""Whether a checkpoint still fits its topic: the reasons as sentences. Most are tested with the directory."""

from stream.checkpoint.continuity import OffsetsTopicEnds, ReadPositions, gap


def test_the_pause_and_the_retention_are_named() -> None:
    """A pause of two hours is named as two hours."""
    topic = OffsetsTopicEnds({0: (0, 9, 9)}, now=7_200.0, tombstone_seconds=3_600.0)
    assert str(gap(ReadPositions(None, {0: 5}, current_at=0.0), None, topic, {})).startswith(
        "nothing was read for 2 h, but"
    )
