"""The broker's values of every group, and their differences from the monitor's answers.

The broker's values come from the Admin API of librdkafka, which shares no code with the monitor. `tool_differences`
uses Kafka's own command-line tool as well; a call is one JVM, so it is made once per test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Final

from confluent_kafka import ConsumerGroupState, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from sandbox.kafka import tools
from tests.integration.traffic import committed_at_broker, offsets_ends, tool_offsets_and_lags
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, wait_until
from tests.support.scrape import Place

_RESTING: Final = {ConsumerGroupState.STABLE: "Stable", ConsumerGroupState.EMPTY: "Empty"}
"""The states of a group that does not rebalance, as Kafka's tools print them."""

_ROUNDS: Final = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """All compared values: offsets and lags per partition, state and number of members per group."""

    committed: Mapping[Place, int]
    lags: Mapping[Place, int]
    groups: Mapping[str, tuple[str | None, int | None]]

    @property
    def count(self) -> int:
        """Return the number of values; the existence of a group is one, its state and its members are two more."""
        return len(self.committed) + len(self.lags) + 3 * len(self.groups)

    def differences(self, other: Values) -> list[str]:
        """Return one line for each value that is not the same in both."""
        pairs: list[tuple[str, Mapping[object, object], Mapping[object, object]]] = [
            ("committed offset", dict(self.committed), dict(other.committed)),
            ("lag", dict(self.lags), dict(other.lags)),
            ("state and members", dict(self.groups), dict(other.groups)),
        ]
        return [
            f"{what} of {key}: {left.get(key, 'absent')}, not {right.get(key, 'absent')}"
            for what, left, right in pairs
            for key in sorted(left.keys() | right.keys(), key=str)
            if left.get(key, "absent") != right.get(key, "absent")
        ]


def shown_values(monitor: Monitor) -> Values:
    """Return the values in `/metrics` and the API, without dead groups, which are kept for a grace period."""
    metrics = monitor.metrics()
    rows = monitor.get("/api/v1/groups").json["groups"]
    groups = {row["group"]: (row["state"], row["members"]) for row in rows if row["state"] != "Dead"}
    return Values(metrics.committed, metrics.lags, groups)


def broker_values(bootstrap: str) -> Values:
    """Return the broker's values, once no group rebalances. The traffic must be paused."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    groups: dict[str, tuple[str | None, int | None]] = {}

    def all_at_rest() -> bool:
        groups.clear()
        groups.update(_states(admin))
        return all(state is not None for state, _ in groups.values())

    wait_until(all_at_rest, "all groups to be Stable or Empty", limit=90)
    committed = committed_at_broker(bootstrap, groups)
    starts = _offsets(admin, committed, OffsetSpec.earliest())
    ends = _offsets(admin, committed, OffsetSpec.latest())
    lags = {}
    for (group, topic, partition), offset in committed.items():
        place = (topic, partition)
        lags[group, topic, partition] = max(0, ends[place] - max(offset, starts[place]))
    return Values(committed, lags, groups)


def _states(admin: AdminClient) -> dict[str, tuple[str | None, int]]:
    """Return the state (None: not at rest) and the number of members of each group."""
    names = [group.group_id for group in admin.list_consumer_groups(request_timeout=LIMIT).result(LIMIT).valid]
    if not names:
        return {}
    answers = admin.describe_consumer_groups(names, request_timeout=LIMIT)
    descriptions = {name: answer.result(LIMIT) for name, answer in answers.items()}
    return {name: (_RESTING.get(group.state), len(group.members)) for name, group in descriptions.items()}


def _offsets(admin: AdminClient, committed: Collection[Place], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    """Return the first or the last offset of all partitions with a committed offset."""
    requested = {(topic, partition) for _, topic, partition in committed}
    if not requested:
        return {}
    answers = admin.list_offsets(
        {TopicPartition(topic, partition): spec for topic, partition in requested},
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=LIMIT,
    )
    return {(place.topic, place.partition): answer.result(LIMIT).offset for place, answer in answers.items()}


def compare(monitor: Monitor, bootstrap: str) -> int:
    """Assert that every value the monitor shows is the broker's, and return how many values were compared.

    The traffic must be paused. Sessions of dead members still end then, so the broker is read before and after the
    monitor, and both again while their answers differ.
    """
    before = broker_values(bootstrap)
    for _ in range(_ROUNDS):
        monitor.wait_read(offsets_ends(bootstrap))
        found = shown_values(monitor)
        wanted = broker_values(bootstrap)
        if wanted == before:
            break
        before = wanted
    else:
        raise AssertionError(f"the broker's values did not settle in {_ROUNDS} rounds")
    wrong = found.differences(wanted)
    assert not wrong, f"{len(wrong)} of {wanted.count} values differ from the broker's:\n" + "\n".join(wrong)
    return wanted.count


def tool_differences(monitor: Monitor, bootstrap: str) -> list[str]:
    """Return the differences of the monitor from `kafka-consumer-groups`; the traffic must be paused."""
    committed, lags = tool_offsets_and_lags(bootstrap)
    groups: dict[str, tuple[str | None, int | None]] = {
        row.group: (row.state, row.members) for row in tools.describe_state(bootstrap)
    }
    return shown_values(monitor).differences(Values(committed, lags, groups))
