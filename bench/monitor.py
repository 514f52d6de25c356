"""A `lagwarden run` that a benchmark starts, feeds and stops; what it does is read from its own endpoints."""

import time
from collections.abc import Callable
from typing import Final

from sandbox.lagwarden import LagwardenProcess

TRIGGER_SECONDS: Final = 5.0
READY_LIMIT: Final = 900.0
_LIMIT: Final = 300.0
_BATCHES: Final = "lagwarden_batches_total"
_READ: Final = "lagwarden_records_read_total"
_SNAPSHOT: Final = "lagwarden_snapshot_timestamp_seconds"


class Monitor(LagwardenProcess):
    """A `lagwarden run` whose numbers are read from `/metrics`."""

    def metrics(self, query: str = "") -> str:
        """Return the text of `/metrics`."""
        return self.get(f"/metrics{query}")[1].decode()

    def number(self, metric: str) -> float:
        """Return the sum of the current samples of a metric; 0 if there is none."""
        return sum(self.samples(metric).values())

    def samples(self, metric: str) -> dict[str, float]:
        """Return the samples of a metric, by name with labels."""
        text = self.metrics(f"?name[]={metric}")
        lines = (line.rpartition(" ") for line in text.splitlines() if line.startswith(metric))
        return {name: float(value) for name, _, value in lines}

    def wait_for_ticks(self, count: int) -> None:
        """Wait until the snapshot has been replaced `count` times."""
        for _ in range(count):
            self._wait_for_snapshot_after(self.number(_SNAPSHOT))

    def _wait_for_snapshot_after(self, before: float) -> None:
        self.wait_until(lambda: self.number(_SNAPSHOT) > before, "showing a new snapshot", _LIMIT)

    def write_batch(self, write: Callable[[], int]) -> None:
        """Write records for one trigger, and wait until they are read."""
        wanted = self.number(_READ)
        time.sleep(TRIGGER_SECONDS - time.time() % TRIGGER_SECONDS + 0.2)
        before = self.number(_BATCHES)
        wanted += write()
        self.wait_until(lambda: self.number(_READ) >= wanted, "done with a batch", _LIMIT)
        self.wait_until(lambda: self.number(_BATCHES) > before, "done with a batch", _LIMIT)
