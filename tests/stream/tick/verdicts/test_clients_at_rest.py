"""Verdicts of the groups of recorded clients: those that repeat commits at rest, and those that are silent."""

import dataclasses
import functools

import pytest

from sandbox.recorded_clients.clients import CLIENTS
from sandbox.recorded_clients.observed import COMMIT, ClientCapture
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.tick.health_inputs import derived
from tests.stream.tick.timeline import LIMITS
from tests.support.driver_states import Raw, ShardReader, ends_of

REST, STEP = 300_000, 20_000
"""Milliseconds of a rest, and between two ticks."""
READ = 10
"""Records that partitions 0 and 1 have at rest; 2 and 3 are empty."""
FINE = {"caught_up", "ok"}
read = functools.cache(ClientCapture.read)


class Life:
    """A group as it was captured up to its rest. The last commits are repeated if the client does so at rest."""

    def __init__(self, name: str) -> None:
        self._name, self._now, self._shard = name, read(name).ended["at rest"], ShardReader()
        self._evaluator, self.is_silent = VerdictEvaluator(LIMITS), read(name).rest == "silent"
        self.last: dict[int, tuple[bytes | None, bytes, int]] = {}
        pairs = [*zip(read(name).rows, read(name).records, strict=True)]
        past = [(row, each) for row, each in pairs if (row.timestamp or 0) <= self._now]
        if past:
            self._shard.read([(row.key, row.value) for row, _ in past], self._now)
        for row, each in past:
            if each.type.number == COMMIT and each.value and each.key["topic"] == name:
                self.last[each.key["partition"]] = row.key, row.value or b"", each.value["commit_timestamp"]

    def rest(self, end: int, *, grows: bool = False) -> list[str]:
        """Return the verdicts of the ticks of a rest. `end` is that of partition 0, which may get records."""
        return [self._tick(end + (at // 1000 if grows else 0)) for at in range(0, REST, STEP)]

    def read_a_record(self) -> None:
        """Commit the next offset of partition 0, in the bytes of the client."""
        key, value, time = self.last[0]
        self.last[0] = key, value[:2] + (READ + 1).to_bytes(8) + value[10:], time
        self._shard.read([self._again(0)], self._now)

    def _again(self, partition: int) -> Raw:
        key, value, time = self.last[partition]
        return key, value.replace(time.to_bytes(8), self._now.to_bytes(8))

    def _tick(self, end: int) -> str:
        self._now += STEP
        if not self.is_silent:
            self._shard.read([self._again(partition) for partition in self.last], self._now)
        ends = ends_of([(self._name, at, size, size, 0, None) for at, size in enumerate((end, READ, 0, 0))])
        cluster = dataclasses.replace(UNKNOWN_CLUSTER, partition_counts={self._name: 4})
        found = derived(self._shard.driver_state.columns(), ends, self._now / 1000, cluster)
        finding = self._evaluator.evaluate(found).details.finding(self._name)
        assert finding
        return str(finding.verdict)


# Streams begins to commit when the captured rest is over.
@pytest.mark.parametrize("name", [client.name for client in CLIENTS if 0 in Life(client.name).last])
def test_a_client_that_rests_is_fine_and_one_that_stands_still_is_found(name: str) -> None:
    """A group that has read everything is fine for as long as it rests, and when it reads a record that comes then.

    One that stands still while records come is `stalled` if its client repeats its commits, `stopped` if it is silent.
    """
    life = Life(name)
    assert set(life.rest(READ)) <= FINE
    life.read_a_record()
    assert set(life.rest(READ + 1)) <= FINE
    found = life.rest(READ + 1, grows=True)
    assert (found[0] in FINE, found[-1]) == (True, "stopped" if life.is_silent else "stalled")
