"""The types of the catalogue: one metric, its kind, source, conversion, preset and stability.

No metric is defined and nothing is rendered here.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa


class MetricKind(enum.Enum):
    """The type of a metric, as OpenMetrics names it. The text format has no `info` type and uses `gauge`."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Stability(enum.StrEnum):
    """What may change about a metric in a release; `docs/metrics.md` has the rule."""

    STABLE = "stable"
    EXPERIMENTAL = "experimental"


class Preset(enum.StrEnum):
    """The sets of series that `metrics.preset` selects; each has all series of those before it."""

    LEAN = "lean"
    STANDARD = "standard"
    FULL = "full"

    def includes(self, other: Preset) -> bool:
        """Return whether this preset has all series of the other."""
        order = list(Preset)
        return order.index(self) >= order.index(other)


class CountedSince(enum.Enum):
    """When a counter or histogram was 0: the start time of its series in OTLP."""

    PROCESS_START = "the start of the process, or later"
    GROUP_CREATED = "the first record of the group in the log"


class Rendered(enum.Enum):
    """When the rows of a table are rendered."""

    SNAPSHOT = "once per snapshot"
    POLL = "once per poll of the cluster"
    SCRAPE = "at each scrape, also before the first snapshot"


SNAPSHOT: Final = Rendered.SNAPSHOT
POLL: Final = Rendered.POLL
SCRAPE: Final = Rendered.SCRAPE


def field_at(model: Any, path: str) -> Any:
    """Return the field at a path, as `webhook.sent`; None if a part on the way is None."""
    return functools.reduce(lambda part, name: None if part is None else getattr(part, name), path.split("."), model)


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """The table that has a metric's rows, and when these are rendered.

    `table` is a field of `Snapshot`, `ClusterFacts` or `MonitorStatus`, or the name of one of the tables that are
    derived for the metrics of other exporters (`exporters.compatibility`). A field of a part is a path, as
    `webhook.failures`. The table `status` is the status itself: one row whose columns are its fields.
    """

    table: str
    rendered: Rendered
    is_derived: bool = False

    @property
    def in_snapshot(self) -> bool:
        """True if the rows are part of a snapshot."""
        return self.rendered is SNAPSHOT

    @property
    def in_cluster(self) -> bool:
        """True if the rows are part of a poll of the cluster."""
        return self.rendered is POLL

    def rows(self, model: Any) -> pa.Table:
        """Return the table of a snapshot, of the facts of a poll, or of a status; None if it has no such part."""
        return model.derived[self.table] if self.is_derived else field_at(model, self.table)


class ValueConversion(enum.Enum):
    """How the value of a sample is computed from its column. A null in the column always means no sample."""

    NUMBER = "the number itself; true is 1 and false is 0"
    TIMESTAMP = "the time in Unix seconds"
    AGE = "the seconds from the time to now, at least 0"
    ONE = "always 1; the labels have the information"
    RANK = "the index of the severity, from 0 for fine to 4 for critical"
    BUCKETS = "a histogram: a cumulative count per bound, the count and the sum"


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One family of samples: its name, its meaning, and the source of each sample.

    `name` is the name of the samples, with `_total` and `_info`. A label has the name of the column that it is read
    from. `unit` is the last word of the name (before `_total`), or empty for counts and offsets.
    """

    name: str
    kind: MetricKind
    help: str
    source: Source
    column: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    conversion: ValueConversion = ValueConversion.NUMBER
    # When there is no sample. All samples of a group are also removed with the group.
    absent: str = "never"
    # True if rows whose verdict is of severity fine have no sample either.
    omits_fine: bool = False
    # False if there is usually no sample: none of a classic group with members and no fault, or of an even partition.
    is_usual: bool = True
    # The smallest preset that has it; metrics about the monitor itself are in every preset.
    preset: Preset = Preset.FULL
    # The label that it sums over. In other presets than `full`, it replaces the series with that label.
    sums_over: str = ""
    stability: Stability = Stability.STABLE
    # Only of counters and histograms.
    counted_since: CountedSince = CountedSince.PROCESS_START
    # Of its table, and of its column in the table: the series budget leaves out the lowest first.
    importance: tuple[int, int] = (0, 0)
    # The labels that tell its series apart, if not all do: the others follow from them.
    keys: tuple[str, ...] | None = None

    def is_among(self, names: Collection[str]) -> bool:
        """Return whether it is one of these names, of samples or of families. No names select all metrics."""
        return not names or self.name in names or self.family in names

    def is_in(self, preset: Preset, hidden_labels: Collection[str] = ()) -> bool:
        """Return whether a preset has it. Series with `hidden_labels` are not shown at all."""
        if not self.multiplying_labels.isdisjoint(hidden_labels):
            return False
        if self.sums_over and preset is not Preset.FULL and self.sums_over not in hidden_labels:
            return False
        return preset.includes(self.smallest_preset)

    @property
    def multiplying_labels(self) -> frozenset[str]:
        """The labels whose number of values is the number of series."""
        return frozenset(self.labels if self.keys is None else self.keys)

    @property
    def smallest_preset(self) -> Preset:
        """The smallest preset that has it."""
        return self.preset if self.source.in_snapshot or self.source.in_cluster else Preset.LEAN

    @property
    def family(self) -> str:
        """The name without the suffix that is part of the type in OpenMetrics."""
        return self.name.removesuffix({MetricKind.COUNTER: "_total", MetricKind.INFO: "_info"}.get(self.kind, ""))
