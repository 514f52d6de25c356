"""Selects the series of a snapshot: preset, granularity, groups, topics and budget; and adds the configured targets.

The selection applies to `/metrics` only; the API and the pages show everything. It never changes a value: the sum of a
group stays the sum over all of its partitions. A dead group has one series, and those of its owner and of maintenance;
groups with generated names are folded (`exporters.selection.folding`).
"""

import dataclasses
import enum
import functools
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from exporters import readmodel
from exporters.catalogue import groups as group_tables
from exporters.catalogue import service, verdicts
from exporters.catalogue.metric import Metric, Preset
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.cluster.model import ClusterFacts
from exporters.compatibility.selection import OtherSelection
from exporters.compatibility.snapshot_tables import other_snapshot
from exporters.selection.budget import NameFilter, SeriesBudget, first_match, muted_by_configuration
from exporters.selection.folding import FoldRules, GroupFolder
from exporters.text.samples import has_sample, one_array

Model = TypeVar("Model", "readmodel.Snapshot", "ClusterFacts")


class Granularity(enum.StrEnum):
    """The finest level of the series. The value is the label that only series of this level have."""

    PARTITION = "partition"
    TOPIC = "topic"
    GROUP = "group"

    def has(self, metric: Metric) -> bool:
        """Return whether a metric has series at this granularity."""
        return self.hidden_labels.isdisjoint(metric.multiplying_labels)

    @property
    def hidden_labels(self) -> frozenset[str]:
        """The labels of finer series."""
        return _HIDDEN_LABELS[self]


_HIDDEN_LABELS: Final = {
    Granularity.PARTITION: frozenset[str](),
    Granularity.TOPIC: frozenset({"partition", "partition_id"}),
    Granularity.GROUP: frozenset({"partition", "partition_id", "topic", "topic_name"}),
}


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSelection:
    """The configured selection.

    `add` and `omit` are names of metrics. `budget` is the maximum number of series. `targets` are pairs of a pattern
    and a time lag in seconds; the first match applies. The preset, `add` and `omit` do not apply to `compatibility`.
    `cluster` is the label of this name of every series; None: the series have none.
    """

    preset: Preset = Preset.FULL
    add: frozenset[str] = frozenset()
    omit: frozenset[str] = frozenset()
    granularity: Granularity = Granularity.PARTITION
    groups: NameFilter = dataclasses.field(default_factory=NameFilter)
    topics: NameFilter = dataclasses.field(default_factory=NameFilter)
    budget: int | None = None
    targets: tuple[tuple[str, float], ...] = ()
    fold: FoldRules = dataclasses.field(default_factory=FoldRules)
    compatibility: OtherSelection = dataclasses.field(default_factory=OtherSelection)
    cluster: str | None = None

    @property
    def budgets(self) -> tuple[SeriesBudget | None, SeriesBudget | None]:
        """Budgets for the series about groups and for those about the cluster, which have a quarter; None: no limit."""
        if self.budget is None:
            return None, None
        cluster = self.budget // _CLUSTER_PART
        return SeriesBudget(self.budget - cluster), SeriesBudget(cluster)

    def shows(self, metric: Metric) -> bool:
        """Return whether a metric is shown if the budget allows it: preset, then `add` and `omit`, then granularity."""
        if metric.name in self.omit or not self.granularity.has(metric):
            return False
        return metric.name in self.add or metric.is_in(self.preset, self.granularity.hidden_labels)


_CLUSTER_PART: Final = 4
EVERYTHING: Final = SeriesSelection()
_DEAD: Final = "Dead"
_SHARE: Final = "share"
_OF_COMMITS: Final = ("partitions", "lag_sum", "lag_max", "partitions_lag_unknown")
"""The columns of GROUPS that are about committed offsets, except of share groups."""


