"""The state of all groups at one time."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue import groups, partitions, verdicts
from exporters.wording import FINE


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all groups. `taken_at` (Unix seconds) is when the end offsets had been read.

    `targets`, `dead_groups`, `folded_groups`, `owners`, `maintenance`, `not_alerted` and `summary` are
    filled by `exporters.selection`, for /metrics.
    """

    taken_at: float
    partitions: pa.Table
    groups: pa.Table
    unknown_lags: pa.Table
    transitions: pa.Table = dataclasses.field(default_factory=groups.TRANSITIONS.empty_table)
    topics: pa.Table = dataclasses.field(default_factory=partitions.TOPICS.empty_table)
    verdict_groups: pa.Table = dataclasses.field(default_factory=verdicts.VERDICT_GROUPS.empty_table)
    targets: pa.Table = dataclasses.field(default_factory=groups.TARGETS.empty_table)
    dead_groups: pa.Table = dataclasses.field(default_factory=groups.DEAD_GROUPS.empty_table)
    folded_groups: pa.Table = dataclasses.field(default_factory=groups.FOLDED_GROUPS.empty_table)
    owners: pa.Table = dataclasses.field(default_factory=groups.OWNERS.empty_table)
    maintenance: pa.Table = dataclasses.field(default_factory=groups.MAINTENANCE.empty_table)
    not_alerted: pa.Table = dataclasses.field(default_factory=groups.NOT_ALERTED.empty_table)
    log_ends: pa.Table = dataclasses.field(default_factory=partitions.LOG_ENDS.empty_table)
    summary: pa.Table = dataclasses.field(default_factory=verdicts.SUMMARY.empty_table)
    common_causes: pa.Table = dataclasses.field(default_factory=verdicts.COMMON_CAUSES.empty_table)
    covered_groups: pa.Table = dataclasses.field(default_factory=verdicts.COVERED_GROUPS.empty_table)
    findings: pa.Table = dataclasses.field(default_factory=verdicts.FINDINGS.empty_table)
    compatibility: pa.Table = dataclasses.field(default_factory=partitions.COMPATIBILITY.empty_table)
    # Returns the sentence of the verdict of each of these groups.
    sentences: Callable[[Sequence[str]], Sequence[str | None]] = lambda groups: [None] * len(groups)
    # Tables for the metrics of other exporters (`exporters.compatibility`).
    derived: Mapping[str, pa.Table] = dataclasses.field(default_factory=dict)

    def with_sentences(self, groups: pa.Table) -> pa.Table:
        """Return rows of GROUPS with their sentences, which are made only when they are read."""
        column, severity = groups.column("sentence").combine_chunks(), groups.column("severity").cast(pa.string())
        missing = pc.and_(pc.is_null(column), pc.not_equal(severity, FINE).fill_null(False)).combine_chunks()
        texts = pa.array(self.sentences(groups.column("group").filter(missing).to_pylist()), pa.string())
        at = groups.column_names.index("sentence")
        return groups.set_column(at, groups.schema.field(at), pc.replace_with_mask(column, missing, texts))

    @property
    def fine_verdicts(self) -> tuple[str, ...]:
        """The verdicts of severity `fine`; empty before the first evaluation."""
        verdicts = self.verdict_groups
        fine = pc.equal(verdicts.column("severity").cast(pa.string()), FINE)
        return tuple(verdicts.column("verdict").filter(fine).to_pylist())
