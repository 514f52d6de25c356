"""Parsing the output of Kafka's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from sandbox.kafka import tools
from sandbox.kafka.jars import BROKER
from sandbox.kafka.topics import create_topics
from sandbox.waiting import eventually

if TYPE_CHECKING:
    from sandbox.kafka.broker import Broker

OFFSETS_OF_TWO_GROUPS = """
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                            HOST            CLIENT-ID
member one      t               0          10              10              0               i 1-211bcae8-0206-4217-8bab-c9070c49   /127.0.0.1      my client
member one      t               1          -               10              -               i 1-211bcae8-0206-4217-8bab-c9070c49   /127.0.0.1      my client

Consumer group 'simple' has no active members.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
simple          t               2          4               -               -               -               -               -
"""  # noqa: E501 - as the tool prints it
STATES = """
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
k848            127.0.0.1:57273  (1)      uniform              Stable               1
"""
DELETED = """Request succeeded for deleting offsets from group simple.

TOPIC           PARTITION  STATUS         
t               0          Successful     
"""  # noqa: W291 - as the tool prints it


def test_offsets_tables_are_parsed_by_their_own_columns() -> None:
    """Names may have spaces, tables may differ in width, and a dash is None."""
    rows = tools.table_rows(OFFSETS_OF_TWO_GROUPS)
    assert [(row["GROUP"], row["PARTITION"], row["CURRENT-OFFSET"], row["LAG"]) for row in rows] == [
        ("member one", "0", "10", "0"),
        ("member one", "1", None, None),
        ("simple", "2", "4", None),
    ]
    assert [(row["CONSUMER-ID"], row["CLIENT-ID"]) for row in rows] == [
        ("i 1-211bcae8-0206-4217-8bab-c9070c49", "my client"),
        ("i 1-211bcae8-0206-4217-8bab-c9070c49", "my client"),
        (None, None),
    ]


def test_header_with_a_space_is_one_column() -> None:
    """COORDINATOR (ID) is a single field."""
    assert tools.table_rows(STATES) == [
        {
            "GROUP": "k848",
            "COORDINATOR (ID)": "127.0.0.1:57273  (1)",
            "ASSIGNMENT-STRATEGY": "uniform",
            "STATE": "Stable",
            "#MEMBERS": "1",
        }
    ]


def test_lines_outside_tables_are_skipped() -> None:
    """A sentence before a table is not a row."""
    assert tools.table_rows(DELETED) == [{"TOPIC": "t", "PARTITION": "0", "STATUS": "Successful"}]


def test_group_removed_between_listing_and_description_is_described_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool fails for all groups when one of them was removed after its listing; other failures are not repeated."""
    answers: list[Exception | str] = [tools.GroupRemovedError("old-9"), tools.GroupRemovedError("old-8"), STATES]
    _answer_in_order(monkeypatch, answers)
    assert [row.group for row in tools.describe_state("broker:9092")] == ["k848"]
    assert answers == []

    answers[:] = [tools.ToolError("no broker"), STATES]
    with pytest.raises(tools.ToolError, match="no broker"):
        tools.describe_state("broker:9092")
    answers[:] = [tools.GroupRemovedError("old-9")] * tools.LISTING_ATTEMPTS
    with pytest.raises(tools.GroupRemovedError):
        tools.describe_groups("broker:9092")


def _answer_in_order(monkeypatch: pytest.MonkeyPatch, answers: list[Exception | str]) -> None:
    """Replace the official tool by `answers`; each call takes the first one."""

    def answer(*_arguments: str, version: str) -> str:
        assert version == BROKER
        first = answers.pop(0)
        if isinstance(first, Exception):
            raise first
        return first

    monkeypatch.setattr(tools, "run_tool", answer)


@pytest.mark.kafka
def test_missing_group_is_its_own_error(broker: Broker) -> None:
    """The description of a missing group raises GroupRemovedError."""
    with pytest.raises(tools.GroupRemovedError):
        tools.consumer_groups(broker.bootstrap, "--describe", "--group", "no such group", "--state")


@pytest.mark.kafka
def test_tools_describe_and_change_a_simple_group(broker: Broker) -> None:
    """A group of offsets without members is Empty; its offsets and then the group can be deleted."""
    topic, group = "tools-topic", "tools group"
    create_topics(broker.bootstrap, {topic: 2})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(14):
        producer.produce(topic, str(number), partition=number % 2)
    producer.flush()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    committed = [TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 7)]
    eventually(lambda: consumer.commit(offsets=committed, asynchronous=False))
    consumer.close()

    described = [row for row in tools.describe_groups(broker.bootstrap) if row.group == group]
    assert [(row.topic, row.partition, row.current_offset, row.log_end_offset, row.lag) for row in described] == [
        (topic, 0, 3, 7, 4),
        (topic, 1, 7, 7, 0),
    ]
    states = {row.group: row for row in tools.describe_state(broker.bootstrap)}
    assert (states[group].state, states[group].members) == ("Empty", 0)

    tools.delete_offsets(broker.bootstrap, group, topic, 0)
    described = [row for row in tools.describe_groups(broker.bootstrap) if row.group == group]
    assert [row.partition for row in described] == [1]
    tools.delete_group(broker.bootstrap, group)
    assert group not in {row.group for row in tools.describe_state(broker.bootstrap)}


@pytest.mark.kafka
def test_error_with_exit_code_zero_is_an_error(broker: Broker) -> None:
    """The tool reports a missing group on standard output with exit code 0; `consumer_groups` raises ToolError."""
    with pytest.raises(tools.ToolError, match="GroupIdNotFoundException"):
        tools.consumer_groups(broker.bootstrap, "--describe", "--group", "missing")
    with pytest.raises(tools.ToolError, match="GroupIdNotFoundException"):
        tools.delete_group(broker.bootstrap, "missing")
