"""Random but repeatable sequences of health inputs: a few groups, topics and partitions in all states over many ticks.

Python's own generator is used because its sequence does not change between versions of numpy.
"""

import dataclasses
import random
from collections.abc import Iterator

import numpy as np

from stream.health.features.control_records import LogTails
from stream.health.features.lag import PartitionEnds
from stream.health.features.offset_out_of_range import CommitOrigins
from stream.health.inputs import NO_OWNER, GroupInputs, GroupStage, HealthInputs
from tests.stream.health.columns import group_inputs
from tests.stream.health.simulator import commit_columns

NOW, TICK = 1_700_000_000_000, 10_000
RATES = (0.0, 0.05, 0.5, 5.0, 50.0)
STAGES = (
    GroupStage.UNKNOWN,
    GroupStage.OFFSETS_ONLY,
    GroupStage.EMPTY,
    GroupStage.REBALANCING,
    *(GroupStage.STABLE,) * 4,
)
READERS = ("all", "all", "slow", "none", "repeats", "batch", "last offset")


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64).reshape(-1)


class RandomPartition:
    """A partition whose end, log start, last stable offset and answers change at random."""

    def __init__(self, draw: random.Random) -> None:
        self.rate = draw.choice(RATES)
        self.end = float(draw.choice([0, 3, 1_000, 50_000]))
        self.log_start = int(self.end * draw.choice([0, 0, 0.5, 1]))
        self.first_open: int | None = None
        self.known = True
        self.epoch = 3

    def advance(self, draw: random.Random) -> None:
        if draw.random() < 0.9:
            self.end += self.rate * 10 * draw.choice([0.5, 1, 1, 1.5])
        if draw.random() < 0.02:
            self.rate = draw.choice(RATES)
        if draw.random() < 0.01:
            self.end *= 0.5
        if draw.random() < 0.03:
            self.log_start = max(self.log_start, int(self.end * draw.random()))
        self.log_start = min(self.log_start, int(self.end))
        if self.first_open is None:
            self.first_open = int(self.end) if draw.random() < 0.05 else None
        else:
            self.first_open = min(self.first_open, int(self.end)) if draw.random() > 0.15 else None
        self.known = draw.random() > 0.03 if self.known else draw.random() < 0.5
        self.epoch += draw.random() < 0.02

    @property
    def last_stable(self) -> int:
        return int(self.end) if self.first_open is None else self.first_open


class RandomGroup:
    """A group whose stage and members change at random."""

    def __init__(self, draw: random.Random) -> None:
        self.stage = draw.choice(STAGES)
        self.since = NOW - draw.choice([0, 5_000, 60_000, 3_600_000])
        self.members = draw.choice([-1, 0, 1, 2, 3])
        self.rebalances = draw.randint(0, 8)
        self.emptied = self.refilled = -1
        self.static, self.share = draw.random() < 0.2, draw.random() < 0.1

    def advance(self, draw: random.Random, now: int) -> None:
        if draw.random() >= 0.06:
            return
        previous, self.stage = self.stage, draw.choice(STAGES)
        self.since = now - draw.choice([0, 1_000, 9_000]) if draw.random() < 0.9 else -1
        self.members = draw.choice([-1, 0, 1, 2, 3])
        if self.stage is GroupStage.EMPTY:
            self.emptied, self.refilled = now - 500, -1
        elif previous is GroupStage.EMPTY:
            self.refilled = now - 400


class RandomReader:
    """The commits of a group to one partition."""

    def __init__(self, draw: random.Random, partition: RandomPartition) -> None:
        self.partition = partition
        self.kind = draw.choice([*READERS, "never"])
        self.every = draw.choice([1, 1, 1, 3, 6])
        self.offset = int(partition.end * draw.choice([1, 1, 1, 0.9, 0.5]))
        self.owner, self.subscribed = draw.choice([0, 0, 1, NO_OWNER, -1]), draw.choice([1, 1, 1, 0, -1])
        self.topic_id, self.epoch = draw.choice([0, 0, 1, 2]), draw.choice([-1, 3, 4])
        self.expiry, self.retention = draw.choice([-1, -1, NOW + 3_600_000]), draw.choice([-1, 600_000, 3_600_000])
        past = 0 if self.kind == "never" else draw.choice([1, 2, 12, 120])
        step = draw.choice([0, 1, 2])
        self.commits = [
            (NOW - 1_000 - at * self.every * 5_000, max(self.offset - at * step, 0)) for at in range(past - 1, -1, -1)
        ]

    def advance(self, draw: random.Random, tick: int, now: int) -> None:
        if draw.random() < 0.03:
            self.kind = draw.choice(READERS)
        if draw.random() < 0.03:
            self.owner = draw.choice([0, 1, NO_OWNER, -1])
        if self.kind in {"never", "none"} or tick % (12 if self.kind == "batch" else self.every):
            return
        end = int(self.partition.end)
        if self.kind == "slow":
            self.offset = min(end, self.offset + int(self.partition.rate * 8 * self.every))
        elif self.kind == "last offset":
            self.offset = max(end - draw.choice([0, 1, 2]), 0)
        elif self.kind != "repeats":
            self.offset = end
        if draw.random() < 0.7:
            self.offset = min(self.offset, self.partition.last_stable)
        self.commits.append((now - draw.choice([0, 100, 4_000]), self.offset))


