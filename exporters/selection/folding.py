"""Folds groups with generated names into one row per pattern, so that their number does not set the number of series.

A folded row has the sum of the lag, the greatest time lag, the worst verdict and the number of its groups. It has no
series per partition and no counters: both would end and begin again with each group. It has the labels of the owner
that all of its groups share. It is in maintenance, or not_alerted, while all of them are.
"""

import collections
import dataclasses
import functools
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.groups import GROUPS
from exporters.readmodel import FOLDED_GROUPS, NAME, OWNERS, Snapshot, columns_table
from exporters.selection.budget import first_match, muted_by_configuration
from exporters.text.samples import one_array
from exporters.wording import ATTENTION, SEVERITIES

# `first` is that of the worst verdict.
_AGGREGATION: Final = {column.name: column.fold for column in GROUPS.columns if column.fold}
"""How the columns of GROUPS are combined; the others are null in a folded row."""
_RETURN_SHARE: Final = 0.5
"""A pattern found by rule is unfolded only below this share of the limit. Avoids flapping at the limit."""
WILDCARD: Final = "*"
"""Stands in a pattern for the generated parts of a name."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_POD: Final = re.compile(r"-[0-9a-f]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
"""The suffix of a pod of a Kubernetes Deployment: the hash of its template, and five random characters."""
_CONSOLE: Final = re.compile(r"\Aconsole-consumer-[0-9]+\Z")
"""Kafka's console consumer: a random number below 100,000."""
_PART: Final = re.compile(r"[0-9A-Za-z]+")
_NUMBER: Final = re.compile(r"[1-9][0-9]{4,}")
_HEXADECIMAL: Final = re.compile(r"(?=.*[0-9])(?:[0-9a-f]{8,}|[0-9A-F]{8,})")
_LETTERS_AND_DIGITS: Final = re.compile(r"[0-9]+|[A-Za-z]+")
_MIXED_LENGTH: Final = 5
_MIXED_RUNS: Final = 4
_REPEATED: Final = re.compile(r"\*(?:[-_.:]?\*)+")


@dataclasses.dataclass(frozen=True, slots=True)
class FoldRules:
    """Which groups are folded: those that match one of `patterns`, and those with generated names.

    The latter only if at least `generated_from` groups have the same pattern (None: never).
    """

    patterns: tuple[str, ...] = ()
    generated_from: int | None = None


class FoldedRows:
    """The groups that are folded, and the name of the folded row of each."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        self._groups, self._names = (pa.array(list(names), pa.string()) for names in (rows, rows.values()))
        # Of the groups searched last: most tables, and ticks, have the same ones.
        self._searched, self._found = pa.array([], pa.string()), pa.array([], pa.string())

    def names(self, table: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Return the name of the folded row of each group of a table, null for others, and the group of each row."""
        encoded = one_array(table.column("group"))
        if not self._searched.equals(encoded.dictionary):
            self._searched = encoded.dictionary
            self._found = self._names.take(pc.index_in(self._searched, value_set=self._groups))
        return self._found, encoded.indices

    def __len__(self) -> int:
        return len(self._groups)


