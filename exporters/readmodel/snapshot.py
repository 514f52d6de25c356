"""The state of all groups at one time."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel.tables import (
    COMMON_CAUSES,
    COMPATIBILITY,
    COVERED_GROUPS,
    DEAD_GROUPS,
    FINDINGS,
    FOLDED_GROUPS,
    LOG_ENDS,
    MAINTENANCE,
    OWNERS,
    SUMMARY,
    TARGETS,
    TOPICS,
    TRANSITIONS,
    UNPAGED,
    VERDICT_GROUPS,
)
from exporters.wording import FINE


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all groups. `taken_at` (Unix seconds) is when the end offsets had been read.

    `targets`, `dead_groups`, `folded_groups`, `owners`, `maintenance`, `unpaged` and `summary` are
    filled by `exporters.selection`, for /metrics.
    """

    taken_at: float
    partitions: pa.Table
    groups: pa.Table
    unknown_lags: pa.Table
    transitions: pa.Table = dataclasses.field(default_factory=TRANSITIONS.empty_table)
    topics: pa.Table = dataclasses.field(default_factory=TOPICS.empty_table)
    verdict_groups: pa.Table = dataclasses.field(default_factory=VERDICT_GROUPS.empty_table)
    targets: pa.Table = dataclasses.field(default_factory=TARGETS.empty_table)
    dead_groups: pa.Table = dataclasses.field(default_factory=DEAD_GROUPS.empty_table)
    folded_groups: pa.Table = dataclasses.field(default_factory=FOLDED_GROUPS.empty_table)
    owners: pa.Table = dataclasses.field(default_factory=OWNERS.empty_table)
    maintenance: pa.Table = dataclasses.field(default_factory=MAINTENANCE.empty_table)
    unpaged: pa.Table = dataclasses.field(default_factory=UNPAGED.empty_table)
    log_ends: pa.Table = dataclasses.field(default_factory=LOG_ENDS.empty_table)
    summary: pa.Table = dataclasses.field(default_factory=SUMMARY.empty_table)
    common_causes: pa.Table = dataclasses.field(default_factory=COMMON_CAUSES.empty_table)
    covered_groups: pa.Table = dataclasses.field(default_factory=COVERED_GROUPS.empty_table)
    findings: pa.Table = dataclasses.field(default_factory=FINDINGS.empty_table)
    compatibility: pa.Table = dataclasses.field(default_factory=COMPATIBILITY.empty_table)

    @property
    def fine_verdicts(self) -> tuple[str, ...]:
        """The verdicts of severity `fine`; empty before the first evaluation."""
        verdicts = self.verdict_groups
        fine = pc.equal(verdicts.column("severity").cast(pa.string()), FINE)
        return tuple(verdicts.column("verdict").filter(fine).to_pylist())
