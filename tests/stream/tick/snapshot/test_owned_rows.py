"""What the tables keep while rows and groups stay the same, for random histories of commits and members."""

import copy
import dataclasses
import random
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from exporters.readmodel import Snapshot
from stream.health.features import window as windows
from stream.health.limits import HealthLimits
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.inputs.builder import InputBuilder
from stream.tick.snapshot import build as module
from tests.stream.groups import written
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

TOPICS = {"t": 3, "u": 2}


def step(shard: ShardReader, dice: random.Random, now: int) -> None:
    """Read nothing, some commits, or another assignment of a group."""
    action, group = dice.choice(("nothing", "commit", "commit", "assign")), dice.choice("abc")
    if action == "commit":
        places = [(topic, partition) for topic, count in TOPICS.items() for partition in range(count)]
        chosen = dice.sample(places, dice.randint(1, 4))
        values = [
            commit_value(dice.randint(0, 9), now * 1000, metadata=dice.choice(("", "AQAAAAAAAAAB"))) for _ in chosen
        ]
        shard.read(
            [(commit_key(group, *place), value) for place, value in zip(chosen, values, strict=True)], now * 1000
        )
    elif action == "assign":
        shares = [{topic: [at] for topic in TOPICS if dice.random() < 0.7} for at in range(dice.randint(0, 2))]
        wants = written.subscription(*TOPICS)
        members = (
            written.classic_member(f"m{at}", wants=wants, has=written.assignment(each))
            for at, each in enumerate(shares)
        )
        protocol = dice.choice(("range", "sticky", "stream"))
        shard.read([written.classic(*members, group=group, protocol=protocol)], now * 1000)


def tables(snapshot: Snapshot) -> dict[str, Any]:
    values = {field.name: getattr(snapshot, field.name) for field in dataclasses.fields(snapshot)}
    return {name: each.to_pylist() if isinstance(each, pa.Table) else each for name, each in values.items()}


@examples(10)
@given(st.randoms(use_true_random=False))
def test_what_is_kept_is_what_a_fresh_start_shows(dice: random.Random) -> None:
    """Law: at each tick, the tables are those of a process that has kept nothing."""
    shard, builder = ShardReader(), InputBuilder()
    found, kept = [], []
    for now in range(1, 7):
        step(shard, dice, now)
        ends = [(topic, at, dice.choice((5, 9)), 5, 0, None) for topic, count in TOPICS.items() for at in range(count)]
        cluster = dataclasses.replace(UNKNOWN_CLUSTER, partition_counts=TOPICS)
        found.append(derived(shard.driver_state.columns(), ends_of(ends), float(now), cluster))
        inputs, health_inputs = builder.build(found[-1])
        window = windows.build_without_history(health_inputs, HealthLimits())
        kept.append(tables(module._build(found[-1], inputs, window)))
    # Copies share no object with what is kept.
    assert kept == [tables(module.build(copy.deepcopy(each))) for each in found]
