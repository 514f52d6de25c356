"""The recorded run compared with a replay by the current code; its histories cover every transition."""

from sandbox.clients.group_names import RESERVED_PARTITION, group_name
from sandbox.scenarios.everything import CAPTURES, HISTORIES
from sandbox.scenarios.history import GroupHistory
from sandbox.scenarios.progress import OFFSETS_PARTITIONS
from sandbox.scenarios.recording import faults, recorded_rounds
from sandbox.scenarios.replay_observer import RETENTION, IncrementalReplay
from stream.groups.placement import partition_for
from stream.offline.replay import ROWS_PER_BATCH


def test_replay_of_the_recorded_run_finds_what_was_recorded() -> None:
    """Transitions are exactly the expected ones after each step; states, members and offsets are the tool's.

    A replay by one record, by seven or at once gives every group the same history and the same facts.
    """
    one, seven, whole = IncrementalReplay(1), IncrementalReplay(7), IncrementalReplay(ROWS_PER_BATCH)
    compared, wrong = set(), []
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        found = whole.read(rows, recorded.topics)
        compared |= {each.history for each in recorded.comparisons}
        wrong += faults(recorded, found)
        assert one.read(rows, recorded.topics) == found
        assert seven.read(rows, recorded.topics) == found
    assert wrong == []
    assert compared == {history.name for history in HISTORIES}


def test_histories_are_distinct() -> None:
    """Names are unique, every history has steps, and exactly one group is in the reserved offsets partition."""
    assert len({history.name for history in HISTORIES}) == len(HISTORIES)
    assert all(history.steps for history in HISTORIES)
    reserved = [history for history in HISTORIES if history.reserved]
    assert len(reserved) == 1
    assert _partition(reserved[0]) == RESERVED_PARTITION
    assert RESERVED_PARTITION not in {_partition(history) for history in HISTORIES if not history.reserved}


def _partition(history: GroupHistory) -> int:
    return partition_for(group_name(history.name, OFFSETS_PARTITIONS, reserved=history.reserved), OFFSETS_PARTITIONS)


def test_every_transition_and_cause_is_covered() -> None:
    """The histories have every transition, with every cause that a healthy cluster can show."""
    covered = {(each.what, each.cause) for history in HISTORIES for each in history.found_after(None).certain}
    without_cause = {"created", "rebalanced", "emptied", "reborn", "converted"}
    causes = {"expired", "deleted", "topic deleted"}
    assert covered == {(what, None) for what in without_cause} | {
        (end, cause) for end in ("forgotten", "dead") for cause in causes
    }
    assert RETENTION.retention_ms == 60_000
