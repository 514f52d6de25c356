"""Evaluated ticks of groups, as the analysis of a tick gets them."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from stream.cluster.offsets_topic import NAME
from stream.groups.membership.model import MemberClient, Membership
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import TickInputs
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from tests.stream.health.panes import Row, judged, pane
from tests.support.driver_states import ends_of

if TYPE_CHECKING:
    from collections.abc import Mapping

COORDINATOR = 2
"""The broker that leads the offsets partition of all groups."""


@dataclasses.dataclass(frozen=True)
class TickGroup:
    """A group of a tick: its topic with the leader, its host, its verdict."""

    topic: str
    leader: int | None
    verdict: str = "ok"
    host: str = "a"
    row: Row = dataclasses.field(default_factory=Row)


def evaluated_tick_of(groups: Mapping[str, TickGroup]) -> EvaluatedTick:
    """Return an evaluated tick of groups, sorted by name, that read one partition each."""
    rows = [dataclasses.replace(each.row, group=name, topic=each.topic) for name, each in sorted(groups.items())]
    window = pane(*rows)
    seen = window.inputs
    window = dataclasses.replace(window, inputs=dataclasses.replace(seen, owner=np.full(len(rows), -1, np.int64)))
    places = np.arange(len(rows))
    ends = ends_of_groups(groups)
    end_row = ends.rows(seen.topics, seen.topic, seen.partition)
    at: Any = InputRows(seen.groups.names, seen.topics, seen.group, seen.topic, seen.partition, places)
    nothing: Any = None
    inputs = TickInputs(at, ends, end_row, nothing, nothing, np.zeros(len(groups), np.int64))
    members = {
        name: Membership("classic", "Stable", 1, clients=(MemberClient(f"m-{name}", "c", f"/{each.host}"),))
        for name, each in groups.items()
    }
    hidden: Any = types.SimpleNamespace(state=types.SimpleNamespace(memberships=members))
    evaluation = judged(window, [each.verdict for _, each in sorted(groups.items())], window.now - 5_000)
    return EvaluatedTick(inputs, hidden, evaluation, np.ones(len(groups), np.bool_))


def ends_of_groups(groups: Mapping[str, TickGroup]) -> EndsIndex:
    """Return the ends of the topics of these groups and of the offsets topic."""
    topics = {each.topic: each.leader for each in groups.values()}
    leaders = {(topic, 0): leader for topic, leader in topics.items() if leader is not None}
    rows = [(topic, 0, 9, 9, 0, None) for topic in (*topics, NAME)]
    return EndsIndex(ends_of(rows, leaders | {(NAME, 0): COORDINATOR}))
