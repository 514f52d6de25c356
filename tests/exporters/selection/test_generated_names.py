"""Which parts of a group's name count as generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.selection.generated_names import WILDCARD, pattern_of
from tests.exporters.snapshots import HOSTILE_NAMES

if TYPE_CHECKING:
    import uuid


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        pytest.param("console-consumer-7", "console-consumer-*", id="console consumer"),
        pytest.param("ci-1f0c7a9e-8c43-4a53-9f8c-3f0c1e1c2d3b-run", "ci-*-run", id="uuid"),
        pytest.param("CI-1F0C7A9E-8C43-4A53-9F8C-3F0C1E1C2D3B", "CI-*", id="uuid in capitals"),
        pytest.param("1f0c7a9e-8c43-4a53-9f8c-3f0c1e1c2d3b", "*", id="nothing but a uuid"),
        pytest.param("orders-7d9f8b6c5d-bcdfg", "orders-*", id="pod of a deployment, no digits in its suffix"),
        pytest.param("orders-7d9f8b6c5d-x2x9z", "orders-*", id="pod of a deployment"),
        pytest.param("export_1700000000123", "export_*", id="timestamp"),
        pytest.param("job.31755.worker", "job.*.worker", id="number in the middle"),
        pytest.param("snapshot-5f3a9c1b", "snapshot-*", id="hexadecimal"),
        pytest.param("spark-kafka-source-5f3a9c1b-12345-executor", "spark-kafka-source-*-executor", id="two parts"),
        pytest.param("app-q7w8e9", "app-*", id="letters and digits in turn"),
        pytest.param("orders", None, id="plain word"),
        pytest.param("orders-service-0042", None, id="four digits"),
        pytest.param("payments-00017", None, id="digits with leading zeros: numbered by hand"),
        pytest.param("orders-v2", None, id="a version"),
        pytest.param("k8s-i18n-log4j", None, id="names with digits"),
        pytest.param("facade-decade", None, id="words of hexadecimal letters"),
        pytest.param("deadbeefcafe", None, id="hexadecimal letters only"),
        pytest.param("region-eu-west-1", None, id="a region"),
        pytest.param("*", None, id="a name that looks like a pattern"),
        pytest.param("", None, id="the empty name"),
    ],
)
def test_generated_parts_become_a_wildcard(name: str, pattern: str | None) -> None:
    """The pattern has the fixed parts of a name; a name without generated parts has no pattern."""
    assert pattern_of(name) == pattern


@given(st.sampled_from(["ci", "load test", "größe"]), st.uuids(), st.uuids())
def test_names_that_differ_in_a_uuid_have_one_pattern(prefix: str, one: uuid.UUID, other: uuid.UUID) -> None:
    """Law: the pattern of a name does not depend on the digits of its UUID."""
    assert pattern_of(f"{prefix}-{one}") == pattern_of(f"{prefix}-{other}") == f"{prefix}-{WILDCARD}"


@given(st.one_of(st.text(), st.sampled_from(HOSTILE_NAMES)))
def test_a_pattern_of_any_name_has_a_wildcard(name: str) -> None:
    """Law: every name has a pattern with a wildcard, or none."""
    pattern = pattern_of(name)
    assert pattern is None or WILDCARD in pattern
