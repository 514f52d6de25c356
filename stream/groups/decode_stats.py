"""What was read and what could not be: counts that travel with a batch from the tasks to the driver."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any, Final

SAMPLES: Final = 3
"""Malformed records kept per reason and batch, for a person to look at."""
SAMPLE_BYTES: Final = 256


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeFault:
    """A kind of decode error: what the metrics count by. None means not known (no key, no value)."""

    record_type: int | None
    version: int | None
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class FaultSample:
    """One malformed record, cut to `SAMPLE_BYTES` per side, hexadecimal."""

    fault: DecodeFault
    field: str
    offsets_partition: int
    position: int
    key: str | None
    value: str | None


@dataclasses.dataclass(slots=True)
class DecodeStats:
    """Records by type (None: no type to read) and malformed ones by fault, with a few samples."""

    records: Counter[int | None] = dataclasses.field(default_factory=Counter)
    faults: Counter[DecodeFault] = dataclasses.field(default_factory=Counter)
    samples: list[FaultSample] = dataclasses.field(default_factory=list)

    def fault(self, sample: FaultSample) -> None:
        """Count a malformed record; keep it while there are few of its kind."""
        self.faults[sample.fault] += 1
        if self.faults[sample.fault] <= SAMPLES:
            self.samples.append(sample)

    def add(self, other: DecodeStats) -> None:
        """Take the counts of another in; of its samples the newest ones push out the oldest."""
        self.records.update(other.records)
        self.faults.update(other.faults)
        for sample in other.samples:
            alike = [kept for kept in self.samples if kept.fault == sample.fault]
            if len(alike) >= SAMPLES:
                self.samples.remove(alike[0])
            self.samples.append(sample)

    def __bool__(self) -> bool:
        return bool(self.records or self.faults)

    def to_json(self) -> str:
        """Write the tally for the way from a task to the driver."""
        return json.dumps(
            {
                "records": list(self.records.items()),
                "faults": [[*dataclasses.astuple(fault), count] for fault, count in self.faults.items()],
                "samples": [dataclasses.asdict(sample) for sample in self.samples],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> DecodeStats:
        """Read what `to_json` wrote."""
        read: dict[str, Any] = json.loads(text)
        return cls(
            Counter(dict(map(tuple, read["records"]))),
            Counter({DecodeFault(*fault): count for *fault, count in read["faults"]}),
            [FaultSample(**{**sample, "fault": DecodeFault(**sample["fault"])}) for sample in read["samples"]],
        )


def hexadecimal(raw: bytes | None) -> str | None:
    """Give the first bytes as a person can copy them."""
    return None if raw is None else raw[:SAMPLE_BYTES].hex()
