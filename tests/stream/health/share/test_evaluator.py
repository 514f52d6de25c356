"""The evaluation of share groups poll after poll: what is remembered and shown, and for how long."""

import operator

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.hysteresis import ShownVerdicts
from stream.health.limits import HealthLimits
from stream.health.row_columns import KeptColumns
from stream.health.share.evaluator import ShareEvaluator, ShareFindings
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.health.share.window import ShareMemory, remember
from stream.health.verdict import VERDICTS, Verdict
from tests.stream.health.panes import Row, pane
from tests.stream.health.share.polls import BEGIN, MINUTE, poll, progress, tick

WAITING = progress(lag=40)
OTHER = progress(partition=1, lag=7)


def words(evaluator: ShareEvaluator, *polls: ShareProgress) -> list[str]:
    """Return the verdict of the group after each poll."""
    return [evaluated(evaluator, each).group_finding(0).verdict for each in polls]


def evaluated(evaluator: ShareEvaluator, found: ShareProgress) -> ShareFindings:
    """Return the findings after a poll that has some of the group."""
    findings = evaluator.evaluate(tick(found))
    assert findings is not None
    assert findings.number_of == {0: 0}
    return findings


def test_a_fault_is_shown_at_once_and_withdrawn_after_two_polls() -> None:
    """A fault needs no second poll, because its rule has waited. The sentence reports that it is still shown."""
    evaluator = ShareEvaluator(HealthLimits())
    moving = [progress(lag=39, acknowledged=number) for number in (1, 2)]
    assert words(evaluator, *(poll(minute, WAITING) for minute in range(5))) == ["unknown"] * 5
    assert words(evaluator, poll(5, WAITING), poll(6, moving[0])) == ["share_stopped"] * 2
    found = evaluated(evaluator, poll(6, moving[0])).group_finding(0)
    assert (found.verdict, found.since) == ("share_stopped", BEGIN + 5 * MINUTE)
    assert found.sentence == (
        "jobs-0: Still shown as share stopped until this has lasted: Records are being finished; 39 records are not."
    )
    assert words(evaluator, poll(7, moving[1])) == ["ok"]


def test_each_topic_has_the_worst_verdict_of_its_partitions() -> None:
    """Partitions without a delivery count only in a topic that has no other partitions."""
    evaluator = ShareEvaluator(HealthLimits(share_pause=MINUTE))
    new = progress(partition=3, start_offset=None, lag=None)
    rows = (WAITING, progress(topic="fine"), new._replace(topic="fine"), new._replace(topic="new"))
    evaluated(evaluator, poll(0, *rows))
    found = evaluated(evaluator, poll(1, *rows)).topic_verdicts(0)
    assert found == {"jobs": "share_stopped", "fine": "caught_up", "new": "unknown"}


