"""(fleet, ends, surroundings, now) -> what health is told of one moment: `stream.health.observed.Observed`.

Whoever ticks calls it after the ends have been read, at every tick, and hands the answer to a `stream.health.judge`.
Owns how names become numbers, and Arrow tables columns; it judges nothing, asks nothing and has no clock. What it is
not given stays unknown.

Groups and topics are numbered as the read model sorts them, so row i here is row i of its PARTITIONS, and group
number n is row n of its GROUPS. A partition that has never been committed has no row.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.runs import TOPIC_ID
from stream.health import beyond
from stream.health import lag as lags
from stream.health.beyond import Origins
from stream.health.lag import Ends
from stream.health.limits import Limits
from stream.health.observed import NOT_TOLD, Observed, OpenTransaction
from stream.observed_groups import groups, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.expiry import Expiry
    from stream.groups.fleet import FleetColumns
    from stream.health.columns import Ints
    from stream.health.tails import Tails
    from stream.surroundings import Surroundings

_NO_ID: Final = bytes(16)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What was asked beside the ends and the surroundings. None: it was not, and the rules that need it are silent."""

    expiry: Expiry | None = None
    """Of this very fleet."""
    retention: Mapping[str, int] | None = None
    """retention.ms by topic; -1: compacted, or kept for ever. A topic that is not in it is not known."""
    transactions: Mapping[str, pa.Table] = dataclasses.field(default_factory=dict)
    """By topic, with the schema `stream.cluster.transactions.OPEN_TRANSACTIONS`."""
    tails: Tails | None = None
    """Places numbered by the topics of the fleet in order of their names, as everything here is."""
    reasons: NDArray[np.object_] | None = None
    """Why the lag of each row is not known, by row of the read model's PARTITIONS."""
    rebalancing_since: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """See `stream.observed_groups.rebalancing_since`."""


_NOTHING: Final = Asked()


def observed(
    fleet: FleetColumns,
    ends: pa.Table,
    around: Surroundings,
    now: float,
    asked: Asked = _NOTHING,
    *,
    limits: Limits | None = None,
) -> Observed:
    """Put one moment into columns: `ends` (schema `stream.cluster.watermarks.ENDS`) had been read at `now` (Unix s)."""
    moment = int(now * 1000)
    group, group_names = _ranked(fleet.group, {*fleet.memberships, *fleet.lives})
    topic, topics = _ranked(fleet.topic, ())
    order = np.lexsort((fleet.partition, topic, group))
    group, topic, partition = group[order], topic[order], fleet.partition[order]
    runs = fleet.runs.take(order)
    storm = (limits or Limits()).storm
    told = groups(group_names, fleet, around, moment, storm=storm, rebalancing=asked.rebalancing_since)
    members = wanted(fleet, around, (group, topic, partition), group_names, topics)
    return Observed(
        now=moment,
        groups=told,
        topics=topics,
        group=group,
        topic=topic,
        partition=partition,
        spans=runs.spans,
        slots=runs.slots,
        ends=_ends(ends, topics),
        origins=Origins(
            leader_epoch=runs.leader_epoch,
            topic_id=beyond.topic_ids(runs.topic_id),
            current_topic_id=_current_ids(topics, around)[topic],
        ),
        recreated=_recreated(topics, around, moment),
        subscribed=members.subscribed,
        owner=members.owner,
        expiry=None if asked.expiry is None else asked.expiry.offset[order],
        retention=None if asked.retention is None else _retention(topics, asked.retention)[topic],
        tails=asked.tails,
        transactions=_transactions(topics, asked.transactions),
        reasons=asked.reasons,
    )


def _ranked(names: pa.DictionaryArray, more: Iterable[str]) -> tuple[Ints, tuple[str, ...]]:
    """Give each row the number of its name, and the names in that order: sorted, those of `more` among them."""
    own = names.dictionary.to_pylist()
    every = tuple(sorted({*own, *more}))
    of_dictionary = _numbers(own, every)
    return _pick(of_dictionary, names), every


def _numbers(names: Sequence[str], among: Sequence[str]) -> Ints:
    """Give the place of each name among others, -1 where it is not there."""
    place = {name: number for number, name in enumerate(among)}
    return np.array([place.get(name, -1) for name in names], np.int64)


def _pick(of_dictionary: Ints, encoded: pa.DictionaryArray) -> Ints:
    numbers: Ints = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers


def _ends(table: pa.Table, topics: Sequence[str]) -> Ends:
    """Give the ends of the partitions of these topics by place; a topic that could not be described has none."""
    encoded = table.column("topic").combine_chunks()
    topic = _pick(_numbers(encoded.dictionary.to_pylist(), topics), encoded)
    partition = table.column("partition").to_numpy()
    rows = np.flatnonzero((partition >= 0) & (topic >= 0))
    places = lags.place(topic[rows], partition[rows])
    order = np.argsort(places, kind="stable")
    high, start, stable = (
        table.column(name).fill_null(lags.NOT_KNOWN).to_numpy()[rows[order]]
        for name in ("high_watermark", "log_start_offset", "last_stable_offset")
    )
    known = (high >= 0) & (start >= 0)
    return Ends(places[order], np.maximum(high, 0), np.maximum(start, 0), known, last_stable=stable)


def _current_ids(topics: Sequence[str], around: Surroundings) -> NDArray[np.uint64]:
    """Give the id that each topic has now, in the form of `beyond.topic_ids`; zeros where it is not known."""
    return beyond.topic_ids(pa.array([around.topic_ids.get(name, _NO_ID) for name in topics], TOPIC_ID))


def _recreated(topics: Sequence[str], around: Surroundings, moment: int) -> Ints:
    """Give the numbers of the topics that were found at this tick to be others than before."""
    anew = [number for number, name in enumerate(topics) if around.made_anew.get(name, -1) >= moment]
    return np.array(anew, np.int64)


def _retention(topics: Sequence[str], retention: Mapping[str, int]) -> Ints:
    return np.array([retention.get(name, NOT_TOLD) for name in topics], np.int64)


def _transactions(topics: Sequence[str], tables: Mapping[str, pa.Table]) -> dict[tuple[int, int], OpenTransaction]:
    """Give the first open transaction of each partition: the one that holds the others back."""
    held: dict[tuple[int, int], OpenTransaction] = {}
    for number, name in enumerate(topics):
        if name in tables:
            for partition, transaction in _open(tables[name]):
                held.setdefault((number, partition), transaction)
    return held


def _open(table: pa.Table) -> Iterator[tuple[int, OpenTransaction]]:
    """Give each partition with its open transactions; a row without a start says only that nobody could be asked."""
    started = table.filter(table.column("start_offset").is_valid())
    since = started.column("start_time").cast(pa.int64()).to_pylist()
    columns = (started.column(name).to_pylist() for name in ("partition", "producer_id", "transactional_id"))
    for partition, producer, name, time in zip(*columns, since, strict=True):
        yield partition, OpenTransaction(producer, name, time)
