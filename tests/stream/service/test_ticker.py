"""The tick thread: what it polls before the catch-up is complete, and what it records in the status."""

import dataclasses
import threading
import types
import weakref
from collections.abc import Mapping
from typing import Any, cast

from exporters.readmodel import TickStatus
from sandbox.waiting import LIMIT
from stream.cluster.transport.errors import Unreachable
from stream.service.catch_up import CatchUpProgress
from stream.service.status import RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick.ends_index import NO_ENDS
from stream.tick.offsets_topic_lag import UnansweredPartition

UNANSWERED = (UnansweredPartition(1, "no_leader", 0.0),)


class Result:
    """The fields of a tick result that the ticker reads."""

    unanswered = UNANSWERED
    status = TickStatus(taken_at=5.0, series=7)
    published = types.SimpleNamespace(snapshot=object())
    facts = types.SimpleNamespace(ends=NO_ENDS, positions={})
    details = types.SimpleNamespace(finding=object())
    evaluated = types.SimpleNamespace(derived=types.SimpleNamespace(facts=facts), details=details)


class FakePublisher:
    """Records the calls of the ticker; raises while `unreachable` is set."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.positions: Mapping[int, int] = {}
        self.unreachable = False
        self.ticked = threading.Event()
        self.polled = threading.Event()

    def tick(self, _cluster: object, _poller: object, positions: Mapping[int, int], *, current: bool) -> Any:
        self.calls.append(f"tick current={current}")
        self.positions = positions
        self.ticked.set()
        return self._answer(Result)

    def poll_offsets_topic(self, _cluster: object) -> Any:
        """Return the partitions without end offsets."""
        self.calls.append("poll")
        self.polled.set()
        return self._answer(UNANSWERED)

    def finish_tick(self) -> None:
        self.calls.append("finish")

    def save_verdicts(self) -> None:
        self.calls.append("save")

    def _answer(self, answer: Any) -> Any:
        if self.unreachable:
            raise Unreachable("broker-1:9092 does not answer", "is it up?")
        return answer


class FakeWatch:
    """A topic that stays as it is."""

    current = True

    def __init__(self) -> None:
        self.looks = 0

    def update(self, *_: object) -> None:
        self.looks += 1


def made(publisher: FakePublisher, tick_interval: float = 0.01) -> tuple[Ticker, ServiceStatus]:
    status = ServiceStatus("1", 60)
    status.phase, status.progress = RUNNING, CatchUpProgress({0: 3}, {0: 9})
    nothing: Any = None
    ticker = Ticker(
        cast("Any", publisher), status, nothing, nothing, tick_interval=tick_interval, trigger_interval=0.01
    )
    return ticker, status


def test_a_tick_is_recorded_in_the_status_before_it_is_finished() -> None:
    """The status has the result of the tick, which started from the positions of the reader."""
    publisher = FakePublisher()
    ticker, status = made(publisher)
    assert ticker.tick(current=True) is not None
    assert (status.tick, status.unanswered) == (Result.status, UNANSWERED)
    assert (publisher.calls, publisher.positions) == (["tick current=True", "finish"], {0: 3})


def test_an_unreachable_cluster_keeps_the_status_of_the_last_tick() -> None:
    """The cause is in the status until the cluster answers again."""
    publisher = FakePublisher()
    ticker, status = made(publisher)
    ticker.tick(current=True)
    publisher.unreachable = True
    assert ticker.tick(current=True) is None
    assert (status.trouble, status.tick) == ("broker-1:9092 does not answer: is it up?", Result.status)
    ticker.poll_offsets_topic()
    assert status.trouble is not None
    publisher.unreachable = False
    ticker.poll_offsets_topic()
    assert status.trouble is None


def test_the_thread_polls_then_ticks_then_saves() -> None:
    """The thread only polls the offsets topic until the catch-up is complete, and saves the verdicts at the end."""
    publisher, watch = FakePublisher(), FakeWatch()
    ticker, _ = made(publisher)
    caught_up, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=ticker.run, args=(watch, caught_up, ended))
    thread.start()
    assert publisher.polled.wait(LIMIT)
    assert not publisher.ticked.is_set()
    caught_up.set()
    assert publisher.ticked.wait(LIMIT)
    ticker.record_batch()
    ended.set()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert publisher.calls[-1] == "save"
    assert watch.looks == publisher.calls.count("finish") > 0


def test_the_first_batch_is_shown_at_once() -> None:
    """It follows a snapshot of what was read before the JVM started; later batches wait for the next tick."""
    publisher = FakePublisher()
    ticker, _ = made(publisher, tick_interval=LIMIT)
    caught_up, ended = threading.Event(), threading.Event()
    caught_up.set()
    thread = threading.Thread(target=ticker.run, args=(FakeWatch(), caught_up, ended))
    thread.start()
    for _ in range(2):
        assert publisher.ticked.wait(LIMIT / 2)
        publisher.ticked.clear()
        ticker.record_batch()
    ended.set()
    thread.join(LIMIT)
    assert publisher.calls.count("finish") == 2


def test_the_last_result_is_dropped_before_the_memory_of_a_tick_is_released() -> None:
    """No result is kept when a tick is finished.

    With many groups, the columns of a kept result and of the next tick would be half of the memory of the driver.
    """
    alive: list[int] = []
    ended, caught_up = threading.Event(), threading.Event()
    caught_up.set()

    class FreshResult(Result):
        pass

    class CountingPublisher(FakePublisher):
        """Keeps no result when a tick is finished, as the publisher does, and counts those that are alive."""

        def tick(self, *args: Any, **named: Any) -> Any:
            super().tick(*args, **named)
            result = FreshResult()
            results.add(result)
            return result

        def finish_tick(self) -> None:
            super().finish_tick()
            alive.append(len(results))
            if len(alive) == 3:
                ended.set()

    results: weakref.WeakSet[FreshResult] = weakref.WeakSet()
    ticker, _ = made(CountingPublisher())
    ticker.run(cast("Any", FakeWatch()), caught_up, ended)
    assert alive == [0, 0, 0]


def test_verdict_changes_are_announced_after_a_tick_and_never_without_one() -> None:
    """The announcer gets the published snapshot and the findings of the tick before memory is released."""
    publisher = FakePublisher()
    ticker, _ = made(publisher)

    class Announcer:
        def announce(self, *snapshot_and_finding: object) -> None:
            assert snapshot_and_finding == (Result.published.snapshot, Result.details.finding)
            publisher.calls.append("announce")

    ticker = dataclasses.replace(ticker, announcer=cast("Any", Announcer()))
    ticker.tick(current=True)
    assert publisher.calls == ["tick current=True", "announce", "finish"]
    publisher.unreachable = True
    ticker.tick(current=True)
    assert publisher.calls.count("announce") == 1
