"""Tests of the facts about share groups of a poll, as inputs of health."""

from exporters.cluster import model
from stream.health.share.progress import SharePartitionProgress
from stream.tick.inputs.share_progress import ShareProgressReader, share_progress
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import table


def counted(group: str, partitions: int | None) -> dict[str, object]:
    """Return a row of SHARE_GROUPS."""
    return {"group": group, "partitions": partitions, "lag": None}


def test_a_group_has_its_partitions() -> None:
    """Unknown values are None. The time is that of the read, which may be older than the poll."""
    reads = table(model.SHARE_READS, [{"read_time": 7_500}])
    polled = facts(share_groups=table(model.SHARE_GROUPS, [counted("jobs", 2)]), taken_at=9.0, share_reads=reads)
    found = share_progress(polled)
    assert (found.taken_at, found.unknown_reason) == (7_500, None)
    assert found.incomplete == {}
    assert found.groups == {
        "jobs": (
            SharePartitionProgress("orders", 0, 1600, 390, 10, 2, 3, 1590, 1, 3, end=2000),
            SharePartitionProgress("orders", 1, None, None, None, 0, None, 0, 0, 0, end=7),
        )
    }


def test_a_group_with_missing_partitions_is_incomplete() -> None:
    """A group is unknown if not all of its partitions are kept, or their number is unknown; its topics are known."""
    for partitions in (3, None):
        polled = facts(share_groups=table(model.SHARE_GROUPS, [counted("jobs", partitions)]))
        assert share_progress(polled).groups == {}
        assert share_progress(polled).incomplete == {"jobs": {"orders"}}, "its topics are known"


def test_unknown_progress_has_the_reason_of_the_poll() -> None:
    """The reason is that of the unknown fact in the poll."""
    unknown = [{"fact": model.SHARE_GROUPS_FACT, "reason": "not_authorized", "amount": 1}]
    found = share_progress(facts(unknown_facts=table(model.UNKNOWN_FACTS, unknown)))
    assert (found.unknown_reason, found.groups) == ("not_authorized", {})


def test_a_poll_is_converted_once() -> None:
    """The progress is the same object until the next poll; discarded facts have no progress."""
    polls = [None, (first := facts()), first, facts(), None]
    reader = ShareProgressReader(iter(polls).__next__)
    found = [reader.current() for _ in polls]
    assert found[0] is found[4] is None
    assert found[1] is found[2] is not None
    assert found[3] is not found[1]