def test_a_group_has_the_finding_of_its_worst_partition() -> None:
    """Of equally bad partitions, the greatest lag decides."""
    evaluator = ShareEvaluator(HealthLimits(share_pause=MINUTE))
    idle = progress(partition=2)
    evaluated(evaluator, poll(0, OTHER, WAITING, idle))
    found = evaluated(evaluator, poll(1, OTHER, WAITING, idle))
    assert found.group_rows.tolist() == [2]
    finding = found.group_finding(0)
    assert finding.sentence.startswith("jobs-0: The group has 2 members, but no record")
    assert finding.sentence.endswith(" Partitions with this verdict: 2 of 3.")
    assert finding.evidence == {
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
    """A partition in which no delivery has ended does not count beside others."""
    none = progress(start_offset=None, lag=None)
    for rows, verdict in (
        ([progress(), progress(partition=1)], Verdict.CAUGHT_UP),
        ([none, progress(partition=1)], Verdict.CAUGHT_UP),  # the first one had no delivery
        ([none], Verdict.UNKNOWN),  # nothing was delivered
        ([progress(lag=None), progress(partition=1)], Verdict.UNKNOWN),
    ):
        assert words(ShareEvaluator(HealthLimits()), poll(0, *rows)) == [verdict]


def test_a_group_of_unknown_progress_has_no_finding() -> None:
    """A group has no finding without the right, before the first poll, or if it is not in the topic."""
    evaluator = ShareEvaluator(HealthLimits())
    for found in (None, ShareProgress(BEGIN, {}, "not_authorized"), poll(0, WAITING, group="other"), poll(1)):
        assert evaluator.evaluate(tick(found)) is None


def test_findings_stay_after_failed_polls_until_they_are_too_old() -> None:
    """The findings stay for five minutes; the memory continues with the next poll that has an answer."""
    evaluator = ShareEvaluator(HealthLimits())
    assert words(evaluator, poll(0, WAITING), poll(5, WAITING)) == ["unknown", "share_stopped"]
    failed = [ShareProgress(BEGIN + minute * MINUTE, {}, "unreachable") for minute in (6, 10, 11)]
    assert words(evaluator, *failed[:2]) == ["share_stopped"] * 2
    assert evaluator.evaluate(tick(failed[2])) is None
    assert words(evaluator, poll(12, WAITING)) == ["share_stopped"]


def test_an_unknown_lag_does_not_withdraw_a_fault() -> None:
    """The end of a partition without a leader is not known; its fault stays, and its pause continues."""
    evaluator = ShareEvaluator(HealthLimits())
    unknown = progress(lag=None)
    verdicts = words(evaluator, *(poll(minute, row) for minute, row in enumerate([WAITING, *[unknown] * 5, WAITING])))
    assert verdicts == ["unknown"] * 6 + ["share_stopped"]
    assert words(evaluator, *(poll(minute, unknown) for minute in range(7, 12))) == ["share_stopped"] * 5


def test_a_restart_of_the_monitor_changes_nothing() -> None:
    """Verdict, time and memory continue, also after a start without any poll; the counts of the reader restart."""
    evaluator = ShareEvaluator(HealthLimits())
    words(evaluator, poll(0, WAITING), poll(1, progress(lag=40, acknowledged=90)), poll(2, progress(lag=40, returns=9)))
    before = evaluated(evaluator, poll(8, progress(lag=40, returns=9))).group_finding(0)
    stored = ShareEvaluator(HealthLimits(), evaluator.pack()).pack()
    after = evaluated(ShareEvaluator(HealthLimits(), stored), poll(9, WAITING)).group_finding(0)
    assert (after.verdict, after.since) == (before.verdict, before.since)
    assert before.verdict == "share_stopped"


def test_a_share_group_has_the_state_of_every_other_group() -> None:
    """The common hysteresis counts its polls, and the state is stored in the common form, under its row."""
    evaluator = ShareEvaluator(HealthLimits())
    words(evaluator, *(poll(minute, WAITING) for minute in (0, 5, 6)))
    state = KeptColumns(ShownVerdicts, evaluator.pack()).aligned(pane(Row("g", "jobs")).inputs, np.arange(1))
    assert (VERDICTS[state.verdict[0]], state.since[0], state.sick_ticks[0]) == ("share_stopped", BEGIN + 5 * MINUTE, 2)


def test_groups_and_partitions_keep_their_memory_beside_new_ones() -> None:
    """Names are numbered again at each poll, and the groups of a tick at each tick."""
    evaluator, names = ShareEvaluator(HealthLimits()), ("a", "g")
    both = ShareProgress(BEGIN + 5 * MINUTE, {"g": (progress(topic="first"), WAITING), "a": (OTHER,)})
    evaluated(evaluator, poll(0, WAITING))
    found = evaluator.evaluate(tick(both, names))
    assert found is not None
    assert {names[at]: VERDICTS[found.group_verdict[number]] for at, number in found.number_of.items()} == {
        "a": "unknown",
        "g": "share_stopped",
    }
    later = evaluator.evaluate(tick(both, ("a", "f", "g")))
    assert later is not None
    assert later.number_of == {0: 0, 2: 1}


def test_a_fault_from_before_the_first_poll_has_the_time_of_that_poll() -> None:
    """`unmoved_since` has the time of the first poll until a partition changes, and no group after that."""
    evaluator = ShareEvaluator(HealthLimits())
    found = [evaluated(evaluator, poll(minute, WAITING)).unmoved_since() for minute in (0, 5, 6)]
    assert found == [{}, {0: BEGIN}, {0: BEGIN}]
    moved = progress(lag=9, acknowledged=1)
    assert evaluated(evaluator, poll(7, moved)).unmoved_since() == {}
    assert words(evaluator, poll(20, moved)) == ["share_stopped"]
    assert evaluated(evaluator, poll(20, moved)).unmoved_since() == {}


def remembered(*polls: SharePartitionProgress) -> dict[str, int]:
    """Return the memory after these polls, one each minute."""
    memory = ShareMemory.empty(1)
    for number, each in enumerate(polls):
        memory = remember(memory, [each], BEGIN + number * MINUTE)
    return {name: int(getattr(memory, name)[0]) for name in ShareMemory.declared()}


def test_a_pause_that_ends_is_a_habit_unless_it_was_too_long() -> None:
    """The first change after the start of the monitor is no habit, because the start of its pause is not known."""
    still = progress(lag=5)
    first, second = still._replace(start_offset=11), still._replace(start_offset=12)
    assert remembered(still, still, first)["longest_pause"] == 0
    assert remembered(still, first, first, first, second)["longest_pause"] == 3 * MINUTE
    assert remembered(still, *[first] * 15, second)["longest_pause"] == 15 * MINUTE
    assert remembered(still, *[first] * 16, second)["longest_pause"] == 0


def test_the_results_of_deliveries_are_counted_since_the_last_accepted_record() -> None:
    """Polls without an ended delivery count for nothing; one accepted record ends the count."""
    names = ("fruitless_since", "fruitless_polls", "archiving_polls", "archived_since")
    rejected = [progress(lag=5, archived=number) for number in (0, 3, 3, 4)]
    for more, expected in (
        ([], (BEGIN + MINUTE, 2, 2, 4)),
        ([progress(lag=5, archived=4, returns=2)], (BEGIN + MINUTE, 3, 2, 4)),
        ([progress(lag=5, archived=6, acknowledged=1)], (NOT_KNOWN, 0, 0, 0)),
    ):
        assert operator.itemgetter(*names)(remembered(*rejected, *more)) == expected
