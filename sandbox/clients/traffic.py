"""The traffic of a scenario as data: records per topic, and the way members process and commit."""

import dataclasses
from collections.abc import Mapping
from typing import Final

RATE: Final = 20.0
"""Records per second of the run and partition of an ordinary flow."""


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """Records that are written to each partition in pulses: `per_second` on average, a pulse every `every` seconds.

    Times are seconds of the run.
    """

    per_second: float = RATE
    every: float = 0.5
    start: float = 0.0
    until: float = 10_000.0
    partitions: tuple[int, ...] | None = None
    """None: all partitions."""

    def written(self, time: float) -> int:
        """Return the number of records that each partition has received by a time."""
        pulses = int(max(min(time, self.until) - self.start, 0.0) / self.every + 1e-9)
        return int(pulses * self.every * self.per_second + 1e-9)


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioTopic:
    """A topic of a group, and what is written to it."""

    partitions: int = 1
    flows: tuple[Flow, ...] = (Flow(),)
    backlog: int = 0
    """Records in each partition before the run begins."""
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Its settings. Those whose names end with `.ms` are milliseconds of the run."""
    transaction: float | None = None
    """Seconds of the run that each transaction lasts; None: records are written without transactions."""
    keys: int = 0
    """Number of different keys; 0: records have no key."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientBehaviour:
    """The way members of a group process and commit. They read for real; only the processing is simulated.

    Partitions are given by number, for every topic of the group.
    """

    every: float = 1.0
    """Seconds of the run between commits."""
    rate: float | None = None
    """Offsets that are processed per second of the run and partition; None: as fast as records arrive."""
    repeats: bool = True
    """Commits unchanged offsets again."""
    stuck: tuple[int, ...] = ()
    """Partitions whose processing has stopped."""
    behind: int = 0
    """Commits this many offsets less than the next one to read; 1: the offset of the last record."""
    skipped: tuple[int, ...] = ()
    """Partitions that are never committed."""
    silent: bool = False
    """Commits nothing."""
    abort_every: int = 0
    """Of a client that commits in transactions: every n-th one is aborted; 0: none, 1: all."""
    hung: tuple[str, ...] = ()
    """Members that do not poll; their heartbeats go on."""