class SeriesSelector:
    """Applies a selection to one snapshot after the other, and keeps the counts of the series left out."""

    def __init__(self, selection: SeriesSelection = EVERYTHING) -> None:
        self._selection = selection
        self.compatibility = selection.compatibility
        """The configured part of the other exporters' metrics."""
        self.cluster = selection.cluster
        """The label `cluster` of every series; None: the series have none."""
        others = (each for each in self.compatibility.metrics if each.source.in_snapshot)
        self._metrics = (*filter(selection.shows, SNAPSHOT_METRICS), *filter(selection.granularity.has, others))
        self._folder = GroupFolder(selection.fold)
        self._budget, _ = selection.budgets

    @property
    def dropped(self) -> pa.Table:
        """The series that the budget left out (schema SERIES_DROPPED)."""
        return service.SERIES_DROPPED.empty_table() if self._budget is None else self._budget.dropped

    def use_targets(self, targets: tuple[tuple[str, float], ...]) -> None:
        """Use these targets from the next snapshot on."""
        self._selection = dataclasses.replace(self._selection, targets=targets)

    def with_targets(self, snapshot: readmodel.Snapshot) -> readmodel.Snapshot:
        """Return a snapshot with the targets of its groups."""
        if not self._selection.targets:
            return snapshot
        return dataclasses.replace(snapshot, targets=target_table(snapshot.groups, self._selection.targets))

    def select(self, snapshot: readmodel.Snapshot) -> tuple[readmodel.Snapshot, tuple[Metric, ...]]:
        """Return the part of a snapshot that is rendered, and the metrics that are rendered."""
        counted = dataclasses.replace(snapshot, partition_verdicts=partition_verdict_table(snapshot))
        selected = filter_by_name(counted, self._selection)
        selected = dataclasses.replace(
            selected,
            owners=owner_table(selected.groups),
            maintenance=maintenance_table(selected.groups),
            not_alerted=not_alerted_table(selected.groups),
        )
        apart = dead_groups_apart(without_share_numbers(selected))
        shown = dataclasses.replace(self._folder.fold(apart), summary=summary_table(snapshot.groups))
        if self.compatibility.names:
            others = self.compatibility
            shown = other_snapshot(shown, apart, others.cluster, every_partition=others.needs_every_partition)
        metrics = self._metrics
        if self._budget is not None:
            kept = self._budget.fit({metric: _series_count(shown, metric) for metric in metrics})
            metrics = tuple(metric for metric in metrics if metric in kept)
        return shown, metrics


def target_table(groups: pa.Table, targets: tuple[tuple[str, float], ...]) -> pa.Table:
    """Return the target of each group whose name matches a pattern; the first match applies (schema TARGETS)."""
    names = groups.column("group").cast(pa.string()).combine_chunks()
    index = first_match(names, [pattern for pattern, _ in targets])
    seconds = pa.array([target for _, target in targets], pa.float64()).take(index)
    found = pa.table([names.dictionary_encode().cast(readmodel.NAME), seconds], schema=group_tables.TARGETS.schema)
    return found.filter(seconds.is_valid())


def partition_verdict_table(snapshot: readmodel.Snapshot) -> pa.Table:
    """Return the number of partitions per group and verdict, without fine ones (schema PARTITION_VERDICTS)."""
    schema = verdicts.PARTITION_VERDICTS.schema
    labels, order = schema.names[:2], [(label, "ascending") for label in schema.names[:2]]
    rows = snapshot.partitions.select(labels)
    unhealthy = rows.filter(has_sample(rows.column("verdict"), snapshot.fine_verdicts))
    counted = unhealthy.unify_dictionaries().combine_chunks().group_by(labels).aggregate([([], "count_all")])
    plain = pa.schema([*((label, pa.string()) for label in labels), schema.field(len(labels))])
    counted = counted.select([*labels, "count_all"]).rename_columns(schema.names).cast(plain).sort_by(order)
    encoded = [counted.column(label).combine_chunks().dictionary_encode().cast(readmodel.NAME) for label in labels]
    return pa.table([*encoded, counted.column(len(labels))], schema=schema)


