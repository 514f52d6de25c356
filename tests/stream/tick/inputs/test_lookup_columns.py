"""Results of lookups as columns of health's inputs."""

import numpy as np

from stream.health.features.control_records import LogTails
from stream.tick.inputs.lookup_columns import _renumbered


def test_tails_are_renumbered_by_more_topics() -> None:
    """A tail keeps its topic and partition when a topic before it is added."""
    one = np.array([1 << 32 | 3])
    tails = _renumbered(LogTails(one, one, one, one, unreadable=one), ["b", "c"], ["a", "b", "c"])
    assert (tails.place.tolist(), tails.unreadable.tolist()) == ([2 << 32 | 3], [2 << 32 | 3])
