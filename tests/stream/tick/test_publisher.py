"""The publisher: end offsets are read after commits, and the last snapshot stays while Kafka is unreachable."""

import dataclasses
import functools
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from exporters.text.exposition import PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import Unreachable
from stream.config.ownership import GroupPolicies
from stream.groups.driver_state import GroupColumns
from stream.health.packed_evaluation import PackedEvaluation
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick import run_tick
from stream.tick.context import LookupResults
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.publisher import Publisher
from stream.tick.run_tick import TickParts
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.store import VerdictStore
from tests.stream.groups.written import classic, classic_member, memberships
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

CLUSTER = cast("Cluster", object())


class Ends:
    """The answers of the cluster, and the requested topics."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows
        self.requested: list[set[str]] = []
        self.error: Unreachable | None = None

    def __call__(self, _cluster: Cluster, topics: Collection[str]) -> pa.Table:
        """Answer like `read_ends`."""
        self.requested.append(set(topics))
        if self.error is not None:
            raise self.error
        return ends_of(self.rows)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    answer = Ends([("t", 0, 10, 10, 0, None), (NAME, 0, 100, 90, 0, None), (NAME, 1, 5, 5, 0, None)])
    monkeypatch.setattr(run_tick, "read_ends", answer)
    monkeypatch.setattr("stream.tick.publisher.read_ends", answer)
    return answer


@pytest.fixture
def status() -> ServiceStatus:
    """Return the status of a monitor that has caught up."""
    status = ServiceStatus("1", 60)
    status.phase, status.cluster_id = RUNNING, "c"
    status.progress = CatchUpProgress({0: 80, 1: 5}, {0: 90, 1: 5})
    return status


def ticker_of(publisher: Publisher, status: ServiceStatus, follow: Callable[[], None] = lambda: None) -> Ticker:
    """Return a ticker that polls no context."""
    no_poller = cast("Any", None)
    return Ticker(publisher, status, CLUSTER, no_poller, tick_interval=10, trigger_interval=1, follow=follow)


def tick(publisher: Publisher, status: ServiceStatus) -> tuple[EndsIndex, Mapping[int, int]] | None:
    return ticker_of(publisher, status).tick(current=False)


def current(publisher: Publisher) -> PublishedSnapshot:
    published = publisher.current()
    assert published is not None
    return published


def details(publisher: Publisher) -> Any:
    detail = publisher.details("g")
    assert detail is not None
    return detail


def shard_of(offset: int) -> ShardReader:
    """Return a shard in which g committed this offset on t-0."""
    shard = ShardReader()
    shard.read([(commit_key("g", "t", 0), commit_value(offset, 1))])
    return shard


def test_a_tick_publishes_what_was_applied_before_it(ends: Ends, status: ServiceStatus) -> None:
    """The snapshot has the commits and their lag; end offsets of only the needed topics are requested."""
    publisher = Publisher()
    assert publisher.current() is None
    publisher.apply([(0, shard_of(4).change)], catching_up=False)
    assert tick(publisher, status) is not None
    published = current(publisher)
    assert published.snapshot.partitions.column("lag").to_pylist() == [6]
    assert ends.requested == [{"t", NAME}]
    assert status.monitor_status().ready
    assert status.tick.series == published.exposition.series > 0


class HiddenMember:
    """Lookups by which an open transaction hides that `new` is a member of g."""

    topics = groups_with_records = frozenset[str]()
    hidden: Any = property(lambda self: self)

    def __getattr__(self, _: str) -> Any:
        return lambda *_: None

    def look_up(self, *_: Any) -> LookupResults:
        return LookupResults()

    def apply(self, state: GroupColumns, *_: Any) -> HiddenCommits:
        newer = memberships([classic(classic_member("new"))])
        return HiddenCommits(state, np.zeros(len(state.runs), np.bool_), memberships={"g": newer})


@pytest.mark.usefixtures("ends")
def test_details_have_the_members_behind_an_open_transaction(status: ServiceStatus) -> None:
    """The members are those of the hidden records, which the state of the job does not have yet."""
    publisher = Publisher(parts=TickParts(cast("Any", HiddenMember())))
    publisher.apply([(0, shard_of(4).change)], catching_up=False)
    assert tick(publisher, status) is not None
    assert [each.member_id for each in details(publisher).members] == ["new"]


@pytest.mark.usefixtures("ends")
def test_changed_policies_and_targets_apply_at_the_next_tick(status: ServiceStatus) -> None:
    """The follower of the configuration file changes them before a tick, and that tick shows them."""
    publisher = Publisher()
    publisher.apply([(0, shard_of(4).change)], catching_up=False)
    policies = GroupPolicies(owners=((".*", {"team": "a"}),))
    tick(publisher, status)
    assert current(publisher).snapshot.groups["team"].to_pylist() == [None]
    ticker = ticker_of(publisher, status, lambda: publisher.use(policies, ((".*", 60.0),)))
    assert ticker.tick(current=False) is not None
    shown = current(publisher).snapshot
    assert (shown.groups["team"].to_pylist(), shown.targets["time_lag_target"].to_pylist()) == (["a"], [60.0])


def test_the_last_snapshot_stays_while_kafka_is_unreachable(ends: Ends, status: ServiceStatus) -> None:
    """Without an answer, the published snapshot does not change; the status has the failure until Kafka answers."""
    publisher = Publisher()
    publisher.apply([(0, shard_of(4).change)], catching_up=False)
    tick(publisher, status)
    before = publisher.current()
    ends.error = Unreachable("broker-1:9092 does not answer", "is it up?")
    assert tick(publisher, status) is None
    assert publisher.current() is before
    assert not status.monitor_status().kafka_reachable
    assert status.monitor_status().ready, "the snapshot is still fresh"
    ends.error = None
    assert tick(publisher, status) is not None
    assert publisher.current() is not before
    assert status.monitor_status().kafka_reachable


@pytest.mark.parametrize("phase", [CATCHING_UP, RUNNING])
def test_an_offsets_partition_without_a_leader_makes_the_monitor_not_ready(
    ends: Ends, status: ServiceStatus, phase: str
) -> None:
    """In the catch-up, readiness ends at once, later after the freshness limit; the first answer restores it."""
    publisher, whole = Publisher(), ends.rows
    tick(publisher, status)
    status.phase, now = phase, time.time()
    ticker = ticker_of(publisher, status)
    poll = functools.partial(ticker.tick, current=False) if phase == RUNNING else ticker.poll_offsets_topic
    ends.rows = [*whole[:2], (NAME, 1, None, None, None, "no_leader")]
    poll()
    assert any("no leader: 1" in reason for reason in status.monitor_status().not_ready_reasons) is (
        phase == CATCHING_UP
    )
    status.unanswered = [dataclasses.replace(each, since=now - 61) for each in status.unanswered]
    assert "offsets partitions that have no leader: 1" in status.monitor_status().not_ready_reasons
    ends.rows = whole
    poll()
    assert not any("no leader" in reason for reason in status.monitor_status().not_ready_reasons)


def test_details_are_those_of_the_published_snapshot(ends: Ends, status: ServiceStatus) -> None:  # noqa: ARG001 - replaces the request
    """Details have members and history.

    Details are None before the first snapshot, for an unknown group, and after the grace period.
    """
    publisher = Publisher(dead_grace=3600.0)
    now, shard = int(time.time() * 1000), ShardReader()
    publisher.apply([(0, shard.read([(group_key("g"), group_value(1, ["m"]))], time=now - 3000))], catching_up=False)
    assert publisher.details("g") is None, "no snapshot yet"
    assert publisher.groups_of_client(None, None) == frozenset()
    tick(publisher, status)
    detail = details(publisher)
    assert [member.member_id for member in detail.members] == ["m"]
    assert [(each.transition, each.joined) for each in detail.transitions] == [("created", 0), ("rebalanced", 1)]
    assert publisher.details("stranger") is None
    client = detail.members[0].client_id
    assert publisher.groups_of_client(client, None) == {"g"}
    assert publisher.groups_of_client(client, "elsewhere") == frozenset()

    publisher.apply([(0, shard.read([(group_key("g"), None)], time=now - 1000))], catching_up=False)
    tick(publisher, status)
    detail = details(publisher)
    assert (detail.members, detail.transitions[-1].transition, detail.transitions[-1].cause) == ((), "dead", "unknown")
    deaths = {row["cause"]: row["groups"] for row in status.monitor_status().tick.terminations.deaths.to_pylist()}
    assert deaths == {"deleted": 0, "expired": 0, "topic deleted": 0, "unknown": 1}

    publisher = Publisher(dead_grace=0.5)
    publisher.seed([(0, shard.state)])
    tick(publisher, status)
    assert publisher.details("g") is None


def test_a_finished_tick_answers_as_before(ends: Ends) -> None:
    """The details of a group do not change when the tick is finished. Finishing it again packs nothing."""
    publisher = Publisher()
    ends.rows = [("t", 0, 4, 4, 2, None), (NAME, 0, 100, 90, 0, None)]
    publisher.apply([(0, shard_of(1).change)], catching_up=False)
    publisher.tick(CLUSTER)
    answers, packed = [publisher.details("g")], []
    details = publisher._parts.last.details if publisher._parts.last is not None else None
    assert details is not None
    sentences = details.sentences(["g"])
    for _ in range(2):
        assert sentences == details.sentences(["g"]) == details.sentences(["stranger", "g"])[1:] != [None]
        publisher.finish_tick()
        answers.append(publisher.details("g"))
        packed.append(publisher._parts.last)
    assert answers[0] is not None
    assert answers[0].partition_findings != ()
    assert answers[1:] == [answers[0]] * 2
    assert packed[0] is not None
    assert packed[0] is packed[1]
    assert isinstance(packed[0].details.evaluation, PackedEvaluation)


def test_commits_are_counted_over_the_life_of_the_process(ends: Ends, status: ServiceStatus) -> None:
    """Commits count from the end of the catch-up on, also over a state that is read again, but not for a dead group."""
    assert ends.rows
    # The times of the records are those of 1970.
    publisher, shard = Publisher(dead_grace=1e10), shard_of(1)
    publisher.apply([(0, shard.change)], catching_up=True)
    assert counted(publisher, status) == {"g": 0}
    publisher.apply(
        [(0, shard.read([(commit_key("g", "t", 0), commit_value(n, 2)) for n in (2, 3)]))], catching_up=False
    )
    assert counted(publisher, status) == {"g": 2}
    publisher.start_over()
    again = ShardReader()
    again.read([(commit_key("g", "t", 0), commit_value(n, 2)) for n in (1, 2, 3)])
    publisher.apply([(0, again.change)], catching_up=True)
    publisher.apply([(0, again.read([(commit_key("g", "t", 0), commit_value(4, 3))]))], catching_up=False)
    assert counted(publisher, status) == {"g": 3}
    publisher.apply([(0, again.read([(commit_key("g", "t", 0), None)], time=4))], catching_up=False)
    assert counted(publisher, status) == {"g": None}


def counted(publisher: Publisher, status: ServiceStatus) -> dict[str, int | None]:
    """Run a tick and return the commits of each group."""
    assert tick(publisher, status) is not None
    groups = current(publisher).snapshot.groups
    return dict(zip(groups["group"].to_pylist(), groups["commits"].to_pylist(), strict=True))


def test_a_cleared_publisher_has_no_snapshot(ends: Ends, status: ServiceStatus, tmp_path: Path) -> None:  # noqa: ARG001 - replaces the request
    """`clear` withdraws snapshot and details, as after a gap in the records; no verdicts are stored after it."""
    publisher = Publisher(parts=TickParts(evaluator=VerdictEvaluator(store=VerdictStore(tmp_path))))
    publisher.apply([(0, shard_of(4).change)], catching_up=False)
    tick(publisher, status)
    publisher.clear()
    assert (publisher.current(), publisher.details("g")) == (None, None)
    publisher.save_verdicts()
    assert VerdictStore(tmp_path).read() is None, "the next process does not continue from it"
