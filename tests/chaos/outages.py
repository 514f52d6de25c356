"""Outages of a broker, and a recorder of critical verdicts during them."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.kafka.broker import Broker
    from tests.support.monitor import Monitor

_LOOK_SECONDS: Final = 0.3


@contextlib.contextmanager
def _running_again(broker: Broker, take_away: Callable[[], None], bring_back: Callable[[], object]) -> Any:
    take_away()
    try:
        yield broker
    finally:
        bring_back()


def stopped(broker: Broker) -> contextlib.AbstractContextManager[Broker]:
    """Stop the broker cleanly; start it again at the end."""
    return _running_again(broker, broker.stop, broker.start)


def killed(broker: Broker) -> contextlib.AbstractContextManager[Broker]:
    """Kill the broker; start it again at the end."""
    return _running_again(broker, broker.kill, broker.start)


def paused(broker: Broker) -> contextlib.AbstractContextManager[Broker]:
    """Pause the broker's process (SIGSTOP): connections stay open, and no request is answered."""
    return _running_again(broker, broker.pause, broker.resume)


Outage = tuple[str, "Callable[[Broker], contextlib.AbstractContextManager[Broker]]"]
OUTAGES: Final[tuple[Outage, ...]] = (("stopped", stopped), ("killed", killed), ("paused", paused))


class VerdictWatch:
    """Records every critical (group, verdict, sentence) of the API during a `with` block."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._verdicts: dict[str, str] = {}
        self.looks = 0
        self.critical: set[tuple[str, str, str]] = set()
        self.changes: list[str] = []
        """A line for each change of a group's verdict, the first verdict included, in order."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def assert_no_critical_verdict(self) -> None:
        """Fail with the changes of the verdicts if a group was critical, or if the API never answered."""
        assert self.looks > 0
        assert not self.critical, "\n".join([*map(str, sorted(self.critical)), "all changes:", *self.changes])

    def _watch(self) -> None:
        started = time.monotonic()
        while not self._over.wait(_LOOK_SECONDS):
            with contextlib.suppress(OSError):
                answer = self._monitor.get("/api/v1/groups")
                if answer.status == 200:
                    self.looks += 1
                    self._record(answer.json["groups"], time.monotonic() - started)

    def _record(self, rows: list[dict[str, Any]], seconds: float) -> None:
        for row in rows:
            group, verdict, sentence = row["group"], row["verdict"], row["sentence"]
            if row["severity"] == "critical":
                self.critical.add((group, verdict, sentence))
            if self._verdicts.get(group) != verdict:
                self._verdicts[group] = verdict
                self.changes.append(f"{seconds:6.1f} s: {group} is {verdict}: {sentence}")