class GroupFolder:
    """Applies the rules to one snapshot after the other. For one thread."""

    def __init__(self, rules: FoldRules) -> None:
        self._rules = rules
        self._patterns: dict[str, str | None] = {}
        self._folded: frozenset[str] = frozenset()
        # The names of the last snapshot and their rows: equal names have the same ones.
        self._names: list[pa.ChunkedArray] = []
        self._rows = FoldedRows({})

    def fold(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with one row instead of the groups of each pattern; dead groups of a pattern have none.

        `snapshot` has its dead groups apart, in `dead_groups`.
        """
        if not self._rules.patterns and self._rules.generated_from is None:
            return snapshot
        columns = [table.column("group") for table in (snapshot.groups, snapshot.dead_groups)]
        if self._names != columns:
            live, dead = ([*map(sys.intern, column.cast(pa.string()).to_pylist())] for column in columns)
            rows = self._rows_by_name([*live, *dead], live=len(live))
            self._names, self._rows = columns, FoldedRows(rows)
        return _folded(snapshot, self._rows) if len(self._rows) else snapshot

    def _rows_by_name(self, names: list[str], live: int) -> dict[str, str]:
        """Return the name of the folded row of each group that is folded; the first `live` names are of live groups."""
        by_option, known = self._by_option(names), self._patterns
        if self._rules.generated_from is not None:  # only new names are matched
            self._patterns = {name: known[name] if name in known else pattern_of(name) for name in names}
        patterns = {name: pattern for name, pattern in self._patterns.items() if pattern is not None}
        counts = collections.Counter(
            patterns[name] for name in names[:live] if name in patterns and name not in by_option
        )
        self._folded = frozenset(pattern for pattern, groups in counts.items() if groups >= self._limit(pattern))
        rows = {name: pattern for name, pattern in patterns.items() if pattern in self._folded} | by_option
        # A group that has the name of a folded row would have the same series.
        return rows | {name: name for name in set(rows.values()) & set(names)}

    def _limit(self, pattern: str) -> float:
        return (self._rules.generated_from or 0) * (_RETURN_SHARE if pattern in self._folded else 1)

    def _by_option(self, names: list[str]) -> dict[str, str]:
        patterns = self._rules.patterns
        if not patterns:
            return {}
        found = first_match(pa.array(names, pa.string()), patterns).to_pylist()
        return {name: patterns[index] for name, index in zip(names, found, strict=True) if index is not None}


def _folded(snapshot: Snapshot, rows: FoldedRows) -> Snapshot:
    groups, members = _split(snapshot.groups, rows)
    unknown_lags, unknown = _split(snapshot.unknown_lags, rows)
    targets, own_targets = _split(snapshot.targets, rows)
    others = ("partitions", "partition_verdicts", "topics", "transitions", "dead_groups", "covered_groups", "findings")
    owners, maintenance, not_alerted = (
        _without(table, rows) for table in (snapshot.owners, snapshot.maintenance, snapshot.not_alerted)
    )
    counts = members.group_by("group").aggregate([([], "count_all")]).rename_columns(["group", "groups"])
    return dataclasses.replace(
        snapshot,
        **{name: _without(getattr(snapshot, name), rows) for name in others},
        groups=_with(groups, _folded_rows(members)),
        unknown_lags=_with(unknown_lags, _aggregate(unknown, ("group", "reason"), {"partitions": "sum"})),
        targets=_with(targets, _aggregate(own_targets, ("group",), {"time_lag_target": "min"})),
        owners=_with(owners, _shared_labels(members)),
        maintenance=_with(maintenance, _shared_maintenance(members)),
        not_alerted=_with(not_alerted, _shared_not_alerted(members)),
        folded_groups=_with(FOLDED_GROUPS.empty_table(), counts),
    )


def _folded_rows(members: pa.Table) -> pa.Table:
    """Return one row per folded row's name; columns that have no value for several groups are missing."""
    rank = pc.index_in(members.column("severity"), value_set=pa.array(SEVERITIES, pa.string()))
    worst_first = (
        members.select(["group", *_AGGREGATION])
        .append_column("rank", rank)
        .sort_by([("group", "ascending"), ("rank", "descending"), ("verdict_since", "ascending")])
    )
    return _aggregate(worst_first, ("group",), _AGGREGATION)


def _shared_labels(members: pa.Table) -> pa.Table:
    """Return the labels of the owner that all groups of a folded row share; no row where there is none."""
    labels = OWNERS.names[1:]
    distinct = [(label, "count_distinct", pc.CountOptions(mode="all")) for label in labels]
    values = [(label, "max") for label in labels]
    grouped = members.group_by("group", use_threads=False).aggregate([*distinct, *values])
    shared = [
        pc.if_else(pc.equal(grouped[f"{label}_count_distinct"], 1), grouped[f"{label}_max"], None) for label in labels
    ]
    has_owner = functools.reduce(pc.or_, (column.is_valid() for column in shared))
    return pa.table([grouped["group"], *shared], names=OWNERS.names).filter(has_owner)


def _shared_maintenance(members: pa.Table) -> pa.Table:
    """Return the folded rows of which all groups are in a maintenance window or a silence."""
    every = members.select(["group"]).append_column("in_maintenance", muted_by_configuration(members))
    found = _aggregate(every, ("group",), {"in_maintenance": "all"})
    return found.filter(found["in_maintenance"])


def _shared_not_alerted(members: pa.Table) -> pa.Table:
    """Return the folded rows with a fault in which every group with a fault is not_alerted."""
    has_fault = pc.is_in(members.column("severity"), value_set=pa.array(ATTENTION, pa.string()))
    found = _aggregate(members.filter(has_fault), ("group",), {"not_alerted": "all"})
    return found.filter(found["not_alerted"].fill_null(False))


def _aggregate(table: pa.Table, keys: Sequence[str], functions: Mapping[str, str]) -> pa.Table:
    """Return the table grouped by `keys`; the columns keep their names."""
    grouped = table.group_by(list(keys), use_threads=False).aggregate(list(functions.items()))
    return grouped.select([*keys, *(f"{column}_{function}" for column, function in functions.items())]).rename_columns(
        [*keys, *functions]
    )


def _split(table: pa.Table, rows: FoldedRows) -> tuple[pa.Table, pa.Table]:
    """Return the rows of other groups, and those of folded groups with plain names and the name of the folded row."""
    of_group, groups = rows.names(table)
    names = of_group.take(groups)
    folded = names.is_valid()
    plain = pa.schema([(field.name, pa.string() if field.type == NAME else field.type) for field in table.schema])
    members = table.filter(folded).cast(plain).set_column(0, "group", names.filter(folded))
    return (table.filter(pc.invert(folded)) if len(members) else table), members


def _without(table: pa.Table, rows: FoldedRows) -> pa.Table:
    """Return the rows of groups that are not folded."""
    if not len(table):
        return table
    names, groups = rows.names(table)
    return table.filter(names.is_null().take(groups))


def _with(table: pa.Table, rows: pa.Table) -> pa.Table:
    """Return the table with further rows; missing columns are null."""
    given = [field for field in table.schema if field.name in rows.column_names]
    columns = {field.name: _encoded(rows[field.name], field.type) for field in given}
    return pa.concat_tables([table, columns_table(columns, table.schema)])


def _encoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column.dictionary_encode().cast(kind) if kind == NAME else column.cast(kind)


def pattern_of(name: str) -> str | None:
    """Return the name with `*` for its generated parts, or None if it has none.

    Generated are: a UUID; the suffix of a Kubernetes pod; the number of a console consumer; and between characters
    other than letters and digits, a number of five digits or more that does not begin with 0, eight or more
    hexadecimal digits of which one is decimal, and five or more characters that change at least three times between
    letters and digits.
    """
    if _CONSOLE.match(name):
        return f"console-consumer-{WILDCARD}"
    text = _POD.sub(f"-{WILDCARD}", _UUID.sub(WILDCARD, name))
    pattern = _PART.sub(lambda part: WILDCARD if _is_generated(part[0]) else part[0], text)
    return None if pattern == name else sys.intern(_REPEATED.sub(WILDCARD, pattern))


def _is_generated(part: str) -> bool:
    if _NUMBER.fullmatch(part) or _HEXADECIMAL.fullmatch(part):
        return True
    return len(part) >= _MIXED_LENGTH and len(_LETTERS_AND_DIGITS.findall(part)) >= _MIXED_RUNS
