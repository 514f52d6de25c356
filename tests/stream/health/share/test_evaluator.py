"""The evaluation of share groups poll after poll: what is remembered and shown, and for how long."""

import json

from stream.health.columns import NOT_KNOWN
from stream.health.limits import HealthLimits
from stream.health.share.evaluator import SHARE_CODE, ShareEvaluator
from stream.health.share.memory import SharePartitionMemory, first_memory, remember
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.health.verdict import CODE, Verdict
from tests.stream.health.share.polls import BEGIN, MINUTE, groups, poll, progress

WAITING = progress(lag=40)
OTHER = progress(partition=1, lag=7)


def words(evaluator: ShareEvaluator, *polls: ShareProgress) -> list[str]:
    """Return the verdict of the group after each poll."""
    return [evaluator.evaluate(each, groups())[0].group.verdict for each in polls]


def test_a_fault_is_shown_at_once_and_withdrawn_after_two_polls() -> None:
    """A fault needs no second poll, because its rule has waited. The sentence reports that it is still shown."""
    evaluator = ShareEvaluator()
    moving = [progress(lag=39, acknowledged=number) for number in (1, 2)]
    assert words(evaluator, *(poll(minute, WAITING) for minute in range(5))) == ["unknown"] * 5
    assert words(evaluator, poll(5, WAITING), poll(6, moving[0])) == ["share_stopped"] * 2
    found = evaluator.evaluate(poll(6, moving[0]), groups())[0]
    assert (found.code, found.group.since) == (SHARE_CODE["share_stopped"], BEGIN + 5 * MINUTE)
    assert found.group.sentence == (
        "jobs-0: Still shown as share stopped until this has lasted: Records are being finished; 39 records are not."
    )
    assert words(evaluator, poll(7, moving[1])) == ["ok"]


def test_each_topic_has_the_worst_verdict_of_its_partitions() -> None:
    """Partitions without a delivery count only in a topic that has no other partitions."""
    evaluator = ShareEvaluator(HealthLimits(share_pause=MINUTE))
    new = progress(partition=3, start_offset=None, lag=None)
    rows = (WAITING, progress(topic="fine"), new._replace(topic="fine"), new._replace(topic="new"))
    evaluator.evaluate(poll(0, *rows), groups())
    assert evaluator.evaluate(poll(1, *rows), groups())[0].topics == {
        "jobs": SHARE_CODE["share_stopped"],
        "fine": CODE[Verdict.CAUGHT_UP],
        "new": CODE[Verdict.UNKNOWN],
    }


def test_a_group_has_the_finding_of_its_worst_partition() -> None:
    """Of equally bad partitions, the greatest lag decides; each faulty partition has a finding of its own."""
    evaluator = ShareEvaluator(HealthLimits(share_pause=MINUTE))
    idle = progress(partition=2)
    evaluator.evaluate(poll(0, OTHER, WAITING, idle), groups())
    found = evaluator.evaluate(poll(1, OTHER, WAITING, idle), groups())[0]
    assert found.rows == 2
    assert found.group.sentence.startswith("jobs-0: The group has 2 members, but no record")
    assert found.group.sentence.endswith(" Partitions with this verdict: 2 of 3.")
    assert [(each.topic, each.partition) for each in found.partitions] == [("jobs", 0), ("jobs", 1)]
    assert found.group.evidence == {
        "lag": 40,
        "start_offset": 10,
        "finished": 0,
        "returned": 0,
        "most_deliveries": None,
        "archived_since_accepted": 0,
        "members": 2,
        "last_change_time": None,
        "patience": MINUTE,
    }


def test_a_group_without_a_fault_is_caught_up_or_unknown() -> None:
    """A share group is caught up or `unknown`. A partition without a known lag has a finding of its own."""
    none = progress(start_offset=None, lag=None)
    for rows, verdict in (
        ([progress(), progress(partition=1)], Verdict.CAUGHT_UP),
        ([none, progress(partition=1)], Verdict.CAUGHT_UP),  # the first one had no delivery
        ([none], Verdict.UNKNOWN),  # nothing was delivered
        ([progress(lag=None), progress(partition=1)], Verdict.UNKNOWN),
    ):
        found = ShareEvaluator().evaluate(poll(0, *rows), groups())[0]
        assert (found.group.verdict, found.code) == (verdict, CODE[verdict])
        assert bool(found.partitions) == any(row.lag is None for row in rows)


def test_a_group_of_unknown_progress_has_no_finding() -> None:
    """A group has no finding without the right, before the first poll, or if it is not in the topic."""
    evaluator = ShareEvaluator()
    assert evaluator.evaluate(None, groups()) == {}
    assert evaluator.evaluate(ShareProgress(BEGIN, {}, "not_authorized"), groups()) == {}
    assert evaluator.evaluate(poll(0, WAITING, group="other"), groups()) == {}
    assert evaluator.evaluate(poll(1), groups()) == {}


