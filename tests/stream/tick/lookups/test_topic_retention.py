"""The retention of topics: what it is by their settings, and how seldom anybody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from stream.cluster.configs import TopicConfig
from stream.cluster.transport.error_codes import ErrorReason
from stream.tick.lookups import topic_retention as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.topic_retention import UNLIMITED, TopicRetentionLookup, retention_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

NOON = 1_700_000_000.0


def settings(policy: str | None, kept: str | None, reason: ErrorReason | None = None) -> dict[str, TopicConfig]:
    """Give the two settings of a topic."""
    values = {"cleanup.policy": policy, "retention.ms": kept}
    return {name: TopicConfig(name, value, reason=reason) for name, value in values.items()}


@pytest.mark.parametrize(
    ("policy", "kept", "retention"),
    [
        pytest.param("delete", "604800000", 604_800_000, id="a week"),
        pytest.param("delete", "-1", UNLIMITED, id="for ever"),
        pytest.param("compact", "604800000", UNLIMITED, id="compacted: nothing goes for its age"),
        pytest.param("compact,delete", "5000", 5_000, id="compacted, and deleted for its age too"),
        pytest.param("delete", None, None, id="not told"),
        pytest.param(None, "5000", 5_000, id="the policy is not told: deleting is the default"),
    ],
)
def test_what_the_settings_mean(policy: str | None, kept: str | None, retention: int | None) -> None:
    """Only what a topic deletes for its age can be lost to its age."""
    assert retention_ms(settings(policy, kept)) == retention


class Brokers:
    """Answers for any topic, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.kept: str | None = "1000"
        self.reason: ErrorReason | None = None
        monkeypatch.setattr(lookup, "read_topic_configs", self._read)

    def _read(self, _: object, topics: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, TopicConfig]]:
        assert set(names) == {"cleanup.policy", "retention.ms"}
        self.asked += topics
        return {topic: settings("delete", None if self.reason else self.kept, self.reason) for topic in topics}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Give brokers that keep records for a second."""
    return Brokers(monkeypatch)


def retentions(**bounds: Any) -> TopicRetentionLookup:
    """Give one of its own."""
    return TopicRetentionLookup(cast("Any", None), LookupLimits(**bounds))


def test_each_topic_once_in_ten_minutes(brokers: Brokers) -> None:
    """A new one at once, an old one when its turn comes."""
    kept = retentions()
    assert kept.update(["a"], NOON) == {"a": 1000}
    assert kept.update(["a", "b"], NOON + 10) == {"a": 1000, "b": 1000}
    brokers.kept = "2000"
    assert kept.update(["a", "b"], NOON + 599) == {"a": 1000, "b": 1000}
    assert kept.update(["a", "b"], NOON + 600) == {"a": 2000, "b": 1000}
    assert brokers.asked == ["a", "b", "a"]


def test_so_many_topics_at_a_tick(brokers: Brokers) -> None:
    """Those that nobody has asked for come first; all have their turn."""
    kept = retentions(retention_topics=2)
    names = [f"t{n}" for n in range(5)]
    for tick in range(3):
        kept.update(names, NOON + 10 * tick)
    assert sorted(brokers.asked) == names
    assert len(kept.update(names, NOON + 30)) == 5


@pytest.mark.parametrize(
    ("reason", "asked"),
    [
        pytest.param(ErrorReason.UNREACHABLE, 3, id="away: asked again at the next tick"),
        pytest.param(ErrorReason.NOT_AUTHORIZED, 1, id="denied: asked again in ten minutes"),
    ],
)
def test_what_is_not_told_is_not_known(brokers: Brokers, reason: ErrorReason, asked: int) -> None:
    """It is absent, and no value is made up."""
    brokers.reason = reason
    kept = retentions()
    assert [kept.update(["a"], NOON + 10 * tick) for tick in range(3)] == [{}] * 3
    assert len(brokers.asked) == asked


def test_a_broker_that_is_away_changes_no_setting(brokers: Brokers) -> None:
    """One that denies does: what was told before may have changed unseen."""
    kept = retentions()
    kept.update(["a"], NOON)
    brokers.reason = ErrorReason.TIMED_OUT
    assert kept.update(["a"], NOON + 700) == {"a": 1000}
    brokers.reason = ErrorReason.NOT_AUTHORIZED
    assert kept.update(["a"], NOON + 710) == {}


def test_topics_that_are_gone_are_forgotten(brokers: Brokers) -> None:
    """One of the same name that comes back is a new one."""
    kept = retentions()
    kept.update(["a"], NOON)
    assert kept.update([], NOON + 10) == {}
    brokers.kept = "3000"
    assert kept.update(["a"], NOON + 20) == {"a": 3000}
