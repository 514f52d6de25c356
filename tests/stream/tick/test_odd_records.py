"""The driver on odd records: no tick, no HTTP answer and no command fails, whatever clients wrote to the log."""

import asyncio
import dataclasses
import json
import random
import urllib.parse
from collections.abc import Sequence
from typing import Any, cast

import httpx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.http.api_endpoints import ServedData
from exporters.http.routes import build_app
from exporters.selection.series import SeriesSelection, SeriesSelector
from stream.cli.capture_groups import CaptureGroups
from stream.cli.render.explanation import explain
from stream.cli.render.group_tables import groups_table, members_table, offsets_table, state_table, transitions_table
from stream.cli.render.replay import events_table, replay_json, replay_table
from stream.cli.render.tables import plain_lines
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.offline.rows import LogRow, RowList
from stream.offline.timeline import timeline
from stream.service.catch_up import CatchUpProgress
from stream.service.status import RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick import run_tick
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext
from stream.tick.context_poller import ContextPoller
from stream.tick.publisher import Publisher
from stream.tick.run_tick import TickParts
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.tick.odd_records import GROUPS, OFFSETS, TOPICS, some_records
from tests.support.driver_states import ShardReader, delta_of, ends_of
from tests.support.hypothesis_profiles import examples

CLUSTER = cast("Cluster", object())
ALWAYS = ("livez", "readyz", "metrics", "api/v1/groups", "", "?state=Dead", "?group=g&sort=lag&page=2")
NOW = 1_790_000_000.0


class RandomPoller:
    """A poller with random answers: existing, absent and unknown topics."""

    def __init__(self, chance: random.Random) -> None:
        counts = {topic: chance.choice((*(0, 1, 3, 3_000) * 5, 100_000)) for topic in TOPICS if chance.random() < 0.7}
        kept = chance.choice((None, 0, 604_800_000, 2**63 - 1))
        self._context = dataclasses.replace(
            UNKNOWN_CLUSTER,
            retention=OffsetsRetention(kept, chance.choice((None, 600_000)), "broker"),
            partition_counts=counts,
            topic_names={bytes(16): "t"},
            described_states={group: "PreparingRebalance" for group in GROUPS if chance.random() < 0.1},
        )

    def poll(self, _state: GroupColumns, _topics: set[str], _now: float) -> ClusterContext:
        return self._context


def some_ends(chance: random.Random) -> pa.Table:
    """Return ends of some partitions, a few of them without an answer."""
    rows: list[Any] = [(NAME, 0, 100, 90, 0, None)]
    for topic in TOPICS[:5]:
        for partition in (0, 1, 2, 65_536, 2**31 - 1):
            if topic == NAME or chance.random() < 0.4:
                continue
            if chance.random() < 0.1:
                rows.append((topic, partition, None, None, None, "no_leader"))
            else:
                high = abs(chance.choice(OFFSETS[:-1]))
                rows.append((topic, partition, high, high, min(high, chance.choice((0, 5, high))), None))
    return ends_of(rows)


def publisher_after(chance: random.Random, ticks: int) -> tuple[Publisher, ServiceStatus]:
    """Return a publisher after some batches with a tick after each; fails if an internal error was counted."""
    status = ServiceStatus("1", 60)
    status.phase, status.cluster_id = RUNNING, "c"
    status.progress = CatchUpProgress({0: 80}, {0: 90})
    selector = SeriesSelector(SeriesSelection(budget=chance.choice((None, 20, 1_000))))
    evaluator = VerdictEvaluator(with_burrow=chance.random() < 0.3)
    publisher = Publisher(parts=TickParts(evaluator=evaluator, selector=selector))
    poller = cast("ContextPoller", RandomPoller(chance))
    ticker = Ticker(publisher, status, CLUSTER, poller, tick_interval=10, trigger_interval=1)
    shard, position = ShardReader(), 0
    for _ in range(ticks):
        records = some_records(chance)
        publisher.apply([(0, shard.apply(delta_of(records, position)))], catching_up=False)
        position += len(records)
        assert ticker.tick(current=chance.random() < 0.8) is not None
    shown = status.monitor_status()
    assert shown.tick.groups_not_evaluated == 0
    assert {row["errors"] for row in shown.internal_errors.to_pylist()} == {0}
    return publisher, status


async def request_everything(publisher: Publisher, status: ServiceStatus) -> None:
    """Request every URL for every group; no answer may be 500."""
    app = build_app(
        ServedData(publisher.current, status.monitor_status, details=publisher.details, on_failure=status.answer_failed)
    )
    published = publisher.current()
    assert published is not None
    named = [urllib.parse.quote(group, safe="") for group in published.snapshot.groups.column("group").to_pylist()]
    every = [*ALWAYS, *(f"api/v1/group?name={name}" for name in named), *(f"group?name={name}" for name in named)]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lagwarden") as client:
        for path in every:
            answer = await client.get(f"/{path}")
            assert answer.status_code == 200, (path, answer.text[:200])


def render_everything(rows: Sequence[LogRow]) -> None:
    """Render all that the commands print of a capture with these rows."""
    captured = CaptureGroups(RowList(rows), OffsetsRetention(604_800_000, None, "configuration"))
    groups = captured.groups()["groups"]
    tables = [groups_table(groups, NOW)]
    for name in (group["group"] for group in groups):
        found = captured.group(name)
        assert found is not None
        tables += [offsets_table(found, NOW), members_table(found, verbose=True), state_table(found, NOW)]
        tables += [transitions_table(found["transitions"])]
        assert explain(found, NOW, everything=True)
        tables += [events_table(timeline(rows, name))]
    answer = captured.groups()
    tables += [replay_table(answer["groups"], NOW, captured)]
    assert len(json.loads("".join(replay_json(answer, captured)))["groups"]) == len(groups)
    assert all(line.isprintable() for each in tables for line in plain_lines(each))


def check(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # makes records, keeps no secret
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_tick, "read_ends", lambda _cluster, _topics: some_ends(chance))
        publisher, status = publisher_after(chance, ticks=3)
    asyncio.run(request_everything(publisher, status))
    records = enumerate(some_records(chance, most=30))
    render_everything([LogRow(NAME, 0, at, time, key, value) for at, (time, key, value) in records])


@given(st.integers(0, 2**32))
@examples(10)
def test_no_tick_no_answer_and_no_command_fails_on_odd_records(seed: int) -> None:
    """Ticks publish all groups, every URL answers, and every table is rendered."""
    check(seed)


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(4))
@given(seed=st.integers(0, 2**32))
@examples(2)
def test_nothing_fails_on_very_many_odd_records(part: int, seed: int) -> None:
    """Many other seeds pass the same checks in the long profile, in parts that can run at the same time."""
    check(seed + ((part + 1) << 33))