def owner_table(groups: pa.Table) -> pa.Table:
    """Return the groups that have an owner, with its labels (schema OWNERS)."""
    has_owner = functools.reduce(pc.or_, (groups.column(label).is_valid() for label in readmodel.OWNERS.names[1:]))
    return groups.select(readmodel.OWNERS.names).filter(has_owner)


def maintenance_table(groups: pa.Table) -> pa.Table:
    """Return the groups in a maintenance window or a silence (schema MAINTENANCE)."""
    found = groups.select(["group"]).filter(muted_by_configuration(groups))
    return found.append_column(group_tables.MAINTENANCE.schema.field("in_maintenance"), pa.repeat(True, len(found)))


def not_alerted_table(groups: pa.Table) -> pa.Table:
    """Return the groups whose faults raise no alert (schema NOT_ALERTED)."""
    return groups.select(group_tables.NOT_ALERTED.schema.names).filter(groups.column("not_alerted").fill_null(False))


def summary_table(groups: pa.Table) -> pa.Table:
    """Return the counts over all groups, also those that are not shown (schema SUMMARY)."""
    held_back = pc.sum(groups.column("held_back")).cast(pa.int64())
    odd_times = pa.scalar(pc.count(groups.column("odd_times")).as_py(), pa.int64())
    return pa.table(
        [pa.array([count.as_py()], count.type) for count in (held_back, odd_times)], schema=verdicts.SUMMARY.schema
    )


def dead_groups_apart(snapshot: readmodel.Snapshot) -> readmodel.Snapshot:
    """Return the snapshot with the dead groups in `dead_groups`, and without them in every other table."""
    is_dead = pc.equal(snapshot.groups.column("state").cast(pa.string()), _DEAD).fill_null(False)
    dead = snapshot.groups.filter(is_dead)
    if not len(dead):
        return snapshot
    names = dead.column("group").cast(pa.string()).combine_chunks()
    # A dead group has no partitions, and therefore no rows in the larger tables.
    living = {name: _without(getattr(snapshot, name), names) for name in ("groups", "transitions", "targets")}
    return dataclasses.replace(snapshot, dead_groups=dead.select(group_tables.DEAD_GROUPS.schema.names), **living)


def _without(table: pa.Table, names: pa.Array) -> pa.Table:
    encoded = one_array(table.column("group"))
    kept = pc.invert(pc.is_in(encoded.dictionary, value_set=names))
    return table.filter(kept.take(encoded.indices))


def without_share_numbers(snapshot: readmodel.Snapshot) -> readmodel.Snapshot:
    """Return the snapshot without the topics of share groups, and with nulls for their lag and their partitions.

    A share group commits no offsets. Its progress has metrics of its own, `lagwarden_share_*`, so a sum over
    `lagwarden_group_lag` and `lagwarden_share_group_lag` has each group once.
    """
    groups = snapshot.groups
    is_share = pc.equal(groups.column("kind").cast(pa.string()), _SHARE).fill_null(False)
    names = groups.column("group").filter(is_share).cast(pa.string()).combine_chunks()
    if not len(names):
        return snapshot
    for column in _OF_COMMITS:
        field = groups.schema.field(column)
        values = pc.if_else(is_share, pa.scalar(None, field.type), groups.column(column))
        groups = groups.set_column(groups.schema.get_field_index(column), field, values)
    topics = snapshot.topics
    of_share = pc.is_in(topics.column("group").cast(pa.string()), value_set=names)
    return dataclasses.replace(snapshot, groups=groups, topics=topics.filter(pc.invert(of_share)))


def filter_by_name(model: Model, selection: SeriesSelection) -> Model:
    """Return the model with the rows of selected groups and topics only, in every table with these columns."""
    by_label = (("group", selection.groups), ("topic", selection.topics))
    filters = {label: names for label, names in by_label if names.allow or names.deny}
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


def _series_count(shown: readmodel.Snapshot, metric: Metric) -> int:
    column = metric.source.rows(shown).column(metric.column)
    return int(pc.sum(has_sample(column, shown.fine_verdicts if metric.omits_fine else ())).as_py() or 0)
