"""Remembers when brokers left the cluster and came back, from the metadata of each tick. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream.health.common_cause.sentences import BrokerAbsence

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT_MS: Final = 3_600_000
"""An absence is remembered for this long: after its end, or of a broker that was removed for good."""


class BrokerWatch:
    """The brokers of the ticks so far. A restart between two ticks is not seen."""

    def __init__(self) -> None:
        self._present: frozenset[int] = frozenset()
        self._absences: dict[int, BrokerAbsence] = {}

    @property
    def absences(self) -> Mapping[int, BrokerAbsence]:
        """The latest absence of each broker with a recent one."""
        return self._absences

    def update(self, brokers: frozenset[int] | None, now: int) -> None:
        """Record the brokers in the metadata read at `now` (ms); None: there was no answer, and nothing is known."""
        if brokers is None:
            return
        self._absences |= {broker: BrokerAbsence(now, None) for broker in self._present - brokers}
        for broker, absence in list(self._absences.items()):
            if now - (absence.returned or absence.left) > _KEPT_MS:
                del self._absences[broker]
            elif broker in brokers and absence.returned is None:
                self._absences[broker] = BrokerAbsence(absence.left, now)
        self._present = brokers