def test_findings_stay_after_failed_polls_until_they_are_too_old() -> None:
    """The findings stay for five minutes; the memory continues with the next poll that has an answer."""
    evaluator = ShareEvaluator()
    found = [evaluator.evaluate(poll(minute, WAITING), groups()) for minute in (0, 5)][-1]
    assert found[0].group.verdict == "share_stopped"
    for minute, shown in ((6, found), (10, found), (11, {})):
        failed = ShareProgress(BEGIN + minute * MINUTE, {}, "unreachable")
        assert evaluator.evaluate(failed, groups()) == shown
    assert words(evaluator, poll(12, WAITING)) == ["share_stopped"]


def test_an_unknown_lag_does_not_withdraw_a_fault() -> None:
    """The end of a partition without a leader is not known; its fault stays, and its pause continues."""
    evaluator = ShareEvaluator()
    unknown = progress(lag=None)
    verdicts = words(evaluator, *(poll(minute, row) for minute, row in enumerate([WAITING, *[unknown] * 5, WAITING])))
    assert verdicts == ["unknown"] * 6 + ["share_stopped"]
    assert words(evaluator, *(poll(minute, unknown) for minute in range(7, 12))) == ["share_stopped"] * 5


def test_a_restart_of_the_monitor_changes_nothing() -> None:
    """Verdict, time and memory continue; the counts of the reader restart. Rows of another format are ignored."""
    evaluator = ShareEvaluator()
    words(evaluator, poll(0, WAITING), poll(1, progress(lag=40, acknowledged=90)), poll(2, progress(lag=40, returns=9)))
    before = evaluator.evaluate(poll(8, progress(lag=40, returns=9)), groups())[0]
    stored = json.loads(json.dumps(evaluator.pack()))
    after = ShareEvaluator(stored=stored).evaluate(poll(9, WAITING), groups())[0]
    assert (after.group.verdict, after.group.since) == (before.group.verdict, before.group.since)
    assert before.group.verdict == "share_stopped"
    assert words(ShareEvaluator(stored=[["g", 1, 2]]), poll(5, WAITING)) == ["unknown"]


def test_a_fault_from_before_the_first_poll_has_the_time_of_that_poll() -> None:
    """`unmoved_since` is the time of the first poll until a partition changes, and None after that."""
    evaluator = ShareEvaluator()
    found = [evaluator.evaluate(poll(minute, WAITING), groups())[0].unmoved_since for minute in (0, 5, 6)]
    assert found == [None, BEGIN, BEGIN]
    moved = progress(lag=9, acknowledged=1)
    assert evaluator.evaluate(poll(7, moved), groups())[0].unmoved_since is None
    assert evaluator.evaluate(poll(20, moved), groups())[0].group.verdict == "share_stopped"
    assert evaluator.evaluate(poll(20, moved), groups())[0].unmoved_since is None


def remembered(*polls: SharePartitionProgress) -> SharePartitionMemory:
    """Return the memory after these polls, one each minute."""
    memory = first_memory(polls[0], BEGIN)
    for number, each in enumerate(polls[1:], 1):
        memory = remember(memory, each, BEGIN + number * MINUTE)
    return memory


def test_a_pause_that_ends_is_a_habit_unless_it_was_too_long() -> None:
    """The first change after the start of the monitor is no habit, because the start of its pause is not known."""
    still = progress(lag=5)
    first, second = still._replace(start_offset=11), still._replace(start_offset=12)
    assert remembered(still, still, first).longest_pause == 0
    assert remembered(still, first, first, first, second).longest_pause == 3 * MINUTE
    assert remembered(still, *[first] * 15, second).longest_pause == 15 * MINUTE
    assert remembered(still, *[first] * 16, second).longest_pause == 0


def test_the_results_of_deliveries_are_counted_since_the_last_accepted_record() -> None:
    """Polls without an ended delivery count for nothing; one accepted record ends the count."""
    rejected = [progress(lag=5, archived=number) for number in (0, 3, 3, 4)]
    found = remembered(*rejected)
    assert (found.fruitless_polls, found.archiving_polls, found.archived) == (2, 2, 4)
    assert found.fruitless_since == BEGIN + MINUTE
    returned = remembered(*rejected, progress(lag=5, archived=4, returns=2))
    assert (returned.fruitless_polls, returned.archiving_polls, returned.archived) == (3, 2, 4)
    accepted = remembered(*rejected, progress(lag=5, archived=6, acknowledged=1))
    assert (accepted.fruitless_polls, accepted.archived, accepted.fruitless_since) == (0, 0, NOT_KNOWN)
