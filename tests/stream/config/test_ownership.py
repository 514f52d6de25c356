"""The options `groups.owners`, `groups.maintenance` and `groups.silences`: sources, validation and policies."""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from stream.config.loader import ConfigRefusal, load
from stream.config.ownership import GroupPolicies, Silence, SingleWindow, WeeklyWindow

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
    silences=(("legacy-.*", Silence("retired, owner informed")), ("etl-eu", Silence("new cluster", 1_795_557_600.0))),
)


def test_a_file_has_the_lists(tmp_path: Path) -> None:
    """Times may be quoted or not: YAML reads an unquoted 22:30 as a number, and a date as a date.

    The lists that `lagwarden check-config` prints are valid values of the options.
    """
    file = tmp_path / "lagwarden.yaml"
    file.write_text(FILE)
    config = load(file)
    assert config.groups.policies == POLICIES
    shown = config.masked()["groups"]
    again = load(flags=BROKER | {f"groups.{name}": shown[name] for name in ("owners", "maintenance", "silences")})
    assert again.groups.policies == POLICIES


def test_a_variable_has_a_list_as_yaml_or_json() -> None:
    """The text of a variable or a flag is read as the file is."""
    groups = yaml.safe_load(FILE)["groups"]
    environment = {"LAGWARDEN_GROUPS_OWNERS": yaml.safe_dump(groups["owners"], default_flow_style=True)}
    lists = {f"groups.{name}": yaml.safe_dump(groups[name]) for name in ("maintenance", "silences")}
    flags = {**BROKER, **lists}
    assert load(environment=environment, flags=flags).groups.policies == POLICIES


WINDOW = "[{groups: a, at: '5:00', for: 1h, "
NO_OFFSET = "must have timezone info"
BOTH_KINDS = "needs `from` and `to`, or"
# Per option: its invalid values, each with a part of the error.
INVALID: dict[str, dict[str, str]] = {
    "owners": {
        "[{groups: a}]": "the owner of 'a' needs team, tier, link or max_severity",
        "[{team: a}]": "entry 1, groups: is required",
        "[{groups: 'a(', team: b}]": "is not a regular expression",
        "[{groups: a, teem: b, team: b}]": "entry 1, teem: no such field",
        '[{groups: a, team: "b\\n"}]': "must be printable text",
        "[{groups: a, team: ''}]": "must be printable text of 1",
        "[{groups: a, tier: true}]": "entry 1, tier: must be",
        "[{groups: a, link: 'javascript:alert(1)'}]": "must be a URL",
        "a: {": "must be a list of mappings",
    },
    "silences": {
        "[{groups: a}]": "entry 1, reason: is required",
        "[{groups: a, reason: ' '}]": "must be printable text of 1",
        "[{groups: a, reason: b, until: 2026-01-01T00:00:00}]": f"entry 1, until: {NO_OFFSET}",
    },
    "maintenance": {
        "[{groups: a, at: '5:00'}]": BOTH_KINDS,
        "[{groups: a, from: 2026-01-01T00:00:00Z}]": BOTH_KINDS,
        "[{groups: a, from: 2026-01-01T00:00:00Z, to: 2026-01-02T00:00:00Z, at: '5:00'}]": BOTH_KINDS,
        "[{groups: a, from: 2026-01-02T00:00:00Z, to: 2026-01-02T00:00:00Z}]": "must end after it begins",
        "[{groups: a, from: 2026-01-01T00:00:00, to: 2026-01-02T00:00:00Z}]": f"entry 1, from: {NO_OFFSET}",
        "[{groups: a, at: '24:00', for: 1h}]": "must be a time of day",
        "[{groups: a, at: 22:30:10, for: 1h}]": "must be a time of day",
        "[{groups: a, at: '5:00', for: 8d}]": "entry 1, for: must be less",
        "[{groups: a, at: '5:00', for: 0}]": "entry 1, for: must be greater",
        f"{WINDOW}timezone: Mars/Base}}]": "'Mars/Base' is not the name of a time zone",
        f"{WINDOW}timezone: ../secret}}]": "is not the name of a time zone",
        f"{WINDOW}days: []}}]": "must name at least one day",
        f"{WINDOW}days: [so]}}]": "must be 'mon', 'tue'",
    },
}


def test_invalid_entries_are_rejected() -> None:
    """The error names the option, the entry and the field, and what is valid."""
    wrong = []
    for option, values in INVALID.items():
        for value, problem in values.items():
            with pytest.raises(ConfigRefusal) as refused:
                load(flags={**BROKER, f"groups.{option}": value})
            (fault,) = refused.value.faults
            if fault.key != f"groups.{option}" or problem not in fault.problem:
                wrong.append(f"{option} {value}: {fault}")
    assert wrong == []
