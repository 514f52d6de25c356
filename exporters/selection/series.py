"""Selects the series of a snapshot: granularity, groups, topics and budget; and adds the configured targets.

The selection applies to `/metrics` only; the API and the pages show everything. It never changes a value: the sum of a
group stays the sum over all of its partitions.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.readmodel import NAME, SERIES_DROPPED, TARGETS
from exporters.selection.budget import SeriesBudget
from exporters.selection.name_filter import NameFilter, first_match
from exporters.text.samples import has_sample

if TYPE_CHECKING:
    from exporters.catalogue.metric import Metric
    from exporters.cluster.model import ClusterFacts
    from exporters.readmodel import Snapshot


Model = TypeVar("Model", "Snapshot", "ClusterFacts")


class Granularity(enum.StrEnum):
    """The finest level of the series. The value is the label that only series of this level have."""

    PARTITION = "partition"
    TOPIC = "topic"
    GROUP = "group"

    def has(self, metric: Metric) -> bool:
        """Return whether a metric has series at this granularity."""
        return not _EXCLUDED_LABELS[self] & set(metric.labels)


_EXCLUDED_LABELS: Final = {
    Granularity.PARTITION: frozenset[str](),
    Granularity.TOPIC: frozenset({"partition"}),
    Granularity.GROUP: frozenset({"partition", "topic"}),
}


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSelection:
    """The configured selection. `targets` are pairs of a pattern and a time lag in seconds; the first match applies."""

    granularity: Granularity = Granularity.PARTITION
    groups: NameFilter = dataclasses.field(default_factory=NameFilter)
    topics: NameFilter = dataclasses.field(default_factory=NameFilter)
    budget: int | None = None
    targets: tuple[tuple[str, float], ...] = ()


EVERYTHING: Final = SeriesSelection()
_DEAD: Final = "Dead"


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedSeries:
    """A snapshot with the targets, the part of it that is rendered, and the metrics that are rendered."""

    snapshot: Snapshot
    shown: Snapshot
    metrics: tuple[Metric, ...]


class SeriesSelector:
    """Applies a selection to one snapshot after the other, and keeps the counts of the series left out."""

    def __init__(self, selection: SeriesSelection = EVERYTHING) -> None:
        self._selection = selection
        self._budget = None if selection.budget is None else SeriesBudget(selection.budget)

    @property
    def dropped(self) -> pa.Table:
        """The series that the budget left out (schema SERIES_DROPPED)."""
        return SERIES_DROPPED.empty_table() if self._budget is None else self._budget.dropped

    def select(self, snapshot: Snapshot) -> SelectedSeries:
        """Return the selected series of a snapshot."""
        if self._selection.targets:
            snapshot = dataclasses.replace(snapshot, targets=target_table(snapshot.groups, self._selection.targets))
        shown = filter_by_name(snapshot, self._selection)
        metrics = [metric for metric in SNAPSHOT_METRICS if self._selection.granularity.has(metric)]
        if self._budget is not None:
            live = without_dead_groups(shown)
            fit = self._budget.fit(
                {metric: _series_count(shown, metric) for metric in metrics},
                {metric: _series_count(live, metric) for metric in metrics},
            )
            metrics = [metric for metric in metrics if metric in fit.metrics]
            shown = shown if fit.with_dead_groups else live
        return SelectedSeries(snapshot, shown, tuple(metrics))


def target_table(groups: pa.Table, targets: tuple[tuple[str, float], ...]) -> pa.Table:
    """Return the target of each group whose name matches a pattern; the first match applies (schema TARGETS)."""
    names = groups.column("group").cast(pa.string()).combine_chunks()
    index = first_match(names, [pattern for pattern, _ in targets])
    seconds = pa.array([target for _, target in targets], pa.float64()).take(index)
    found = pa.table([names.dictionary_encode().cast(NAME), seconds], schema=TARGETS)
    return found.filter(seconds.is_valid())


def without_dead_groups(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the rows of dead groups, in every table with a column `group`."""
    dead = pc.equal(snapshot.groups.column("state").cast(pa.string()), _DEAD).fill_null(False)
    names = snapshot.groups.column("group").filter(dead).cast(pa.string()).combine_chunks()
    if not len(names):
        return snapshot
    fields = [field.name for field in dataclasses.fields(snapshot)]
    tables = {name: table for name in fields if isinstance(table := getattr(snapshot, name), pa.Table)}
    return dataclasses.replace(
        snapshot,
        **{name: _without(table, names) for name, table in tables.items() if "group" in table.column_names},
    )


def _without(table: pa.Table, names: pa.Array) -> pa.Table:
    encoded = table.column("group").unify_dictionaries().combine_chunks()
    kept = pc.invert(pc.is_in(encoded.dictionary, value_set=names))
    return table.filter(kept.take(encoded.indices).fill_null(True))


def filter_by_name(model: Model, selection: SeriesSelection) -> Model:
    """Return the model with the rows of selected groups and topics only, in every table with these columns."""
    by_label = (("group", selection.groups), ("topic", selection.topics))
    filters = {label: names for label, names in by_label if not names.selects_all}
    if not filters:
        return model
    names = [field.name for field in dataclasses.fields(model)]
    tables = {name: table for name in names if isinstance(table := getattr(model, name), pa.Table)}
    return dataclasses.replace(model, **{name: _selected_rows(table, filters) for name, table in tables.items()})


def _selected_rows(table: pa.Table, filters: dict[str, NameFilter]) -> pa.Table:
    for label, names in filters.items():
        if label in table.column_names and len(table):
            table = table.filter(names.rows(table.column(label)))
    return table


def _series_count(shown: Snapshot, metric: Metric) -> int:
    column = getattr(shown, metric.source.value).column(metric.column)
    return int(pc.sum(has_sample(column, metric.omitted_values(shown))).as_py() or 0)
