"""Counts of decoded, malformed and skipped records, which travel with a batch from the tasks to the driver."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any, Final

SAMPLES: Final = 3
"""Malformed records kept as samples per fault and batch."""
SAMPLE_BYTES: Final = 256
"""Bytes kept of the key and of the value of a sample."""


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeFault:
    """A decode error as the metrics count it. None: not known (no key, no value)."""

    record_type: int | None
    version: int | None
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class FaultSample:
    """A malformed record: key and value in hexadecimal, each cut to `SAMPLE_BYTES`."""

    fault: DecodeFault
    field: str
    offsets_partition: int
    position: int
    key: str | None
    value: str | None


@dataclasses.dataclass(slots=True)
class DecodeStats:
    """Records by type (None: the key has no type), malformed records by fault with a few samples, and skipped offsets.

    `skipped` counts the offsets that were passed without being read, by reason (`stream.cluster.records.ranges`).
    """

    records: Counter[int | None] = dataclasses.field(default_factory=Counter)
    faults: Counter[DecodeFault] = dataclasses.field(default_factory=Counter)
    samples: list[FaultSample] = dataclasses.field(default_factory=list)
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)

    def count_fault(self, sample: FaultSample) -> None:
        """Count a malformed record; the first `SAMPLES` of each fault are kept."""
        self.faults[sample.fault] += 1
        if self.faults[sample.fault] <= SAMPLES:
            self.samples.append(sample)

    def add(self, other: DecodeStats) -> None:
        """Add the counts of `other`; its samples replace the oldest ones of the same fault."""
        self.records.update(other.records)
        self.faults.update(other.faults)
        self.skipped.update(other.skipped)
        for sample in other.samples:
            same_fault = [kept for kept in self.samples if kept.fault == sample.fault]
            if len(same_fault) >= SAMPLES:
                self.samples.remove(same_fault[0])
            self.samples.append(sample)

    def __bool__(self) -> bool:
        return bool(self.records or self.faults or self.skipped)

    def to_json(self) -> str:
        """Return the counts as JSON, for `from_json` on the driver."""
        return json.dumps(
            {
                "records": list(self.records.items()),
                "faults": [[*dataclasses.astuple(fault), count] for fault, count in self.faults.items()],
                "samples": [dataclasses.asdict(sample) for sample in self.samples],
                "skipped": self.skipped,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> DecodeStats:
        """Parse the JSON that `to_json` returned."""
        read: dict[str, Any] = json.loads(text)
        return cls(
            Counter(dict(map(tuple, read["records"]))),
            Counter({DecodeFault(*fault): count for *fault, count in read["faults"]}),
            [FaultSample(**{**sample, "fault": DecodeFault(**sample["fault"])}) for sample in read["samples"]],
            Counter(read["skipped"]),
        )
