"""Records that retention removes: a removal that is no loss, and a loss after which the group cannot start."""

from __future__ import annotations

from stream.health.verdict import Verdict
from tests.stream.health.simulator import MINUTE, SECOND, Partition, Scene, by_list, consume, watch
from tests.stream.health.situations import LATE, LONG, SICK, STEADY

V = Verdict


def sparse_partition_expires() -> Scene:
    """Return a group that does not commit the last records of a partition, which are all removed after four minutes."""
    end = by_list([*range(LONG, 0, SECOND)])
    read = Partition(STEADY, consume(STEADY, LONG, LATE), owner=0, subscribed=1)
    sparse = Partition(
        end,
        consume(end, LONG, -5 * SECOND),
        log_start=lambda t: end(t) if t >= 4 * MINUTE else 0,
        owner=0,
        subscribed=1,
    )
    return Scene([read, sparse])


def test_a_partition_whose_unread_records_are_all_removed_has_a_notice() -> None:
    """The verdict of the partition is a notice and no fault, because the group has nothing to read."""
    late = [each for each in watch(sparse_partition_expires(), -6 * MINUTE, 8 * MINUTE) if each.time > 5 * MINUTE]
    assert {each.of(1) for each in late} == {V.BELOW_LOG_START}
    assert not any(each.sick for each in late)
    assert "4 offsets above the commit" in late[-1].result.row_finding(1).sentence


def test_a_group_that_cannot_start_keeps_its_verdict_between_its_starts() -> None:
    """The verdict does not change while the group has no members, and the next step is a reset of the offset."""
    (situation,) = (each for each in SICK if each.story == "a group that cannot start after its records are lost")
    late = [each for each in watch(situation.scene(), -6 * MINUTE, 12 * MINUTE) if each.time > 8 * MINUTE]
    finding = late[-1].result.row_finding(0)
    assert {each.verdict for each in late} == {V.LOSING_DATA}
    assert "does not get past that: " in finding.sentence
    assert "--reset-offsets --to-earliest" in finding.next_step
