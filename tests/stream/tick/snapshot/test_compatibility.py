"""The table for the other exporters' names: owners, Burrow's statuses and partition counts, row by row."""

import dataclasses
from typing import Any

from exporters.compatibility.burrow_responses import SLOTS
from stream.health.burrow import INTERVALS
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.snapshot.additions import compatibility_table
from stream.tick.snapshot.build import build_evaluated
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.groups import written
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value

NOW = 1_700_000_000
EARLIER = NOW - 120


def rows(*, with_burrow: bool = True, hide_members: bool = False, with_windows: bool = False) -> list[dict[str, Any]]:
    """Return the table of a group that owns t-0 and t-1, subscribes to t, and has committed to t-0 and twice to u-0."""
    shard = ShardReader()
    member = written.classic_member("m", wants=written.subscription("t"), has=written.assignment({"t": (0, 1)}))
    commits = [(commit_key("g", topic, 0), commit_value(3, NOW * 1000)) for topic in ("t", "u")]
    shard.read([(commit_key("g", "u", 0), commit_value(2, EARLIER * 1000))], EARLIER * 1000)
    shard.read([written.classic(member), *commits], NOW * 1000)
    state = shard.driver_state.columns()
    ends = ends_of([("t", at, 9, 9, 0, None) for at in range(3)] + [("u", 0, 3, 3, 0, None)])
    cluster = dataclasses.replace(UNKNOWN_CLUSTER, partition_counts={"t": 3})
    evaluated = VerdictEvaluator(with_burrow=with_burrow).evaluate(derived(state, ends, NOW + 1, cluster))
    table = compatibility_table(evaluated, hide_members=hide_members, with_windows=with_windows)
    shown = build_evaluated(evaluated).partitions
    assert [table.column(name).to_pylist() for name in ("group", "topic", "partition")] == [
        shown.column(name).to_pylist() for name in ("group", "topic", "partition")
    ]
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_each_row_has_owner_status_and_partition_count() -> None:
    """A partition without an owner, a commit or a known topic has null."""
    found = {f"{row['topic']}-{row['partition']}": row for row in rows()}
    assert {place: row["owner"] for place, row in found.items()} == {"t-0": 0, "t-1": 0, "t-2": None, "u-0": None}
    assert [found["t-0"][name] for name in ("member_id", "client_id")] == ["m", "client-m"]
    assert found["t-0"]["client_host"]
    assert found["t-2"]["client_host"] is None
    assert {place: row["burrow_status"] for place, row in found.items()} == {
        "t-0": "STOP",
        "t-1": None,
        "t-2": None,
        "u-0": "OK",
    }
    assert {place: row["burrow_complete"] for place, row in found.items()} == {
        "t-0": False,
        "t-1": None,
        "t-2": None,
        "u-0": False,
    }
    assert {place: row["topic_partitions"] for place, row in found.items()} == {
        "t-0": 3,
        "t-1": 3,
        "t-2": 3,
        "u-0": None,
    }


def test_hidden_members_have_a_number_and_no_name() -> None:
    """With `http.hide_members`, no column names the owner; the number of the owner stays."""
    first = rows(hide_members=True)[0]
    assert first["owner"] == 0
    assert {first[name] for name in ("member_id", "client_id", "client_host")} == {None}


def test_the_commits_of_burrows_windows_are_added_on_request() -> None:
    """Without the request, there are no windows; a partition without a commit has an empty window.

    The newest commit of a window is last. The windows are as long as the windows of the responses.
    """
    assert {row["burrow_window"] for row in rows()} == {None}
    found = {f"{row['topic']}-{row['partition']}": row["burrow_window"] for row in rows(with_windows=True)}
    assert found == {
        "t-0": [{"offset": 3, "timestamp": NOW * 1000, "lag": 6}],
        "t-1": [],
        "t-2": [],
        "u-0": [
            {"offset": 2, "timestamp": EARLIER * 1000, "lag": None},
            {"offset": 3, "timestamp": NOW * 1000, "lag": 0},
        ],
    }
    assert SLOTS == INTERVALS
