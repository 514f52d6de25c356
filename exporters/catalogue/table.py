"""The type of a table of the read model: one declaration per column, from which everything else about it is read.

The Arrow schema, the metrics, the types of the API, the order in which the series budget leaves metrics out, and the
folding of groups with generated names all come from the declarations in the other modules of this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import pyarrow as pa

from exporters.catalogue.metric import CountedSince, Metric, MetricKind, Preset, Source, Stability, ValueConversion

NAME: Final = pa.dictionary(pa.int32(), pa.string())
TIMESTAMP: Final = pa.timestamp("ms")
ColumnType = Literal["name", "timestamp", "int32", "int64", "float", "bool", "text", "names", "nodes"]
_TYPES: Final[Mapping[ColumnType, pa.DataType]] = {
    "name": NAME, "timestamp": TIMESTAMP, "int32": pa.int32(), "int64": pa.int64(), "float": pa.float64(),
    "bool": pa.bool_(), "text": pa.string(), "names": pa.list_(pa.string()), "nodes": pa.list_(pa.int32()),
}  # fmt: skip
LEAN: Final = Preset.LEAN
STANDARD: Final = Preset.STANDARD
EXPERIMENTAL: Final = Stability.EXPERIMENTAL

_UNITS: Final = ("seconds", "ratio", "bytes")


@dataclasses.dataclass(frozen=True, slots=True)
class Exported:
    """The metric that has the values of a column. What is not stated follows from the column, its table and the name.

    `help` is by default the meaning of the column, `absent` when it is null. `also` are labels beside those of the
    table, `labels` all labels if that does not fit. By the suffix of the name it is a counter (`_total`), information
    (`_info`, by default with the column as label) or a gauge, and has its unit. The other fields are those of `Metric`.
    """

    name: str
    preset: Preset = Preset.FULL
    help: str = ""
    absent: str = ""
    also: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    conversion: ValueConversion | None = None
    omits_fine: bool = False
    is_usual: bool = True
    sums_over: str = ""
    counted_since: CountedSince = CountedSince.PROCESS_START


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type, what a value means, its metric, and when it is null.

    `null` is empty if that is not stated, and None if it never is.
    `fold` is how /metrics combines the values of groups with generated names, as Arrow names it; empty: it does not.
    Of two metrics of a table, the series budget first leaves out that of the lower `importance`. `stability` is that of
    the field of the API and of the metric.
    """

    name: str
    kind: ColumnType | pa.DataType
    meaning: str
    metric: Exported | None = None
    null: str | None = ""
    fold: str = ""
    importance: int = 0
    stability: Stability = Stability.STABLE

    @property
    def type(self) -> pa.DataType:
        """Its Arrow type."""
        return self.kind if isinstance(self.kind, pa.DataType) else _TYPES[self.kind]

    @property
    def description(self) -> str:
        """Its meaning, and when it is null if that is stated."""
        return f"{self.meaning} Null: {self.null}." if self.null else self.meaning

    def with_metric(self, metric: Exported, stability: Stability | None = None) -> Column:
        """Return the column as one of another table, with another metric."""
        return dataclasses.replace(self, metric=metric, stability=stability or self.stability)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table: the source of its metrics (None: it has none), its label columns, and all others.

    Label columns are never null. The series budget first leaves out the metrics of tables of low `importance`.
    """

    source: Source | None
    labels: tuple[Column, ...]
    values: tuple[Column, ...]
    importance: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns in their order."""
        return self.labels + self.values

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def empty_table(self) -> pa.Table:
        """Return a table without rows."""
        return self.schema.empty_table()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of all columns."""
        return self.metrics_of(self.columns)

    def metrics_of(self, columns: Iterable[Column]) -> tuple[Metric, ...]:
        """Return the metrics of some of its columns, in their order."""
        return tuple(self._metric(column, column.metric) for column in columns if column.metric is not None)

    def _metric(self, column: Column, exported: Exported) -> Metric:
        if self.source is None:
            raise ValueError(f"{exported.name}: its table is no source of metrics")
        kind = _kind(exported)
        keys = tuple(label.name for label in self.labels)
        labels = exported.labels or keys + exported.also
        unit = exported.name.removesuffix("_total").rpartition("_")[2]
        return Metric(
            exported.name,
            kind,
            exported.help or column.meaning,
            self.source,
            column.name,
            labels or ((column.name.rpartition(".")[2],) if kind is MetricKind.INFO else ()),
            unit=unit if unit in _UNITS else "",
            conversion=exported.conversion or _conversion(column.type, kind),
            absent=exported.absent or column.null or "never",
            omits_fine=exported.omits_fine,
            is_usual=exported.is_usual,
            preset=exported.preset,
            sums_over=exported.sums_over,
            stability=column.stability,
            counted_since=exported.counted_since,
            importance=(self.importance, column.importance),
            keys=keys,
        )


def _kind(exported: Exported) -> MetricKind:
    if exported.conversion is ValueConversion.BUCKETS:
        return MetricKind.HISTOGRAM
    if exported.name.endswith("_total"):
        return MetricKind.COUNTER
    return MetricKind.INFO if exported.name.endswith("_info") else MetricKind.GAUGE


def _conversion(kind_of_value: pa.DataType, kind: MetricKind) -> ValueConversion:
    if kind is MetricKind.INFO or kind_of_value == NAME:
        return ValueConversion.ONE
    return ValueConversion.TIMESTAMP if kind_of_value == TIMESTAMP else ValueConversion.NUMBER


GROUP: Final = Column("group", "name", "The name of the group.")
TOPIC: Final = Column("topic", "name", "The name of the topic.")
PARTITION: Final = Column("partition", "int32", "The number of the partition.")
BROKER: Final = Column("broker", "int32", "The id of the broker.")
REASON: Final = Column("reason", "name", "The reason.")
