"""Answers of the HTTP API for the tests of `lagwarden top`."""

import json
from typing import Any

from exporters.http.api import groups_json
from exporters.text.exposition import PublishedSnapshot
from stream.cli.group_source import WORST_FIRST
from stream.cli.top.view import GroupListState
from tests.exporters.snapshots import small_snapshot, snapshot


def groups_of(rows: list[dict[str, Any]] | None = None) -> tuple[dict[str, Any], ...]:
    """Return the groups of the small world, or of a world with these rows, as the HTTP API returns them."""
    world = small_snapshot() if rows is None else snapshot(groups=rows)
    return tuple(json.loads(groups_json(PublishedSnapshot.build(world), WORST_FIRST))["groups"])


def healthy_groups(number: int) -> GroupListState:
    """Return a list of healthy groups named g000, g001 and so on."""
    return GroupListState(
        groups_of([{"group": f"g{index:03}", "severity": "fine", "verdict": "ok"} for index in range(number)])
    )
