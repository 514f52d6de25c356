"""The tables of topics, and the share groups in the tables of groups and topics: they have no rows per partition.

A share group reads a topic if brokers record its progress in it, or if a member subscribes to it. Its partitions are
those with a start offset, its lag is the number of records that are not finished, as `kafka-share-groups --describe
--offsets` has it.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import NAME, TOPICS, columns_table
from stream.groups.membership.model import Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import NOT_KNOWN, Ints
from stream.health.features.window import Window
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.tick.context import TickFacts
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.groups import lag_columns
from stream.tick.snapshot.owned_rows import label_columns, rows_by_topic
from stream.tick.verdicts.columns import greatest_time_lag, nullable, words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


def topics_table(rows: InputRows, window: Window, member: Ints, evaluated: EvaluatedTick | None) -> pa.Table:
    """Return the table of the topics of each group, in the order of the rows (schema TOPICS).

    `member` is the number of the member that owns each row, `NO_OWNER` or `NOT_KNOWN`.
    """
    labels, (by_topic, first) = label_columns(rows), rows_by_topic(rows)
    columns: dict[str, Any] = {
        **{name: labels[name].take(pa.array(first)) for name in ("group", "topic")},
        **lag_columns(by_topic, window, rows.committed),
        **_assigned(rows, member),
    }
    if evaluated is not None:
        owner, evaluation = np.repeat(np.arange(len(first)), by_topic.counts), evaluated.evaluation
        columns |= greatest_time_lag(evaluated, owner, len(first))
        columns["verdict"] = words(evaluation.worst_by_owner(owner, len(first)), evaluation.verdict_names)
    return columns_table(columns, TOPICS)


@keep_last
def _assigned(rows: InputRows, member: Ints) -> dict[str, pa.Array]:
    """Return the columns `members` and `partitions_assigned` of TOPICS; null where the assignment is not known."""
    by_topic, first = rows_by_topic(rows)
    unknown, owned = by_topic.count(member == NOT_KNOWN) > 0, member >= 0
    # One integer per pair: `unique` of two columns compares bytes, four times as slow.
    pairs = np.unique(np.repeat(np.arange(len(first)), by_topic.counts)[owned] << 32 | member[owned])
    return {
        "members": nullable(np.bincount(pairs >> 32, minlength=len(first)).astype(np.int32), unknown),
        "partitions_assigned": nullable(by_topic.count(owned).astype(np.int32), unknown),
    }


_SHARE: Final = "share"


@dataclasses.dataclass(frozen=True, slots=True)
class ShareTopic:
    """A topic that a share group reads. Fields are those of TOPICS; None: not known."""

    group: str
    topic: str
    partitions: int | None = None
    lag_sum: int | None = None
    lag_max: int | None = None
    partitions_lag_unknown: int | None = None
    verdict: str | None = None


_COMBINED: Final[Mapping[str, Callable[[list[int]], int]]] = {
    "partitions": sum,
    "lag_sum": sum,
    "lag_max": max,
    "partitions_lag_unknown": sum,
}
"""The columns of GROUPS, and how the values of several topics are combined."""


def share_topics(
    groups: Sequence[str],
    memberships: Mapping[str, Membership],
    facts: TickFacts,
    evaluated: EvaluatedTick | None,
    partitions: Ints,
) -> list[ShareTopic]:
    """Return the topics of all share groups, sorted by both.

    `partitions` are the rows of each group. A group that has rows has the name of one that committed offsets: it is
    left to them.
    """
    found: list[ShareTopic] = []
    counts = facts.cluster.partition_counts
    for at in np.flatnonzero(partitions == 0).tolist():
        membership = memberships.get(groups[at])
        if membership is None or membership.kind != _SHARE:
            continue
        known = _by_topic(groups[at], facts.polled.share_progress)
        read = {topic for topic in membership.subscribed or () if counts.get(topic) != 0}
        share = None if evaluated is None else evaluated.evaluation.share
        verdicts = {} if share is None or at not in share.number_of else share.topic_verdicts(share.number_of[at])
        found += [
            _share_topic(groups[at], topic, known.get(topic), verdicts.get(topic))
            for topic in sorted(known.keys() | read)
        ]
    return found


def _by_topic(group: str, progress: ShareProgress | None) -> dict[str, list[SharePartitionProgress] | None]:
    """Return the progress of a group in each topic; None for a topic whose partitions are not all known."""
    if progress is None:
        return {}
    topics: dict[str, list[SharePartitionProgress] | None] = dict.fromkeys(progress.incomplete.get(group, ()))
    for each in progress.groups.get(group, ()):
        rows = topics.setdefault(each.topic, [])
        if rows is not None:
            rows.append(each)
    return topics


def _share_topic(
    group: str, topic: str, rows: Sequence[SharePartitionProgress] | None, verdict: str | None
) -> ShareTopic:
    if not rows:
        return ShareTopic(group, topic, verdict=verdict)
    lags = [each.lag for each in rows if each.lag is not None]
    return ShareTopic(
        group,
        topic,
        partitions=sum(each.start_offset is not None for each in rows),
        lag_sum=sum(lags) if lags else None,
        lag_max=max(lags, default=None),
        partitions_lag_unknown=len(rows) - len(lags),
        verdict=verdict,
    )


def with_share_topics(topics: pa.Table, share: Sequence[ShareTopic]) -> pa.Table:
    """Return the table of topics (schema TOPICS) with those of share groups, sorted by group and topic."""
    if not share:
        return topics
    plain = pa.schema([(field.name, pa.string() if field.type == NAME else field.type) for field in TOPICS])
    of_share = pa.Table.from_pylist([dataclasses.asdict(each) for each in share], plain)
    both = pa.concat_tables([topics.cast(plain), of_share]).sort_by([("group", "ascending"), ("topic", "ascending")])
    names = {field.name: both[field.name].dictionary_encode() for field in TOPICS if field.type == NAME}
    columns = [names.get(field.name, both[field.name]) for field in TOPICS]
    return pa.table(columns, names=TOPICS.names).cast(TOPICS).unify_dictionaries().combine_chunks()


def with_share_sums(groups: pa.Table, share: Iterable[ShareTopic]) -> pa.Table:
    """Return the table of groups (schema GROUPS) with the sums of share groups over their topics.

    The sums of a share group without known progress are null, not 0.
    """
    is_share = pc.equal(groups.column("kind").cast(pa.string()), _SHARE).fill_null(False)
    is_alive = pc.is_null(groups.column("died_time"))
    without_rows = pc.and_(pc.and_(is_share, is_alive), pc.equal(groups.column("partitions"), 0)).combine_chunks()
    names = groups.column("group").filter(without_rows).cast(pa.string()).to_pylist()
    by_group: dict[str, list[ShareTopic]] = {name: [] for name in names}
    for each in share:
        by_group[each.group].append(each)
    for column, combine in _COMBINED.items() if names else ():
        field = groups.schema.field(column)
        known = (
            [value for each in topics if (value := getattr(each, column)) is not None] for topics in by_group.values()
        )
        values = pa.array([combine(numbers) if numbers else None for numbers in known], field.type)
        replaced = pc.replace_with_mask(groups.column(column).combine_chunks(), without_rows, values)
        groups = groups.set_column(groups.schema.get_field_index(column), field, replaced)
    return groups