def sequence(seed: int, ticks: int = 40) -> Iterator[HealthInputs | None]:
    """Return the inputs of each tick; None for a tick at which the cluster does not answer."""
    draw = random.Random(seed)  # noqa: S311 - test data
    topics, groups = [f"t{at}" for at in range(draw.randint(1, 4))], [f"g{at}" for at in range(draw.randint(1, 6))]
    partitions = {(topic, at): RandomPartition(draw) for topic in topics for at in range(draw.randint(1, 4))}
    states = {name: RandomGroup(draw) for name in groups}
    readers = {
        (group, *key): RandomReader(draw, partition)
        for group in groups
        for key, partition in partitions.items()
        if draw.random() < 0.7
    }
    columns = frozenset(name for name in OPTIONAL if draw.random() < 0.6)
    for tick in range(ticks):
        now = NOW + tick * TICK
        if draw.random() < 0.04:
            yield None
            continue
        for partition in partitions.values():
            partition.advance(draw)
        for state in states.values():
            state.advance(draw, now)
        for reader in readers.values():
            reader.advance(draw, tick, now)
        # Names are removed and return, so that all later names change their numbers.
        named_topics = topics[1:] if tick % 17 == 5 and len(topics) > 1 else topics
        named_groups = groups[1:] if tick % 19 == 7 and len(groups) > 1 else groups
        rows = sorted(key for key in readers if key[0] in named_groups and key[1] in named_topics)
        inputs = HealthInputs(
            now=now,
            groups=_groups([states[name] for name in named_groups], named_groups),
            topics=named_topics,
            group=ints([named_groups.index(group) for group, _, _ in rows]),
            topic=ints([named_topics.index(topic) for _, topic, _ in rows]),
            partition=np.array([number for _, _, number in rows], np.int32),
            recreated=ints([0]) if tick == 23 else None,
            **_commits([readers[row] for row in rows]),
            ends=_ends(partitions, named_topics, columns),
        )
        yield dataclasses.replace(inputs, **_optional(inputs, [readers[row] for row in rows], columns, draw))


OPTIONAL = ("stable", "epoch", "tails", "ids", "owner", "subscribed", "expiry", "retention", "hidden", "reach", "back")


def _groups(states: list[RandomGroup], names: list[str]) -> GroupInputs:
    columns = ("stage", "since", "members", "rebalances", "emptied", "refilled", "static", "share")
    return group_inputs(names, **{name: [getattr(state, name) for state in states] for name in columns})


def _commits(readers: list[RandomReader]) -> dict[str, object]:
    rows = [[ints([commit[at] for commit in reader.commits]) for at in (0, 1)] for reader in readers]
    spans, slots = commit_columns(rows)
    return {"spans": spans, "slots": slots}


def _ends(
    partitions: dict[tuple[str, int], RandomPartition], topics: list[str], columns: frozenset[str]
) -> PartitionEnds:
    named = sorted((topics.index(topic), at, part) for (topic, at), part in partitions.items() if topic in topics)
    parts = [part for _, _, part in named]
    known = np.array([part.known for part in parts], np.bool_)

    def column(values: list[int]) -> np.ndarray:
        return np.where(known, ints(values), -1)

    return PartitionEnds(
        place=ints([(topic << 32) | at for topic, at, _ in named]),
        high_watermark=column([int(part.end) for part in parts]),
        log_start=column([part.log_start for part in parts]),
        known=known,
        last_stable=column([part.last_stable for part in parts]) if "stable" in columns else None,
        leader_epoch=np.array([part.epoch for part in parts], np.int32) if "epoch" in columns else None,
    )


def _optional(
    inputs: HealthInputs, readers: list[RandomReader], columns: frozenset[str], draw: random.Random
) -> dict[str, object]:
    rows, now = len(inputs), inputs.now
    made: dict[str, object] = {
        "subscribed": np.array([reader.subscribed for reader in readers], np.int8),
        "owner": ints([reader.owner for reader in readers]),
        "expiry": ints([reader.expiry for reader in readers]),
        "retention": ints([reader.retention for reader in readers]),
        "hidden": np.array([draw.random() < 0.1 for _ in range(rows)], np.bool_),
        "read_until": ints([now - draw.choice([0, 0, 5_000, 60_000]) for _ in range(rows)]),
        "answered_since": ints([draw.choice([-1, -1, now - 20_000]) for _ in range(rows)]),
        "tails": _tails(inputs.ends, draw),
        "origins": _origins(readers),
    }
    names = {"read_until": "reach", "answered_since": "back", "origins": "ids"}
    gapless = np.array([reader.kind != "batch" for reader in readers], np.bool_)
    return {"gapless": gapless} | {name: column for name, column in made.items() if names.get(name, name) in columns}


def _tails(ends: PartitionEnds, draw: random.Random) -> LogTails:
    kind = [draw.choice(["read", "read", "unreadable", "unknown"]) if known else "unknown" for known in ends.known]
    read, unreadable = ([at for at, each in enumerate(kind) if each == name] for name in ("read", "unreadable"))
    end = np.maximum(ends.high_watermark[read] - ints([draw.choice([0, 0, 0, 5]) for _ in read]), 0)
    data_from = np.maximum(end - ints([draw.choice([1, 2, 500]) for _ in read]), 0)
    data_end = np.maximum(end - ints([draw.choice([0, 1, 2]) for _ in read]), data_from)
    reasons = np.array(["not_authorized"] * len(unreadable), object)
    return LogTails(ends.place[read], end, data_from, data_end, ends.place[unreadable], reasons)


def _origins(readers: list[RandomReader]) -> CommitOrigins:
    ids = [reader.topic_id if reader.commits else 0 for reader in readers]
    return CommitOrigins(
        leader_epoch=np.array([reader.epoch if reader.commits else -1 for reader in readers], np.int32),
        topic_id=np.array([[number, number] for number in ids], np.uint64).reshape(-1, 2),
        current_topic_id=np.ones((len(readers), 2), np.uint64),
    )
