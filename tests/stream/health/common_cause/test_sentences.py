"""The sentences and next steps of common causes."""

from __future__ import annotations

from typing import Final

import pytest

from stream.health.common_cause.sentences import BrokerAbsence, next_step, sentence
from stream.health.common_cause.shared import Dimension
from stream.health.common_cause.tracker import CommonCauseFinding

NOON: Final = 1_700_000_000_000
LEFT: Final = BrokerAbsence(NOON - 40_000, None)
BACK: Final = BrokerAbsence(NOON - 40_000, NOON - 25_000)


def finding(dimension: Dimension, name: str, groups: int = 17, spread: int = 20_000) -> CommonCauseFinding:
    """Return a finding that began at noon; 18 groups share its value."""
    return CommonCauseFinding(dimension, name, frozenset(map(str, range(groups))), 17, 18, NOON, spread)


@pytest.mark.parametrize(
    ("found", "verdicts", "absence", "expected"),
    [
        pytest.param(
            finding(Dimension.COORDINATOR, "3"),
            ["stopped"] * 17,
            BACK,
            "17 of 18 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before and was"
            " back after 15 s.",
            id="restarted broker",
        ),
        pytest.param(
            finding(Dimension.LEADER, "3"),
            ["no_leader"] * 15 + ["stopped"] * 2,
            LEFT,
            "17 of 18 groups reading partitions led by broker 3 lost the leader of a partition within 20 s; broker 3"
            " left the cluster 40 s before and has been away for 1 min 40 s.",
            id="absent broker",
        ),
        pytest.param(
            finding(Dimension.LEADER, "3"),
            ["no_leader"] * 17,
            BrokerAbsence(NOON + 10_000, None),
            "17 of 18 groups reading partitions led by broker 3 lost the leader of a partition within 20 s; broker 3"
            " left the cluster at that time and has been away for 50 s.",
            id="broker absent since a tick after the faults",
        ),
        pytest.param(
            finding(Dimension.TOPIC, "orders", groups=5),
            ["falling_behind"] * 5,
            None,
            "17 of 18 groups reading topic orders began to fall behind within 20 s; 5 are still unhealthy.",
            id="some groups recovered",
        ),
        pytest.param(
            finding(Dimension.OFFSETS_PARTITION, "7", spread=0),
            ["stopped", "stalled", "no_members"],
            None,
            "17 of 18 groups stored in partition 7 of __consumer_offsets became unhealthy at the same time.",
            id="several verdicts",
        ),
        pytest.param(
            finding(Dimension.CLIENT_HOST, "10.0.0.7"),
            ["no_members"] * 17,
            None,
            "17 of 18 groups with members on host 10.0.0.7 lost their members within 20 s.",
            id="client host",
        ),
        pytest.param(
            finding(Dimension.TOPIC, "t"),
            ["ERR"] * 17,
            None,
            "17 of 18 groups reading topic t became unhealthy within 20 s.",
            id="a verdict of other rules",
        ),
    ],
)
def test_the_sentence_of_a_finding_has_its_facts(
    found: CommonCauseFinding, verdicts: list[str], absence: BrokerAbsence | None, expected: str
) -> None:
    """The sentence has the shared value, the change of the groups, the time and the absence of the broker."""
    assert sentence(found, verdicts, absence, NOON + 60_000) == expected


@pytest.mark.parametrize(
    ("dimension", "absence", "begin"),
    [
        (Dimension.LEADER, LEFT, "Bring back broker 3"),
        (Dimension.LEADER, BACK, "Look at this broker"),
        (Dimension.COORDINATOR, BACK, "Look at this broker. If it is well again, restart the consumers"),
        (Dimension.TOPIC, None, "Look at what changed for the topic"),
    ],
)
def test_the_next_step_depends_on_value_and_broker(
    dimension: Dimension, absence: BrokerAbsence | None, begin: str
) -> None:
    """The next step for a broker that is away is to bring it back."""
    assert next_step(finding(dimension, "3"), absence).startswith(begin)
