"""Ticks that publish, without Spark: the log is read to its last stable offsets, as by the job."""

from typing import Any, Final

from exporters.readmodel import GroupDetail
from stream.cluster.transport.client import Cluster
from stream.groups.expiry.predict import OffsetsRetention
from stream.service.catch_up import CatchUpProgress
from stream.service.status import RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick.context_poller import ContextPoller
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.publisher import Publisher
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.integration.folded_log import FoldedLog

PARTITIONS: Final = 4
"""Partitions of the offsets topic."""
TICK_SECONDS: Final = 0.01
"""The tick interval by which groups are described again: the ticks of a test follow each other at once."""


class Ticks:
    """Reads the offsets topic and publishes, once per call of `tick`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.status = ServiceStatus("1", 60)
        self.status.phase = RUNNING
        self.status.progress = CatchUpProgress({}, {})
        # No grace period, because the transactions here stay open.
        lookups = LookupScheduler(cluster, LookupLimits(blocked_grace=0.0))
        self.publisher = Publisher(evaluator=VerdictEvaluator(), lookups=lookups)
        poller = ContextPoller(cluster, OffsetsRetention(None, None, "unknown"), 50, TICK_SECONDS)
        self._ticker = Ticker(self.publisher, self.status, cluster, poller, tick_interval=10, trigger_interval=1)
        self._log = FoldedLog(cluster)

    def tick(self) -> None:
        """Read up to the last stable offsets, and publish a snapshot."""
        for partition, change in self._log.read():
            self.publisher.apply([(partition, change)], catching_up=False)
        self.status.progress.finish(self._log.positions)
        assert self._ticker.tick(current=True) is not None

    def ticks(self, count: int = 3) -> None:
        """Tick `count` times; three ticks read and show hidden states."""
        for _ in range(count):
            self.tick()

    def group(self, name: str) -> dict[str, Any] | None:
        """Return the row of a group; None without one."""
        published = self.publisher.current()
        return next((row for row in published.snapshot.groups.to_pylist() if row["group"] == name), None)

    def state(self, name: str) -> str | None:
        row = self.group(name)
        return None if row is None else row["state"]

    def lags(self, name: str) -> dict[tuple[str, int], int | None]:
        """Return the lags of a group by topic and partition."""
        published = self.publisher.current()
        rows = published.snapshot.partitions.to_pylist()
        return {(row["topic"], row["partition"]): row["lag"] for row in rows if row["group"] == name}

    def expiry(self, name: str) -> list[Any]:
        published = self.publisher.current()
        return [row["offset_expiry_time"] for row in published.snapshot.partitions.to_pylist() if row["group"] == name]

    def detail(self, name: str) -> GroupDetail:
        detail = self.publisher.details(name)
        assert detail is not None
        return detail

    def checks(self) -> dict[str, int]:
        """Return the number of offsets per outcome of a prediction, without zeros."""
        rows = self.status.tick.terminations.checks.to_pylist()
        return {row["outcome"]: row["offsets"] for row in rows if row["offsets"]}
