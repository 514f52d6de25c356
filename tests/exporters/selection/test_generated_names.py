"""Which parts of a group's name count as generated."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from exporters.selection.folding import WILDCARD, pattern_of
from tests.exporters.snapshots import HOSTILE_NAMES

PATTERNS = {
    "console-consumer-7": "console-consumer-*",
    "ci-1f0c7a9e-8c43-4a53-9f8c-3f0c1e1c2d3b-run": "ci-*-run",
    "CI-1F0C7A9E-8C43-4A53-9F8C-3F0C1E1C2D3B": "CI-*",
    "1f0c7a9e-8c43-4a53-9f8c-3f0c1e1c2d3b": "*",
    # pods of deployments, one without digits in its suffix
    "orders-7d9f8b6c5d-bcdfg": "orders-*",
    "orders-7d9f8b6c5d-x2x9z": "orders-*",
    # a timestamp, a number in the middle, hexadecimal digits, two parts, letters and digits in turn
    "export_1700000000123": "export_*",
    "job.31755.worker": "job.*.worker",
    "snapshot-5f3a9c1b": "snapshot-*",
    "spark-kafka-source-5f3a9c1b-12345-executor": "spark-kafka-source-*-executor",
    "app-q7w8e9": "app-*",
    "orders": None,
    "orders-service-0042": None,
    # digits with leading zeros: numbered by hand
    "payments-00017": None,
    "orders-v2": None,
    "k8s-i18n-log4j": None,
    # words of hexadecimal letters only
    "facade-decade": None,
    "deadbeefcafe": None,
    "region-eu-west-1": None,
    # a name that looks like a pattern
    "*": None,
    "": None,
}


def test_generated_parts_become_a_wildcard() -> None:
    """The pattern has the fixed parts of a name; a name without generated parts has no pattern."""
    assert {name: pattern_of(name) for name in PATTERNS} == PATTERNS


@given(st.sampled_from(["ci", "load test", "größe"]), st.uuids(), st.uuids())
def test_names_that_differ_in_a_uuid_have_one_pattern(prefix: str, one: uuid.UUID, other: uuid.UUID) -> None:
    """Law: the pattern of a name does not depend on the digits of its UUID."""
    assert pattern_of(f"{prefix}-{one}") == pattern_of(f"{prefix}-{other}") == f"{prefix}-{WILDCARD}"


@given(st.one_of(st.text(), st.sampled_from(HOSTILE_NAMES)))
def test_a_pattern_of_any_name_has_a_wildcard(name: str) -> None:
    """Law: every name has a pattern with a wildcard, or none."""
    pattern = pattern_of(name)
    assert pattern is None or WILDCARD in pattern
