"""Batches behind a last stable offset, as a leader returns them."""

from collections.abc import Sequence

from decoders.log.fetched import FetchedBatches
from sandbox.kafka import log_writer
from stream.cluster.hidden_records import HiddenPart
from tests.support.driver_states import Raw

TRANSACTIONAL = 0x10


class HiddenWriter:
    """Writes batches of one partition from an offset on; `parts` returns those that were not returned before."""

    def __init__(self, position: int) -> None:
        self.position = self.read_to = position
        self._written: list[bytes] = []

    def write(self, *records: Raw, time: int | None = None, producer: int | None = None) -> None:
        """Write a batch per record, as coordinators do, with this timestamp (ms; default: its offset).

        With a `producer` it belongs to the producer's transaction.
        """
        for record in records:
            self.write_batch([record], time=time, producer=producer)

    def write_batch(self, records: Sequence[Raw], *, time: int | None = None, producer: int | None = None) -> None:
        rows = [log_writer.Rec(at, 0, key, value) for at, (key, value) in enumerate(records)]
        at = self.position if time is None else time
        of_transaction = {"attributes": TRANSACTIONAL, "producer_id": producer, "producer_epoch": 0}
        more = {} if producer is None else of_transaction
        self._add(log_writer.batch(self.position, rows, base_timestamp=at, **more), len(rows))

    def end(self, producer: int, *, committed: bool) -> None:
        self._add(log_writer.marker(self.position, producer, committed=committed), 1)

    def part(self, partition: int = 0, *, unread: int = 0) -> HiddenPart:
        """Return what was written since the last call as one response."""
        raw, self._written = b"".join(self._written), []
        start, self.read_to = self.read_to, self.position
        batches = FetchedBatches.read(raw, last_stable_offset=0)
        return HiddenPart(partition, start, self.position, batches, unread)

    def _add(self, batch: bytes, records: int) -> None:
        self._written.append(batch)
        self.position += records
