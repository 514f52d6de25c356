"""The options `groups.owners`, `groups.maintenance` and `groups.silences`: sources, validation and policies."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest
import yaml

from stream.config.group_policies import policies_from_options
from stream.config.loader import ConfigRefusal, load
from stream.config.maintenance import Silence, SingleWindow, WeeklyWindow
from stream.config.ownership import GroupPolicies

if TYPE_CHECKING:
    from pathlib import Path

BROKER = {"kafka.bootstrap_servers": "broker-1:9092"}
FILE = """\
kafka: {bootstrap_servers: [broker-1:9092]}
groups:
  owners:
    - {groups: "billing-.*", team: payments, tier: 1, link: "https://wiki.example.com/payments"}
    - {groups: ".*", team: platform, max_severity: warning}
  maintenance:
    - {groups: "etl-.*", from: 2026-11-24T22:00:00Z, to: "2026-11-25T01:00:00+01:00"}
    - {groups: ".*", days: [sat, sun], at: 22:30, for: 90m, timezone: Europe/Berlin}
    - {groups: "nightly", at: "01:05", for: 600}
  silences:
    - {groups: "legacy-.*", reason: "retired, owner informed"}
    - {groups: "etl-eu", reason: "new cluster", until: 2026-11-24T22:00:00Z}
