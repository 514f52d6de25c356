"""The quarantine: a group that cannot be evaluated is shown as unknown, and all others are published."""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import httpx
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from exporters.http.api_endpoints import ServedData
from exporters.http.routes import build_app
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.groups.expiry import broker_rules
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import cause_of
from stream.groups.expiry.predict import predict
from stream.groups.membership import classic
from stream.groups.membership import unassigned as ownership
from stream.groups.membership.memberships import Memberships
from stream.health.evaluator import EvaluationResult
from stream.service.catch_up import CatchUpProgress
from stream.service.status import RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick import context as tick_context
from stream.tick import run_tick
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.context_poller import ContextPoller
from stream.tick.inputs import assignment, times
from stream.tick.publisher import Publisher
from stream.tick.quarantine import MAX_TRIALS, faulty_groups
from stream.tick.snapshot import groups as snapshot_groups
from stream.tick.terminations import Terminations
from tests.stream.groups import written
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

CLUSTER = cast("Cluster", object())
BAD = 666
"""The generation of the group that cannot be evaluated."""


class FixedPoller:
    """A poller with fixed answers."""

    def poll(self, *_: Any) -> tick_context.ClusterContext:
        """Return a context in which t has one partition and offsets are retained for a week."""
        return dataclasses.replace(
            UNKNOWN_CLUSTER, retention=OffsetsRetention(604_800_000, None, "broker"), partition_counts={"t": 1}
        )


class Monitor:
    """A publisher with groups a to e, of which c may be faulty; each has a member and a commit."""

    def __init__(self) -> None:
        self.status = ServiceStatus("1", 60)
        self.status.phase, self.status.cluster_id = RUNNING, "c"
        self.status.progress = CatchUpProgress({0: 80}, {0: 90})
        self.publisher = Publisher()
        poller = cast("ContextPoller", FixedPoller())
        self.ticker = Ticker(self.publisher, self.status, CLUSTER, poller, tick_interval=10, trigger_interval=1)
        self.shard = ShardReader()
        for group in "abcde":
            self.join(group, BAD if group == "c" else 1)
            self.commit(group, 4)

    def join(self, group: str, generation: int) -> None:
        wants, has = written.subscription("t"), written.assignment({"t": (0,)})
        _, value = written.classic(written.classic_member("m", wants=wants, has=has), generation=generation)
        self.read(group_key(group), value)

    def commit(self, group: str, offset: int) -> None:
        self.read(commit_key(group, "t", 0), commit_value(offset, int(time.time() * 1000)))

    def read(self, key: bytes, value: bytes | None) -> None:
        self.publisher.apply([(0, self.shard.read([(key, value)], time=int(time.time() * 1000)))], catching_up=False)

    def tick(self) -> dict[str, dict[str, Any]]:
        """Tick; return the groups that are shown."""
        assert self.ticker.tick(current=True) is not None
        published = self.publisher.current()
        assert published is not None
        return {row["group"]: row for row in published.snapshot.groups.drop_columns(["verdict_since"]).to_pylist()}

    def ask(self, path: str) -> httpx.Response:
        app = build_app(
            ServedData(
                self.publisher.current,
                self.status.monitor_status,
                details=self.publisher.details,
                on_failure=self.status.answer_failed,
            )
        )

        async def send() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lagwarden") as client:
                return await client.get(path)

        return asyncio.run(send())

    def errors(self) -> dict[str, int]:
        return {row["part"]: row["errors"] for row in self.status.monitor_status().internal_errors.to_pylist()}


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> Monitor:
    """Return a monitor of five groups, with a cluster that answers."""
    ends = ends_of([("t", 0, 10, 10, 0, None), (NAME, 0, 100, 90, 0, None)])
    monkeypatch.setattr(run_tick, "read_ends", lambda _cluster, _topics: ends)
    return Monitor()


def raising(function: Callable[..., Any], is_bad: Callable[..., bool]) -> Callable[..., Any]:

    def patched(*arguments: Any, **named: Any) -> Any:
        if is_bad(*arguments):
            raise ZeroDivisionError("a fault for the test")
        return function(*arguments, **named)

    return patched


def of_generation(group: Any, *_: Any) -> bool:
    return bool(group.generation == BAD)


def fail_for_c(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        snapshot_groups, "_group_fields", raising(snapshot_groups._group_fields, lambda name, *_: name == "c")
    )


PLACES: list[Any] = [
    pytest.param(classic, "membership", of_generation, id="membership"),
    pytest.param(broker_rules, "retention_start", of_generation, id="offset expiration"),
    pytest.param(ownership, "_unowned", of_generation, id="unassigned partitions"),
    pytest.param(assignment, "_subscribed_topics", of_generation, id="subscriptions of members"),
    pytest.param(assignment, "_group_assignment", of_generation, id="members"),
    pytest.param(snapshot_groups, "_group_fields", lambda name, *_: name == "c", id="row of the snapshot"),
]


