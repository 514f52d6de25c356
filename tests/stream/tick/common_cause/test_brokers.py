"""The absences of brokers, tick after tick."""

from __future__ import annotations

from stream.health.common_cause.sentences import BrokerAbsence
from stream.tick.common_cause.brokers import BrokerWatch

HOUR = 3_600_000
ALL = frozenset({1, 2, 3})


def absences(*ticks: tuple[int, frozenset[int] | None]) -> dict[int, BrokerAbsence]:
    """Return the absences after ticks at these times (ms) with these brokers; None: no answer."""
    watch = BrokerWatch()
    for now, brokers in ticks:
        watch.update(brokers, now)
    return dict(watch.absences)


def test_a_broker_that_is_missing_is_absent_since_the_first_tick_without_it() -> None:
    """A tick without an answer begins no absence."""
    assert absences((0, ALL), (10, None), (20, ALL - {3}), (30, ALL - {3})) == {3: BrokerAbsence(20, None)}


def test_an_absence_ends_with_the_first_tick_with_the_broker() -> None:
    """The absence is kept for an hour after its end."""
    ticks = ((0, ALL), (20, ALL - {3}), (50, ALL))
    assert absences(*ticks, (HOUR, ALL)) == {3: BrokerAbsence(20, 50)}
    assert absences(*ticks, (HOUR + 60, ALL)) == {}


def test_a_second_absence_replaces_the_first() -> None:
    """Only the latest absence of a broker is kept."""
    assert absences((0, ALL), (20, ALL - {3}), (50, ALL), (60, ALL - {3})) == {3: BrokerAbsence(60, None)}


def test_a_new_broker_has_no_absence_and_a_removed_broker_only_for_an_hour() -> None:
    """A cluster may grow and shrink: the absence of a removed broker is dropped after an hour."""
    assert absences((0, frozenset({1})), (10, ALL)) == {}
    assert absences((0, ALL), (10, ALL - {3}), (20 + HOUR, ALL - {3})) == {}
