"""The retention of topics: what their configs mean, and how often they are requested."""

from collections.abc import Sequence
from typing import Any

import pytest

from stream.cluster.configs import TopicConfig
from stream.cluster.transport.errors import ErrorReason
from stream.tick.lookups import scheduler as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.scheduler import UNLIMITED, TopicRetentionLookup, retention_ms
from tests.stream.health.tables import wrong
from tests.support.scripted_cluster import no_cluster

NOON = 1_700_000_000.0


def settings(
    policy: str | None, retention: str | None, reason: ErrorReason | None = None, size: str | None = None
) -> dict[str, TopicConfig]:
    values = {"cleanup.policy": policy, "retention.ms": retention, "retention.bytes": size}
    return {name: TopicConfig(name, value, reason=reason) for name, value in values.items()}


def test_retention_follows_from_the_configs() -> None:
    """A topic that does not delete records for their age has no retention."""
    stories = {
        "a week": ("delete", "604800000", 604_800_000),
        "unlimited": ("delete", "-1", UNLIMITED),
        "compacted: no record is deleted for its age": ("compact", "604800000", UNLIMITED),
        "compacted and deleted for its age": ("compact,delete", "5000", 5_000),
        "not known": ("delete", None, None),
        "policy not known: delete is the default": (None, "5000", 5_000),
    }
    assert wrong(stories, lambda *configs: retention_ms(settings(*configs))) == []


def test_a_topic_is_gapless_if_it_is_known_not_to_be_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic is not gapless before its policy is known, and after it is no longer used."""
    for policy, gapless in (("delete", {"orders"}), ("compact", set()), ("compact,delete", set()), (None, set())):
        configs = {"orders": settings(policy, "1000")}
        monkeypatch.setattr(lookup, "read_topic_configs", lambda *_, found=configs: found)
        retention = TopicRetentionLookup(no_cluster(), LookupLimits())
        assert not retention.gapless
        retention.update(["orders"], NOON)
        assert retention.gapless == gapless
        retention.update([], NOON + 1)
        assert not retention.gapless


def test_the_size_of_a_topic_is_unlimited_only_if_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the right to read it, retention may delete by size."""
    configs = {name: settings("delete", "-1", size=size) for name, size in (("a", "-1"), ("b", "1000"), ("c", None))}
    monkeypatch.setattr(lookup, "read_topic_configs", lambda *_: configs)
    retention = TopicRetentionLookup(no_cluster(), LookupLimits())
    retention.update(list(configs), NOON)
    assert retention.any_size == {"a"}
    retention.update([], NOON + 1)
    assert not retention.any_size


class Brokers:
    """Answers for any topic and records the requested topics."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requested: list[str] = []
        self.retention: str | None = "1000"
        self.reason: ErrorReason | None = None
        monkeypatch.setattr(lookup, "read_topic_configs", self._read)

    def _read(self, _: object, topics: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, TopicConfig]]:
        assert set(names) == {"cleanup.policy", "retention.ms", "retention.bytes"}
        self.requested += topics
        return {topic: settings("delete", None if self.reason else self.retention, self.reason) for topic in topics}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return Brokers(monkeypatch)


def new_lookup(**limits: Any) -> TopicRetentionLookup:
    return TopicRetentionLookup(no_cluster(), LookupLimits(**limits))


def test_each_topic_is_requested_every_ten_minutes(brokers: Brokers) -> None:
    """A new topic is requested at once."""
    retention = new_lookup()
    assert retention.update(["a"], NOON) == {"a": 1000}
    assert retention.update(["a", "b"], NOON + 10) == {"a": 1000, "b": 1000}
    brokers.retention = "2000"
    assert retention.update(["a", "b"], NOON + 599) == {"a": 1000, "b": 1000}
    assert retention.update(["a", "b"], NOON + 600) == {"a": 2000, "b": 1000}
    assert brokers.requested == ["a", "b", "a"]


@pytest.mark.parametrize(("reason", "requests"), [(ErrorReason.UNREACHABLE, 3), (ErrorReason.NOT_AUTHORIZED, 1)])
def test_a_topic_without_an_answer_has_no_entry(brokers: Brokers, reason: ErrorReason, requests: int) -> None:
    """Without an answer, no default is assumed; an unreachable broker is asked again at the next tick."""
    brokers.reason = reason
    retention = new_lookup()
    assert [retention.update(["a"], NOON + 10 * tick) for tick in range(3)] == [{}] * 3
    assert len(brokers.requested) == requests
