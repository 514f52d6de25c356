"""The groups whose alerts the configuration mutes."""

from exporters.http.openapi.small_world import NOON
from exporters.selection.budget import muted_by_configuration
from tests.exporters.snapshots import snapshot


def test_a_window_and_a_silence_mute() -> None:
    """A window and a silence mute a group, each alone or both together.

    The end of a silence does not matter, because a row has only a silence that is in force.
    """
    groups = [
        {"group": "both", "maintenance_until": NOON, "silence_reason": "retired"},
        {"group": "neither"},
        {"group": "silence", "silence_reason": "retired", "silence_until": NOON},
        {"group": "window", "maintenance_until": NOON},
    ]
    muted = muted_by_configuration(snapshot(groups=groups).groups)
    assert muted.to_pylist() == [True, False, True, True]