"""
POLICIES = GroupPolicies(
    owners=(
        (
            "billing-.*",
            {"team": "payments", "tier": "1", "link": "https://wiki.example.com/payments", "max_severity": None},
        ),
        (".*", {"team": "platform", "tier": None, "link": None, "max_severity": "warning"}),
    ),
    maintenance=(
        ("etl-.*", SingleWindow(1_795_557_600.0, 1_795_564_800.0)),
        (".*", WeeklyWindow(frozenset({5, 6}), dt.time(22, 30), 5400.0, "Europe/Berlin")),
        ("nightly", WeeklyWindow(frozenset(range(7)), dt.time(1, 5), 600.0, "UTC")),
    ),
    silences=(
        ("legacy-.*", Silence("retired, owner informed")),
        ("etl-eu", Silence("new cluster", 1_795_557_600.0)),
    ),
)


def test_a_file_has_the_lists(tmp_path: Path) -> None:
    """Times may be quoted or not: YAML reads an unquoted 22:30 as a number, and a date as a date."""
    file = tmp_path / "lagwarden.yaml"
    file.write_text(FILE)
    assert policies_from_options(load(file).groups) == POLICIES


def test_a_variable_has_a_list_as_yaml_or_json() -> None:
    """The text of a variable or a flag is read as the file is."""
    groups = yaml.safe_load(FILE)["groups"]
    environment = {"LAGWARDEN_GROUPS_OWNERS": yaml.safe_dump(groups["owners"], default_flow_style=True)}
    lists = {f"groups.{name}": yaml.safe_dump(groups[name]) for name in ("maintenance", "silences")}
    flags = {**BROKER, **lists}
    assert policies_from_options(load(environment=environment, flags=flags).groups) == POLICIES


def test_the_printed_configuration_can_be_loaded_again(tmp_path: Path) -> None:
    """The lists that `lagwarden check-config` prints are valid values of the options."""
    file = tmp_path / "lagwarden.yaml"
    file.write_text(FILE)
    shown = load(file).masked()["groups"]
    again = load(flags=BROKER | {f"groups.{name}": shown[name] for name in ("owners", "maintenance", "silences")})
    assert policies_from_options(again.groups) == POLICIES


def test_there_are_no_policies_by_default() -> None:
    """No group has an owner, a window or a silence without the options; an empty variable is an empty list."""
    assert policies_from_options(load(flags=BROKER).groups) == GroupPolicies()
    assert policies_from_options(load(flags={**BROKER, "groups.owners": ""}).groups) == GroupPolicies()


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        pytest.param(
            "owners",
            "[{groups: a}]",
            "the owner of 'a' needs team, tier, link or max_severity",
            id="owner without a label",
        ),
        pytest.param("owners", "[{team: a}]", "entry 1, groups: is required", id="no pattern"),
        pytest.param("owners", "[{groups: 'a(', team: b}]", "is not a regular expression", id="invalid pattern"),
        pytest.param("owners", "[{groups: a, teem: b, team: b}]", "entry 1, teem: no such field", id="misspelt label"),
        pytest.param("owners", '[{groups: a, team: "b\\n"}]', "must be printable text", id="line feed in a label"),
        pytest.param("owners", "[{groups: a, team: ''}]", "must be printable text of 1", id="empty label"),
        pytest.param("owners", "[{groups: a, tier: true}]", "entry 1, tier: must be", id="true as a label"),
        pytest.param("owners", "[{groups: a, link: 'javascript:alert(1)'}]", "must be a URL", id="link that is no URL"),
        pytest.param("owners", "a: {", "must be a list of mappings", id="no YAML"),
        pytest.param("silences", "[{groups: a}]", "entry 1, reason: is required", id="silence without a reason"),
        pytest.param("silences", "[{groups: a, reason: ' '}]", "must be printable text of 1", id="empty reason"),
        pytest.param(
            "silences",
            "[{groups: a, reason: b, until: 2026-01-01T00:00:00}]",
            "entry 1, until: must have timezone info",
            id="an end without an offset",
        ),
        pytest.param("maintenance", "[{groups: a, at: '5:00'}]", "needs `from` and `to`, or", id="no length"),
        pytest.param("maintenance", "[{groups: a, from: 2026-01-01T00:00:00Z}]", "needs `from` and `to`", id="no end"),
        pytest.param(
            "maintenance",
            "[{groups: a, from: 2026-01-01T00:00:00Z, to: 2026-01-02T00:00:00Z, at: '5:00'}]",
            "needs `from` and `to`, or",
            id="two kinds at once",
        ),
        pytest.param(
            "maintenance",
            "[{groups: a, from: 2026-01-02T00:00:00Z, to: 2026-01-02T00:00:00Z}]",
            "must end after it begins",
            id="an empty window",
        ),
        pytest.param(
            "maintenance",
            "[{groups: a, from: 2026-01-01T00:00:00, to: 2026-01-02T00:00:00Z}]",
            "entry 1, from: must have timezone info",
            id="a time without an offset",
        ),
        pytest.param("maintenance", "[{groups: a, at: '24:00', for: 1h}]", "must be a time of day", id="no such time"),
        pytest.param(
            "maintenance", "[{groups: a, at: 22:30:10, for: 1h}]", "must be a time of day", id="time with seconds"
        ),
        pytest.param("maintenance", "[{groups: a, at: '5:00', for: 8d}]", "entry 1, for: must be less", id="too long"),
        pytest.param(
            "maintenance", "[{groups: a, at: '5:00', for: 0}]", "entry 1, for: must be greater", id="zero length"
        ),
        pytest.param(
            "maintenance",
            "[{groups: a, at: '5:00', for: 1h, timezone: Mars/Base}]",
            "'Mars/Base' is not the name of a time zone",
            id="no such zone",
        ),
        pytest.param(
            "maintenance",
            "[{groups: a, at: '5:00', for: 1h, timezone: ../secret}]",
            "is not the name of a time zone",
            id="path instead of a zone",
        ),
        pytest.param(
            "maintenance", "[{groups: a, at: '5:00', for: 1h, days: []}]", "must name at least one day", id="no day"
        ),
        pytest.param(
            "maintenance", "[{groups: a, at: '5:00', for: 1h, days: [so]}]", "must be 'mon', 'tue'", id="no such day"
        ),
    ],
)
def test_invalid_entries_are_rejected(option: str, value: str, problem: str) -> None:
    """The error names the option, the entry and the field, and what is valid."""
    with pytest.raises(ConfigRefusal) as refused:
        load(flags={**BROKER, f"groups.{option}": value})
    (fault,) = refused.value.faults
    assert fault.key == f"groups.{option}"
    assert problem in fault.problem