@pytest.mark.parametrize(("owner", "name", "is_bad"), PLACES)
def test_a_group_that_cannot_be_evaluated_is_unknown_and_the_others_are_published(
    owner: Any, name: str, is_bad: Callable[..., bool], monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the evaluation fails, the other groups are right; the faulty group is logged, counted and explained."""
    monkeypatch.setattr(owner, name, raising(getattr(owner, name), is_bad))
    with structlog.testing.capture_logs() as lines:
        groups = monitor.tick()
    assert list(groups) == list("abcde")
    assert {group: row["lag_sum"] for group, row in groups.items()} == {"a": 6, "b": 6, "c": None, "d": 6, "e": 6}
    bad = groups["c"]
    assert (bad["verdict"], bad["severity"], bad["partitions_lag_unknown"]) == ("unknown", "unknown", 1)
    assert "internal error: ZeroDivisionError" in bad["sentence"]
    published = monitor.publisher.current()
    assert published is not None
    reasons = [row for row in published.snapshot.unknown_lags.to_pylist() if row["group"] == "c"]
    assert reasons == [{"group": "c", "reason": "internal_error", "partitions": 1}]
    assert [line["group"] for line in lines if "cannot be evaluated" in line["event"]] == ["c"]
    status = monitor.status.monitor_status()
    assert (status.tick.groups_not_evaluated, monitor.errors()["group"]) == (1, 1)
    text = monitor.ask("/metrics").text
    assert "lagwarden_groups_not_evaluated 1.0\n" in text or "lagwarden_groups_not_evaluated 1\n" in text
    assert 'lagwarden_group_partitions_lag_unknown{group="c",reason="internal_error"} 1\n' in text
    assert 'lagwarden_group_lag{group="e"} 6\n' in text


def test_api_and_page_explain_the_error(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """API and page of the group show the error; unknown fields are null, and lists contain the group."""
    monkeypatch.setattr(classic, "membership", raising(classic.membership, of_generation))
    monitor.tick()
    answer = monitor.ask("/api/v1/group?name=c")
    assert answer.status_code == 200
    answer_of_c = answer.json()
    assert (answer_of_c["verdict"], answer_of_c["by_member"], answer_of_c["unknown_lags"]) == (
        "unknown",
        None,
        {"internal_error": 1},
    )
    page = monitor.ask("/group?name=c")
    assert page.status_code == 200
    assert "internal error: ZeroDivisionError" in page.text
    assert [row["group"] for row in monitor.ask("/api/v1/groups").json()["groups"]] == list("abcde")
    assert monitor.ask("/").status_code == 200
    assert monitor.ask("/api/v1/group?name=a").json()["by_member"] is not None


def test_a_sentence_that_fails_says_so_and_hides_no_other(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are made when they are read, and there a fault is one group's; that group keeps its numbers."""
    failing = raising(EvaluationResult.group_sentence, lambda found, at: found.window.inputs.groups.names[at] == "c")
    monkeypatch.setattr(EvaluationResult, "group_sentence", failing)
    assert {row["sentence"] for row in monitor.tick().values()} == {None}
    rows = {row["group"]: row for row in monitor.ask("/api/v1/groups").json()["groups"]}
    assert {name: row["lag_sum"] for name, row in rows.items()} == dict.fromkeys("abcde", 6)
    assert [name for name, row in rows.items() if "internal error: ZeroDivisionError" in row["sentence"]] == ["c"]
    assert "Not observed for long enough" in monitor.ask("/api/v1/group?name=a").json()["sentence"]


def test_a_group_is_tried_again_when_its_state_changes(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no trial without a change; after a new commit and a successful trial, the group has its numbers."""
    with monkeypatch.context() as patch:
        fail_for_c(patch)
        monitor.tick()
    assert monitor.tick()["c"]["verdict"] == "unknown", "no trial without a change"
    monitor.commit("c", 7)
    groups = monitor.tick()
    assert (groups["c"]["lag_sum"], groups["c"]["state"], groups["a"]["lag_sum"]) == (3, "Stable", 6)
    assert monitor.status.monitor_status().tick.groups_not_evaluated == 0


def test_a_group_whose_trial_failed_is_not_tried_at_every_tick(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that commits every ten seconds is tried at once; then the wait doubles, up to ten minutes."""
    start, second, trials = float(int(time.time())), 0, []
    failing = raising(snapshot_groups._group_fields, lambda name, *_: name == "c" and not trials.append(second))
    monkeypatch.setattr(snapshot_groups, "_group_fields", failing)
    monkeypatch.setattr("stream.tick.run_tick.time.time", lambda: start + second)
    monitor.tick()
    trials.clear()
    for second in (*range(10, 320, 10), 629, 630, 1229, 1230):
        monitor.commit("c", second)
        assert monitor.tick()["a"]["lag_sum"] == 6
    assert trials == [10, 30, 70, 150, 310, 630, 1230]


@pytest.mark.parametrize(("owner", "name", "_is_bad"), PLACES[1:5])
def test_an_error_of_all_groups_fails_the_tick(
    owner: Any, name: str, _is_bad: object, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tick raises the error, because no single group is the cause."""
    monkeypatch.setattr(owner, name, raising(getattr(owner, name), lambda *_: True))
    with pytest.raises(ZeroDivisionError):
        monitor.tick()


def test_an_error_without_any_group_fails_the_tick(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no search if evaluating no groups fails as well."""
    monkeypatch.setattr(times.CommitTimes, "plausible", raising(lambda: None, lambda *_: True))
    with pytest.raises(ZeroDivisionError):
        monitor.tick()


def test_a_removal_that_cannot_be_evaluated_is_counted(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both removed groups are shown as dead, one of them with an unknown cause; the internal error is counted."""
    monitor.tick()
    for group in "bc":
        monitor.read(group_key(group), group_value(2, [], time=int(time.time() * 1000)))
        monitor.read(commit_key(group, "t", 0), None)
        monitor.read(group_key(group), None)
    calls = []
    failing = raising(cause_of, lambda removal, *_: not removal.offsets and not calls and not calls.append(1))
    monkeypatch.setattr(tick_context, "cause_of", failing)
    groups = monitor.tick()
    assert {groups[name]["state"] for name in "bc"} == {"Dead"}
    status = monitor.status.monitor_status()
    deaths = {row["cause"]: row["groups"] for row in status.tick.terminations.deaths.to_pylist()}
    assert deaths == {"deleted": 1, "expired": 0, "topic deleted": 0, "unknown": 1}
    assert monitor.errors()["ending"] == 1


def test_predictions_are_checked_group_by_group_if_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tombstones of the other groups are still checked."""
    shard, terminations = ShardReader(), Terminations()
    shard.read([(commit_key(group, "t", 0), commit_value(1, 1000)) for group in "abc"], time=1000)
    before = shard.driver_state.columns()
    shard.read([(commit_key(group, "t", 0), None) for group in "abc"], time=2000)
    terminations.record(shard.events, catching_up=False)
    context = FixedPoller().poll()
    expiry_times = predict(before, context.retention)
    failing = raising(real_prediction(), lambda forgotten, *_: any(each.group == "b" for each in forgotten))
    monkeypatch.setattr("stream.tick.terminations.predict_removed", failing)
    terminations.check_predictions(shard.driver_state.columns(), expiry_times, context.retention, 3.0, current=True)
    counted = {row["outcome"]: row["offsets"] for row in terminations.counts().checks.to_pylist()}
    assert (counted["deleted"], terminations.faults) == (2, 1)


def real_prediction() -> Callable[..., Any]:
    from stream.groups.expiry.predict import predict_removed

    return predict_removed


def test_a_detail_that_fails_is_answered_with_500(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only API and pages of the group answer 500; the error is shown, counted for each answer, and logged once."""
    monitor.tick()
    monkeypatch.setattr(Memberships, "members", raising(Memberships.members, lambda _, group, *__: group == "c"))
    with structlog.testing.capture_logs() as lines:
        api, page = monitor.ask("/api/v1/group?name=c"), monitor.ask("/group?name=c")
        view = monitor.ask("/groups/c")
    assert (api.status_code, page.status_code, view.status_code) == (500, 500, 500)
    assert api.json()["group"] == "c"
    assert "internal error" in api.json()["error"]
    assert "This page could not be created" in page.text
    assert monitor.ask("/api/v1/group?name=a").status_code == 200
    assert monitor.ask("/api/v1/groups").status_code == 200
    assert monitor.errors()["answer"] == 3
    assert len([line for line in lines if "answer" in line["event"]]) == 1


class Trials:
    """Evaluates groups, some of which fail, and counts the calls."""

    def __init__(self, bad: set[str]) -> None:
        self.count = 0
        self._bad = bad

    def __call__(self, groups: Sequence[str]) -> Exception | None:
        """Return an error that names the first group that fails."""
        self.count += 1
        first = next((name for name in groups if name in self._bad), None)
        return None if first is None else ValueError(first)


@given(st.integers(0, 300), st.sets(st.integers(0, 299), max_size=5))
def test_exactly_the_faulty_groups_are_found(total: int, bad: set[int]) -> None:
    """Each group that fails by itself is found with its own error, and no other group."""
    groups = [f"g{at}" for at in range(total)]
    faulty = {f"g{at}" for at in bad if at < total}
    found = faulty_groups(groups, Trials(faulty))
    assert {name: str(error) for name, error in found.items()} == {name: name for name in faulty}


def test_the_trials_are_bounded() -> None:
    """If very many groups fail, the search returns the remaining blocks, which contain every faulty group."""
    bad = {f"g{at}" for at in range(0, 4096, 3)}
    trials = Trials(bad)
    found = faulty_groups([f"g{at}" for at in range(4096)], trials)
    assert bad <= found.keys()
    assert trials.count <= 2 * MAX_TRIALS + 1
