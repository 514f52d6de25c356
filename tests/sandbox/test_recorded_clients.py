"""Captures of real clients of other libraries, and the page that is made of them."""

from pathlib import Path

import pytest

from sandbox.recorded_clients.clients import CLIENTS, Client
from sandbox.recorded_clients.observed import ClientCapture
from sandbox.recorded_clients.page import page
from stream.cli.capture_groups import CaptureGroups
from stream.offline.rows import RowList

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_records_of_a_client_lead_to_its_group(client: Client) -> None:
    """Each record is decoded; the group has one member, then two, loses one with a kill, and is empty at the end."""
    capture = ClientCapture.read(client.name)
    groups = [capture.group_after(phase) for phase in ("alone", "at rest", "two members", "killed", "back")]
    members = [("Stable", members) for members in (1, 1, 2, 1, 2)] if client.members else [None] * 5
    assert [group and (group.state, group.members) for group in groups] == members
    hosts = {each.client_host for group in groups if group for each in group.clients}
    assert hosts == ({"/127.0.0.1"} if client.members else set())
    last = capture.group_after("session over")
    assert last is None or (last.state, last.members) == ("Empty", 0)
    assert bytes(16) not in {commit["topic_id"] for commit in capture.commits}


def test_partitions_without_a_commit_are_assigned() -> None:
    """kafka-go commits no empty partition; its members own all four all the same."""
    capture = ClientCapture.read("kafka-go")
    rows = [row for row in capture.rows if (row.timestamp or 0) <= capture.ended["two members"]]
    group = CaptureGroups(RowList(rows)).group("kafka-go")
    assert group
    (topic,) = group["by_topic"]
    assert (topic["partitions"], topic["members"], topic["partitions_assigned"]) == (2, 2, 4)


def test_the_page_is_that_of_the_captures() -> None:
    """Write the page again with `python -m sandbox.recorded_clients.page`."""
    assert page() == PAGE.read_text()
