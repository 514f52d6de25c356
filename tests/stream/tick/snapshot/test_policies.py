"""Owners, maintenance windows and silences in the snapshot."""

import datetime as dt
from typing import Any

from exporters.http.openapi.small_world import NOON
from exporters.readmodel import GROUPS
from stream.config.ownership import GroupPolicies, Silence, SingleWindow
from stream.tick.snapshot.additions import with_policies
from tests.exporters.snapshots import COMMON_CAUSE, snapshot

NOW = NOON / 1000
PAYMENTS = {"team": "payments", "tier": "1", "link": None, "max_severity": "warning"}
OTHERS = {"team": "platform", "tier": None, "link": "https://wiki.example.com", "max_severity": None}


def policies_of(policies: GroupPolicies, *names: str) -> dict[str, dict[str, Any]]:
    """Return the columns that the policies fill, by group."""
    made = with_policies(snapshot(groups=[{"group": name} for name in names]), policies)
    assert made.groups.schema == GROUPS
    columns = ["team", "tier", "link", "max_severity", "maintenance_until", "silence_reason", "silence_until"]
    return {row.pop("group"): row for row in made.groups.select(["group", *columns]).to_pylist()}


def test_the_first_owner_that_matches_applies() -> None:
    """A pattern matches the whole name; a group that none matches has no owner."""
    owners = GroupPolicies(owners=(("billing-.*", PAYMENTS), ("b.*", OTHERS)))
    found = policies_of(owners, "billing-eu", "billing", "a-billing-eu")
    nothing_muted = {"maintenance_until": None, "silence_reason": None, "silence_until": None}
    assert found["billing-eu"] == {**PAYMENTS, **nothing_muted}
    assert found["billing"] == {**OTHERS, **nothing_muted}
    assert set(found["a-billing-eu"].values()) == {None}


def test_every_window_applies_and_the_last_end_counts() -> None:
    """Unlike owners, windows of several patterns add up; closed windows have no effect."""
    windows = (
        ("a.*", SingleWindow(NOW - 10, NOW + 60)),
        (".*", SingleWindow(NOW - 10, NOW + 30)),
        ("ab", SingleWindow(NOW - 10, NOW + 90)),
        ("c", SingleWindow(NOW + 1, NOW + 900)),
        ("c", SingleWindow(NOW - 900, NOW)),
    )
    found = policies_of(GroupPolicies(maintenance=windows), "a", "ab", "c")
    ends = {group: row["maintenance_until"].replace(tzinfo=dt.UTC).timestamp() - NOW for group, row in found.items()}
    assert ends == {"a": 60, "ab": 90, "c": 30}


def test_the_first_silence_that_holds_applies() -> None:
    """The group has the reason of the silence, and its end if it has one; a silence that has ended does not apply."""
    silences = (
        ("a.*", Silence("over", NOW)),
        ("ab", Silence("move to the new cluster", NOW + 60)),
        ("a.*", Silence("retired")),
    )
    found = policies_of(GroupPolicies(silences=silences), "a", "ab", "b")
    assert [row["silence_reason"] for row in found.values()] == ["retired", "move to the new cluster", None]
    end = found["ab"]["silence_until"]
    assert end.replace(tzinfo=dt.UTC).timestamp() == NOW + 60
    assert (found["a"]["silence_until"], found["b"]["silence_until"]) == (None, None)


def test_a_common_cause_has_the_number_of_its_groups_that_raise_no_alert() -> None:
    """Groups in maintenance, silenced groups and groups whose faults are not paged count once each; others do not."""
    groups: list[dict[str, Any]] = [
        {"group": "both", "not_alerted": True},
        {"group": "old", "not_alerted": True},
        {"group": "other", "not_alerted": True},
        {"group": "paged", "not_alerted": False},
        {"group": "retired", "not_alerted": False},
        {"group": "window"},
    ]
    cause = {**COMMON_CAUSE, "groups": ["both", "old", "paged", "retired", "window"], "muted": None}
    windows = GroupPolicies(
        maintenance=(("both|window", SingleWindow(NOW - 10, NOW + 60)),), silences=(("retired", Silence("retired")),)
    )
    world = snapshot(groups=groups, common_causes=[cause])
    assert with_policies(world, windows).common_causes["muted"].to_pylist() == [4]
    assert with_policies(world, GroupPolicies()).common_causes["muted"].to_pylist() == [2]
